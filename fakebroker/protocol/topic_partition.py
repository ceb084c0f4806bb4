"""The name of a partition: a topic and an index (Kafka's `TopicPartition`)."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

_SHARED = 4_096


class TopicPartition(NamedTuple):
    """A topic and an index, compared by value; it is also the key that delayed operations are watched under (Kafka's
    `TopicPartitionOperationKey`)."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@lru_cache(maxsize=_SHARED)
def shared(topic: str, partition: int) -> TopicPartition:
    """Return the same object for the same arguments, to save memory."""
    return TopicPartition(topic, partition)
