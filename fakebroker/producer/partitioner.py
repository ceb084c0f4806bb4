"""The partitioner: it chooses the partition of a record before the append.

Theory   A partition set by the user is used as it is; otherwise the hash of the key decides. Without a key it depends
         on the release. Before 2.4 the partitions with a leader take turns, from a random start. From 2.4 to 3.2 one
         partition is used until a batch is full (KIP-480). From 3.3 on the accumulator chooses (KIP-794,
         built_in_partitioner.py), and the result here is UNKNOWN_PARTITION.
Source   clients/.../producer/internals/{DefaultPartitioner,StickyPartitionCache}.java of 2.0 and 2.4,
         KafkaProducer.partition of 4.3.
Differs  The caller passes in the random numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fakebroker.producer.generation import Generation
from fakebroker.producer.metadata_snapshot import MetadataSnapshot
from fakebroker.producer.murmur2 import partition_for_key

UNKNOWN_PARTITION: Final = -1
_POSITIVE: Final = 0x7FFFFFFF


class Partitioner:
    """A partitioner; `random` returns any 32-bit number. With `ignore_keys` the key is ignored
    (`partitioner.ignore.keys`, 3.3)."""

    def __init__(self, generation: Generation, random: Callable[[], int], ignore_keys: bool = False) -> None:
        self._generation = generation
        self._random = random
        self._ignores_keys = ignore_keys
        self._counters: dict[str, int] = {}
        self._sticky: dict[str, int] = {}

    def partition(self, topic: str, partition: int | None, key: bytes | None, metadata: MetadataSnapshot) -> int:
        """Return the partition, or UNKNOWN_PARTITION if the accumulator chooses. The topic must have partitions."""
        if partition is not None:
            return partition
        all_partitions = metadata.partitions_for_topic(topic)
        if key is not None and not self._ignores_keys:
            return partition_for_key(key, len(all_partitions))
        if self._generation.has_built_in_partitioner:
            return UNKNOWN_PARTITION
        if self._generation.has_sticky_partitioner:
            if topic not in self._sticky:
                self._sticky[topic] = self._next_sticky(topic, -1, metadata)
            return self._sticky[topic]
        return self._next_in_turn(topic, metadata)

    def on_new_batch(self, topic: str, previous: int, metadata: MetadataSnapshot) -> None:
        """Draw another partition because a batch of `previous` is full and a new one would start (KIP-480). Do nothing
        if the partition has changed meanwhile."""
        current = self._sticky.get(topic)
        if current is None or current == previous:
            self._sticky[topic] = self._next_sticky(topic, -1 if current is None else current, metadata)

    def _next_in_turn(self, topic: str, metadata: MetadataSnapshot) -> int:
        if topic not in self._counters:
            self._counters[topic] = self._random()
        value = self._counters[topic]
        self._counters[topic] = value + 1
        return _drawn(value, topic, metadata)

    def _next_sticky(self, topic: str, current: int, metadata: MetadataSnapshot) -> int:
        available = metadata.available_partitions_for_topic(topic)
        if len(available) == 1:
            return available[0].partition.partition
        drawn = _drawn(self._random(), topic, metadata)
        while drawn == current and available:
            drawn = _drawn(self._random(), topic, metadata)
        return drawn


def _drawn(number: int, topic: str, metadata: MetadataSnapshot) -> int:
    """Return a partition that has a leader. If none has, return any; its index is its number, as the metadata has all
    of them."""
    available = metadata.available_partitions_for_topic(topic)
    if available:
        return available[(number & _POSITIVE) % len(available)].partition.partition
    return (number & _POSITIVE) % len(metadata.partitions_for_topic(topic))
