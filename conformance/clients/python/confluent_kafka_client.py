"""librdkafka's C, through confluent-kafka."""

from __future__ import annotations

import confluent_kafka
from confluent_kafka import KafkaError, Message, Producer

from conformance.clients.python.confluent_administrator import administer
from conformance.clients.python.confluent_member import join
from conformance.clients.python.plan import Job, Result, delivered, pause, run


def run_job(bootstrap: str, job: Job) -> list[Result]:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": job.acks,
            "enable.idempotence": job.idempotent,
            "compression.type": job.codec,
            "linger.ms": job.linger_ms,
            "request.timeout.ms": job.timeout_ms,
            # What the client waits: longer than what the broker is told, so that the broker's word is heard.
            "socket.timeout.ms": job.timeout_ms + 3_000,
            "message.timeout.ms": job.delivery_timeout_ms,
            "retries": 1_000 if job.retries else 0,
            "topic.metadata.propagation.max.ms": job.block_ms,
            "log_level": 0,
        }
    )
    results: list[Result] = [{"error": "never told"} for _ in job.records]
    for index, record in enumerate(job.records):
        if index == job.pause_before:
            producer.flush()
            pause()

        def on_delivery(error: KafkaError | None, message: Message, index: int = index) -> None:
            results[index] = {"error": error.name()} if error else delivered(message.partition(), message.offset())

        producer.produce(
            job.topic,
            value=record.value,
            key=record.key,
            partition=record.partition,
            headers=list(record.headers),
            timestamp=record.timestamp_ms,
            on_delivery=on_delivery,
        )
    producer.flush()
    return results


if __name__ == "__main__":
    version = f"{confluent_kafka.libversion()[0]} ({confluent_kafka.__version__})"
    run("librdkafka (confluent-kafka)", version, run_job, join, administer)
