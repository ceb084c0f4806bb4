"""The name of a partition: a topic and an index (Kafka's `TopicPartition`)."""

from __future__ import annotations

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """Hashes and compares by value; it is also the key that delayed operations are watched under
    (Kafka's `TopicPartitionOperationKey`)."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
