"""librdkafka consumes, transforms and produces exactly once."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from conformance.clients.python.lines import tell
from conformance.clients.python.processor import Processor, Steps, give_up, processor

_LIMIT_S = 30.0


def run(given: Processor) -> None:
    steps = Steps(given.die)
    common = {"bootstrap.servers": given.bootstrap, "log_level": 0}
    producer = Producer(
        common | {"transactional.id": given.id, "linger.ms": 0} | _own(given.timeout_ms, "transaction.timeout.ms")
    )
    producer.init_transactions(_LIMIT_S)
    steps.reached("init")
    consumer = Consumer(
        common
        | {
            "group.id": given.group,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        | _own(given.instance, "group.instance.id")
        | _own(given.session_ms, "session.timeout.ms")
        | _own(given.session_ms and given.session_ms // 5, "heartbeat.interval.ms")
    )
    consumer.subscribe([given.inputs])
    while True:
        message = consumer.poll(0.1)
        if message is None:
            continue
        if error := message.error():
            raise KafkaException(error)
        value, offset = message.value(), message.offset()
        assert value is not None
        assert offset is not None
        consumed = TopicPartition(given.inputs, message.partition() or 0, offset + 1)
        while not _transformed(producer, consumer, given, steps, value, consumed):
            pass


def _own(value: object, name: str) -> dict[str, Any]:
    """A setting, unless it is the client's own."""
    return {} if value is None else {name: value}


def _transformed(
    producer: Producer, consumer: Consumer, given: Processor, steps: Steps, value: bytes, consumed: TopicPartition
) -> bool:
    """False if it was aborted."""
    steps.consumed(value.decode())
    producer.begin_transaction()
    steps.reached("begun")
    producer.produce(given.outputs, value, partition=0)
    steps.reached("produced")
    producer.produce(given.outputs, value, partition=1)
    producer.flush(_LIMIT_S)
    steps.reached("flushed")
    if steps.aborts:
        producer.abort_transaction(_LIMIT_S)
        steps.reached("aborted")
        tell({"aborted": value.decode()})
        return False
    producer.send_offsets_to_transaction([consumed], consumer.consumer_group_metadata(), _LIMIT_S)
    steps.reached("offsets")
    producer.commit_transaction(_LIMIT_S)
    steps.reached("committed")
    tell({"done": value.decode()})
    return True


if __name__ == "__main__":
    try:
        run(processor())
    except Exception as error:
        give_up(error)
