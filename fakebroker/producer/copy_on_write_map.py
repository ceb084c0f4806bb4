"""A map with the iteration order of Kafka's CopyOnWriteMap.

Theory   Kafka's producer keeps its queues in a `CopyOnWriteMap`: each new key copies a HashMap. The iteration order has
         visible effects: it decides which ready node is found first and which expired batch is called back first. So
         this map keeps Java's order: by hash bucket in a table of the copy's size, and by age within a bucket.
Source   clients/.../common/utils/CopyOnWriteMap.java; java.util.HashMap of Java 17. The order was asked of them.
Differs  In Java a bucket of eight or more keys is a tree; its order is not reproduced.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, ValuesView
from typing import Final, Generic, TypeVar

from fakebroker.protocol.java_hash import java_hash
from fakebroker.protocol.topic_partition import TopicPartition

K = TypeVar("K")
V = TypeVar("V")

_LOAD_FACTOR: Final = 0.75
_FIRST_TABLE: Final = 16
_WORD: Final = 0xFFFFFFFF


class CopyOnWriteMap(Generic[K, V]):
    """A map of which `hash_of` gives Java's hashCode, as any integer with the same low 32 bits."""

    def __init__(self, hash_of: Callable[[K], int]) -> None:
        self._hash_of = hash_of
        self._values: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        return self._values.get(key)

    def put_new(self, key: K, value: V) -> None:
        """Add a key that is not in the map."""
        assert key not in self._values, f"{key} is there already"
        entries = [*self._values.items(), (key, value)]
        mask = table_size(len(entries)) - 1
        entries.sort(key=lambda entry: spread(self._hash_of(entry[0])) & mask)
        self._values = dict(entries)

    def clear(self) -> None:
        self._values = {}

    def items(self) -> ItemsView[K, V]:
        return self._values.items()

    def values(self) -> ValuesView[V]:
        return self._values.values()

    def __len__(self) -> int:
        return len(self._values)

    def __bool__(self) -> bool:
        return len(self) > 0


def table_size(count: int) -> int:
    """Return the table size of a HashMap that was copied with `count - 1` keys and then got one more."""
    if count == 1:
        return _FIRST_TABLE
    wanted = int((count - 1) / _LOAD_FACTOR + 1.0)
    size = 1 << (wanted - 1).bit_length()
    return size * 2 if count > size * _LOAD_FACTOR else size


def spread(code: int) -> int:
    """Return the hash as HashMap spreads it: the upper half is mixed in, so that it also matters in small tables."""
    code &= _WORD
    return code ^ code >> 16


def hash_of_partition(partition: TopicPartition) -> int:
    """Return TopicPartition.hashCode of Java."""
    return 31 * (31 + partition.partition) + java_hash(partition.topic)
