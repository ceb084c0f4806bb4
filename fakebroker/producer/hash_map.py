"""A map that is walked as Java's HashMap is: by the buckets of a table that grows.

Source   java.util.HashMap of Java 17. Where Kafka's sender goes through one, callbacks come in its order.
Differs  A bucket with eight keys or more is a tree there; its order is not looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from fakebroker.producer.copy_on_write_map import spread

K = TypeVar("K")
V = TypeVar("V")

_TABLE: Final = 16


class HashMap(Generic[K, V]):
    """`hash_of` gives what Java's hashCode gives. `capacity` is what its constructor was told."""

    def __init__(self, hash_of: Callable[[K], int], capacity: int = _TABLE) -> None:
        self._hash_of = hash_of
        self._size = 1 << max(capacity - 1, 0).bit_length()
        self._values: dict[K, V] = {}
        self._in_order: list[tuple[K, V]] | None = None  # what `items` gave last, if nothing has changed

    def get(self, key: K) -> V | None:
        return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        self._values[key] = value
        self._in_order = None
        while len(self._values) > self._size * 3 // 4:
            self._size *= 2

    def compute_if_absent(self, key: K, make: Callable[[], V]) -> V:
        """The value of the key, made if there is none. A new key is the first of its bucket, where that of a `put` is
        the last, and makes the table grow one key later."""
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
        """Remove it if it is there."""
        self._values.pop(key, None)
        self._in_order = None

    def clear(self) -> None:
        self._values.clear()
        self._in_order = None

    def items(self) -> list[tuple[K, V]]:
        """In the order of the table, which does not become smaller. The map may change meanwhile, the list may not."""
        found = self._in_order
        if found is None:
            found = list(self._values.items())
            if len(found) > 1:
                mask = self._size - 1
                found.sort(key=lambda entry: spread(self._hash_of(entry[0])) & mask)
            self._in_order = found
        return found

    def __len__(self) -> int:
        return len(self._values)

    def __bool__(self) -> bool:
        return len(self) > 0
