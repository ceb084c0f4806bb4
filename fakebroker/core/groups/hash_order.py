"""The order in which Kafka goes through members: that of its hash tables.

Purpose  Which member gets which partitions depends on it, and which group is described first. With it our assignors
         give what Kafka's give, member by member; without it, only as good an assignment.
Theory   `HashMap`: the slot is the low bits of a hash into which its high bits are mixed. `TimelineHashMap`: the slot
         is the high bits of a product; in a slot the last one comes first. Neither order changes within a slot
         when a table grows, so both are stable sorts by slot.
Source   java.util.HashMap, String.hashCode;
         server-common/.../timeline/{BaseHashTable,SnapshottableHashTable}.java @ 4.2.
Differs  Slots of more than eight keys are lists, not trees. A timeline's table never shrinks in Kafka; here it is as
         large as its keys ask for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache

from fakebroker.protocol.java_hash import java_hash

_FIBONACCI = -7046029254386353131
_MASK_32, _MASK_64 = (1 << 32) - 1, (1 << 64) - 1


@lru_cache(maxsize=1 << 16)
def _hash_code(text: str) -> int:
    return java_hash(text) & _MASK_32


def hash_map_order(keys: Iterable[str], capacity: int = 16) -> list[str]:
    """Of a HashMap to which `keys` were put in this order. It had that capacity at first."""
    added = list(dict.fromkeys(keys))
    while len(added) > capacity * 0.75:
        capacity *= 2

    def slot(key: str) -> int:
        code = _hash_code(key)
        return (code ^ code >> 16) & capacity - 1

    return sorted(added, key=slot)


def timeline_order(keys: Iterable[str]) -> list[str]:
    """Of a TimelineHashMap to which `keys` were added in this order."""
    added = list(dict.fromkeys(keys))
    capacity = 2
    while len(added) * 0.75 > capacity:
        capacity *= 2
    shift = 65 - capacity.bit_length()

    def slot(key: str) -> int:
        code = _hash_code(key)
        signed = code - (1 << 32) if code >> 31 else code
        return (signed * _FIBONACCI & _MASK_64) >> shift

    added.reverse()
    return sorted(added, key=slot)


def partition_order(topic: str, partitions: Iterable[int]) -> list[int]:
    """Of a HashMap of TopicPartitions of one topic to which these were added in this order."""
    added = list(dict.fromkeys(partitions))
    capacity = 16
    while len(added) > capacity * 0.75:
        capacity *= 2
    name = _hash_code(topic)

    def slot(partition: int) -> int:
        code = 31 * (31 + partition) + name & _MASK_32
        return (code ^ code >> 16) & capacity - 1

    return sorted(added, key=slot)


def hash_set_order(partitions: Collection[int]) -> list[int]:
    """Of a HashSet of small numbers. Those of one slot are taken to have come in ascending order."""
    capacity = max(16, copied_capacity(len(partitions)))
    return sorted(partitions, key=lambda partition: (partition & capacity - 1, partition))


def copied_capacity(size: int) -> int:
    """Of a HashMap that is made as a copy of one of that size."""
    return 1 << (int(size / 0.75 + 1) - 1).bit_length() if size else 16
