"""aiokafka."""

from __future__ import annotations

import asyncio
from typing import Any

import aiokafka
from aiokafka import AIOKafkaProducer

from conformance.clients.python.plan import Job, Result, delivered, failed, pause, run


def run_job(bootstrap: str, job: Job) -> list[Result]:
    return asyncio.run(_run_job(bootstrap, job))


async def _run_job(bootstrap: str, job: Job) -> list[Result]:
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        acks="all" if job.acks == -1 else job.acks,
        enable_idempotence=job.idempotent,
        compression_type=None if job.codec == "none" else job.codec,
        linger_ms=job.linger_ms,
        # What the broker is told, what the client waits, and how long it retries: there is no setting for retries.
        request_timeout_ms=job.timeout_ms,
    )
    await producer.start()
    sent: list[Any] = []
    for index, record in enumerate(job.records):
        if index == job.pause_before:
            await producer.flush()
            pause()
        try:
            sent.append(
                await producer.send(
                    job.topic,
                    value=record.value,
                    key=record.key,
                    headers=record.headers,
                    partition=record.partition,
                    timestamp_ms=record.timestamp_ms,
                )
            )
        except Exception as error:
            sent.append(error)
    results = [await _result(future) for future in sent]
    await producer.stop()
    return results


async def _result(sent: Any) -> Result:
    if isinstance(sent, Exception):
        return failed(sent)
    try:
        metadata = await sent
    except Exception as error:
        return failed(error)
    return delivered(metadata.partition, metadata.offset) if metadata is not None else delivered(None, None)


if __name__ == "__main__":
    run("aiokafka", aiokafka.__version__, run_job)
