"""kafka-python."""

from __future__ import annotations

from typing import Any

import kafka
from kafka import KafkaProducer

from conformance.clients.python.plan import Job, Result, Unsupported, delivered, failed, pause, run


def run_job(bootstrap: str, job: Job) -> list[Result]:
    if any(value is None for record in job.records for _, value in record.headers):
        raise Unsupported("a header with a null value")
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        acks=job.acks,
        enable_idempotence=job.idempotent,
        compression_type=None if job.codec == "none" else job.codec,
        linger_ms=job.linger_ms,
        request_timeout_ms=job.timeout_ms,  # what the broker is told and what the client waits
        delivery_timeout_ms=job.delivery_timeout_ms,
        max_block_ms=job.block_ms,
        retries=float("inf") if job.retries else 0,
    )
    sent: list[Any] = []
    for index, record in enumerate(job.records):
        if index == job.pause_before:
            for future in sent:
                _result(future)
            pause()
        try:
            sent.append(
                producer.send(
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
    results = [_result(future) for future in sent]  # flush() would raise UnknownError for a batch that was split
    producer.close()
    return results


def _result(sent: Any) -> Result:
    if isinstance(sent, Exception):
        return failed(sent)
    try:
        metadata = sent.get(timeout=60)
    except Exception as error:
        return failed(error)
    return delivered(metadata.partition, metadata.offset)


if __name__ == "__main__":
    run("kafka-python", kafka.__version__, run_job)
