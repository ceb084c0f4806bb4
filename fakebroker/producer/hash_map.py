"""A map with the iteration order of Java's HashMap: by the buckets of a table that grows.

Source   java.util.HashMap of Java 17. Where Kafka's sender goes through one, callbacks come in its order.
Differs  In Java a bucket of eight or more keys is a tree; its order is not reproduced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from fakebroker.producer.copy_on_write_map import spread

K = TypeVar("K")
V = TypeVar("V")

_TABLE: Final = 16


class HashMap(Generic[K, V]):
    """A map of which `hash_of` gives Java's hashCode. `capacity` is the constructor argument of Java's HashMap."""

    def __init__(self, hash_of: Callable[[K], int], capacity: int = _TABLE) -> None:
        self._hash_of = hash_of
        self._size = 1 << max(capacity - 1, 0).bit_length()
        self._values: dict[K, V] = {}
        self._in_order: list[tuple[K, V]] | None = None  # cached result of `items`, None after a change

    def get(self, key: K) -> V | None:
        return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        self._values[key] = value
        self._in_order = None
        while len(self._values) > self._size * 3 // 4:
            self._size *= 2

    def compute_if_absent(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of the key; make it if there is none. Unlike `put`, it inserts a new key as the first of its
        bucket, and the table grows one key later."""
        value = self._values.get(key)
        if value is None:
            if len(self._values) > self._size * 3 // 4:
                self._size *= 2
            value = make()
            self._values = {key: value, **self._values}
            self._in_order = None
        return value

    def remove(self, key: K) -> None:
        del self._values[key]
        self._in_order = None

    def discard(self, key: K) -> None:
        """Remove the key if it is there."""
        self._values.pop(key, None)
        self._in_order = None

    def clear(self) -> None:
        self._values.clear()
        self._in_order = None

    def items(self) -> list[tuple[K, V]]:
        """Return the entries in the order of the table, which never shrinks. The caller may change the map meanwhile,
        but not the list."""
        entries = self._in_order
        if entries is None:
            entries = list(self._values.items())
            if len(entries) > 1:
                mask = self._size - 1
                entries.sort(key=lambda entry: spread(self._hash_of(entry[0])) & mask)
            self._in_order = entries
        return entries

    def __len__(self) -> int:
        return len(self._values)

    def __bool__(self) -> bool:
        return len(self) > 0
