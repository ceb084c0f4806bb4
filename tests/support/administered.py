"""The set-up of tests of administrators, and waits for brokers that learn a moment later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from support.groups import Brokers
from support.watchdog import LIMIT_S, wait_until

RECORDS = 10  # of each partition
COMMITTED = {0: 5, 1: 7}


@dataclass(frozen=True)
class Administered:
    """Brokers, a topic of two partitions with records, and a group that is empty and has committed offsets there."""

    brokers: Brokers
    topic: str
    group: str

    @property
    def bootstrap(self) -> str:
        return self.brokers.bootstrap


def administered(brokers: Brokers, group: str) -> Administered:
    topic = brokers.topic(2)
    brokers.produce(topic, 2, RECORDS)
    offsets = [TopicPartition(topic, partition, offset) for partition, offset in COMMITTED.items()]
    commit = ConsumerGroupTopicPartitions(group, offsets)
    brokers.admin.alter_consumer_group_offsets([commit])[group].result(LIMIT_S)
    return Administered(brokers, topic, group)


def becomes(look: Callable[[], object], expected: object) -> None:
    """Wait until the result is as expected: a broker of Kafka may learn a moment later than another."""

    def is_so() -> bool:
        try:
            return look() == expected
        except Exception:
            return False

    try:
        wait_until(is_so, f"{expected}")
    except AssertionError:
        assert look() == expected
        raise
