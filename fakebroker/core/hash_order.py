"""The order in which Kafka iterates over its hash tables.

Purpose  This order decides which member gets which partitions, which group is described first, and the order of client
         quotas in a response. Our assignors give each member the same partitions as Kafka's do.
Theory   `HashMap`: the high bits of the hash are mixed into the low bits, and the low bits are the slot.
         `TimelineHashMap`: the slot is the high bits of a product, and the newest key of a slot comes first.
         A table that grows keeps the order within each slot, so both orders are stable sorts by slot.
Source   java.util.HashMap, String.hashCode;
         server-common/.../timeline/{BaseHashTable,SnapshottableHashTable}.java @ 4.2.
Differs  Slots of more than eight keys are lists, not trees. Kafka's TimelineHashMap never shrinks. Here its size
         follows from the present keys.
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
    """Return `String.hashCode` as an unsigned number of 32 bits."""
    return java_hash(text) & _MASK_32


def hash_map_order(keys: Iterable[str], capacity: int = 16) -> list[str]:
    """Return the keys in the order of a HashMap that began with this capacity and got them in the given order."""
    added = list(dict.fromkeys(keys))
    return in_slots(added, hash_code, grown_capacity(len(added), capacity))


def in_slots(added: Iterable[K], hash_of: Callable[[K], int], capacity: int) -> list[K]:
    """Return the keys of a HashMap of this capacity, slot by slot. Each slot has its keys in the order of `added`."""
    mask = capacity - 1

    def slot(key: K) -> int:  # `slot_of`, without a call for each key
        code = hash_of(key)
        return (code ^ code >> 16) & mask

    return sorted(added, key=slot)


def slot_of(code: int, capacity: int) -> int:
    """Return the slot of a key with this hash code, in a HashMap of this capacity."""
    return (code ^ code >> 16) & capacity - 1


def grown_capacity(size: int, capacity: int) -> int:
    """Return the capacity of a HashMap that began with `capacity` and has `size` keys."""
    while size > capacity * 0.75:
        capacity *= 2
    return capacity


def asked_capacity(size: int) -> int:
    """Return the capacity of an empty HashMap that was constructed with this size."""
    return 1 << max(size - 1, 0).bit_length()


def timeline_order(keys: Iterable[str]) -> list[str]:
    """Return the keys in the order of a TimelineHashMap that got them in the given order."""
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
    """Return the partitions of one topic in the order of a HashMap that got its TopicPartitions in this order."""
    added = list(dict.fromkeys(partitions))
    name = hash_code(topic)
    return in_slots(added, lambda index: 31 * (31 + index) + name & _MASK_32, grown_capacity(len(added), 16))


def hash_set_order(partitions: Collection[int]) -> list[int]:
    """Return small numbers in the order of a HashSet that got the numbers of each slot in ascending order."""
    capacity = max(16, copied_capacity(len(partitions)))
    return sorted(partitions, key=lambda partition: (partition & capacity - 1, partition))


def copied_capacity(size: int) -> int:
    """Return the capacity of a HashMap that is a copy of one with `size` keys."""
    return 1 << (int(size / 0.75 + 1) - 1).bit_length() if size else 16
