"""The interface of a store for records out of memory, and a store in memory.

Theory   The log puts runs of batches into the store, in the form of Kafka's files, and reads parts of them. A run is an
         `Extent`: its holders may read it, and when the last one drops it, its place is free. So the truncation of a
         log takes nothing from a response that is still being written. The core does no I/O: `server/spill/` has a
         store in a temporary file. The store in a dictionary is for simulations, and the default.
Units    positions and sizes are bytes.
Errors   StoreFullError: the new bytes are not kept, or earlier ones are still in memory and cannot be written. The log
         keeps its batches and accepts no more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from fakebroker.protocol.answers.pieces import Part


class StoreFullError(Exception):
    """The store has no room. The text is for the log."""


class Store(ABC):
    """A place for bytes, of one cluster."""

    @property
    @abstractmethod
    def place(self) -> str:
        """The location, for the log of the broker."""

    @abstractmethod
    def put(self, parts: Sequence[Part], size: int) -> int:
        """Keep these bytes, `size` in all, and return their position. Raise StoreFullError. The parts do not change any
        more. They may stay in memory until they are written: `max_unwritten_bytes` at most when this returns."""

    @abstractmethod
    def read(self, position: int, start: int, size: int) -> bytes:
        """Return `size` bytes, from `start` on, of the run at `position`."""

    @abstractmethod
    def free(self, position: int, size: int) -> None:
        """Free the run at `position`: it has no holder any more. Any thread may call this, also after the store is
        closed."""

    @abstractmethod
    def set_max_unwritten_bytes(self, size: int) -> None:
        """Set the limit of bytes that may stay in memory until they are written."""


class Extent:
    """A run of bytes in a store, which is freed with its last reference. Interpreted: it has a finalizer."""

    __slots__ = ("_store", "position", "size")

    def __init__(self, store: Store, parts: Sequence[Part], size: int) -> None:
        """Put the bytes into the store. Raise StoreFullError."""
        self.size = 0  # if that fails there is nothing to free
        self._store = store
        self.position = store.put(parts, size)
        self.size = size

    def read(self, start: int, size: int) -> bytes:
        return self._store.read(self.position, start, size)

    def __del__(self) -> None:
        if self.size:
            self._store.free(self.position, self.size)


class MemoryStore(Store):
    """A store in memory. `size` is the number of bytes in it."""

    place = "memory"

    def __init__(self) -> None:
        self._runs: dict[int, bytes] = {}
        self._end = 0
        self.size = 0

    def put(self, parts: Sequence[Part], size: int) -> int:
        position = self._end
        self._runs[position] = b"".join(parts)
        assert len(self._runs[position]) == size
        self._end += size
        self.size += size
        return position

    def read(self, position: int, start: int, size: int) -> bytes:
        run = self._runs[position]
        assert start + size <= len(run)
        return run[start : start + size]

    def set_max_unwritten_bytes(self, size: int) -> None:
        """Do nothing: all bytes stay in memory."""

    def free(self, position: int, size: int) -> None:
        del self._runs[position]
        self.size -= size
