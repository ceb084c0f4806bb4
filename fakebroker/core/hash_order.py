"""The order in which Kafka goes through its hash tables.

Purpose  Which member gets which partitions depends on it, which group is described first, and in which order client
         quotas are told. With it our assignors give what Kafka's give, member by member.
Theory   `HashMap`: the slot is the low bits of a hash into which its high bits are mixed. `TimelineHashMap`: the slot
         is the high bits of a product; in a slot the last one comes first. Neither order changes within a slot
         when a table grows, so both are stable sorts by slot.
Source   java.util.HashMap, String.hashCode;
         server-common/.../timeline/{BaseHashTable,SnapshottableHashTable}.java @ 4.2.
Differs  Slots of more than eight keys are lists, not trees. A timeline's table never shrinks in Kafka; here it is as
         large as its keys ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import TypeVar

from fakebroker.protocol.java_hash import java_hash

K = TypeVar("K")

_FIBONACCI = -7046029254386353131
_MASK_32, _MASK_64 = (1 << 32) - 1, (1 << 64) - 1


@lru_cache(maxsize=1 << 16)
def hash_code(text: str) -> int:
    """`String.hashCode` as a number of 32 bits without a sign."""
    return java_hash(text) & _MASK_32


def hash_map_order(keys: Iterable[str], capacity: int = 16) -> list[str]:
    """Of a HashMap to which `keys` were put in this order. It had that capacity at first."""
    added = list(dict.fromkeys(keys))
    return in_slots(added, hash_code, grown_capacity(len(added), capacity))


def in_slots(added: Iterable[K], hash_of: Callable[[K], int], capacity: int) -> list[K]:
    """The keys of a HashMap of that capacity, slot by slot. In each slot they are in the order of `added`."""
    mask = capacity - 1

    def slot(key: K) -> int:  # `slot_of`, without a call for each key
        code = hash_of(key)
        return (code ^ code >> 16) & mask

    return sorted(added, key=slot)


def slot_of(code: int, capacity: int) -> int:
    """Where a HashMap of that capacity has a key with this hash code."""
    return (code ^ code >> 16) & capacity - 1


def grown_capacity(size: int, capacity: int) -> int:
    """Of a HashMap that had that capacity at first, once it has so many keys."""
    while size > capacity * 0.75:
        capacity *= 2
    return capacity


def asked_capacity(size: int) -> int:
    """Of an empty HashMap whose constructor was given that size."""
    return 1 << max(size - 1, 0).bit_length()


def timeline_order(keys: Iterable[str]) -> list[str]:
    """Of a TimelineHashMap to which `keys` were added in this order."""
    added = list(dict.fromkeys(keys))
    capacity = 2
    while len(added) * 0.75 > capacity:
        capacity *= 2
    shift = 65 - capacity.bit_length()

    def slot(key: str) -> int:
        code = hash_code(key)
        signed = code - (1 << 32) if code >> 31 else code
        return (signed * _FIBONACCI & _MASK_64) >> shift

    added.reverse()
    return sorted(added, key=slot)


def partition_order(topic: str, partitions: Iterable[int]) -> list[int]:
    """Of a HashMap of TopicPartitions of one topic to which these were added in this order."""
    added = list(dict.fromkeys(partitions))
    name = hash_code(topic)
    return in_slots(added, lambda index: 31 * (31 + index) + name & _MASK_32, grown_capacity(len(added), 16))


def hash_set_order(partitions: Collection[int]) -> list[int]:
    """Of a HashSet of small numbers. Those of one slot are taken to have come in ascending order."""
    capacity = max(16, copied_capacity(len(partitions)))
    return sorted(partitions, key=lambda partition: (partition & capacity - 1, partition))


def copied_capacity(size: int) -> int:
    """Of a HashMap that is made as a copy of one of that size."""
    return 1 << (int(size / 0.75 + 1) - 1).bit_length() if size else 16
