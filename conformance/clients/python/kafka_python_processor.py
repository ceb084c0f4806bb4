"""kafka-python consumes, transforms and produces exactly once."""

from __future__ import annotations

from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from conformance.clients.python.lines import tell
from conformance.clients.python.processor import Processor, Steps, give_up, processor

_TIMEOUT_MS, _SESSION_MS = 60_000, 45_000  # its own


def run(given: Processor) -> None:
    steps = Steps(given.die)
    producer: Any = KafkaProducer(
        bootstrap_servers=given.bootstrap,
        transactional_id=given.id,
        transaction_timeout_ms=given.timeout_ms or _TIMEOUT_MS,
    )
    producer.init_transactions()
    steps.reached("init")
    consumer: Any = KafkaConsumer(
        given.inputs,
        bootstrap_servers=given.bootstrap,
        group_id=given.group,
        group_instance_id=given.instance,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=1,
        session_timeout_ms=given.session_ms or _SESSION_MS,
        heartbeat_interval_ms=(given.session_ms or _SESSION_MS) // 5,
    )
    while True:
        time_ms = 100 if consumer.assignment() else 3_000  # see docs/decisions.md, 127
        for messages in consumer.poll(time_ms).values():
            for message in messages:
                while not _transformed(producer, consumer, given, steps, message):
                    pass


def _transformed(producer: Any, consumer: Any, given: Processor, steps: Steps, message: Any) -> bool:
    """False if it was aborted."""
    value = message.value.decode()
    steps.consumed(value)
    producer.begin_transaction()
    steps.reached("begun")
    first = producer.send(given.outputs, message.value, partition=0)
    steps.reached("produced")
    second = producer.send(given.outputs, message.value, partition=1)
    producer.flush()
    for sent in (first, second):
        sent.get()
    steps.reached("flushed")
    if steps.aborts:
        producer.abort_transaction()
        steps.reached("aborted")
        tell({"aborted": value})
        return False
    consumed = {TopicPartition(message.topic, message.partition): OffsetAndMetadata(message.offset + 1, "", -1)}
    producer.send_offsets_to_transaction(consumed, consumer.group_metadata())
    steps.reached("offsets")
    producer.commit_transaction()
    steps.reached("committed")
    tell({"done": value})
    return True


if __name__ == "__main__":
    try:
        run(processor())
    except Exception as error:
        give_up(error)
