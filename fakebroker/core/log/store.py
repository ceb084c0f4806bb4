"""Where records are kept that are not in memory: what the log wants of such a place, and one that is memory after all.

Theory   The log puts runs of batches there, as they would stand in a file of Kafka's, and reads parts of them. A run is
         an `Extent`: whoever has it may read it, and when the last who had it lets it go, its place is free. So a log
         that was truncated meanwhile takes nothing from an answer that is still being written.
         The core does no I/O: `server/spill/` has a store in a temporary file. One that is a dictionary is for
         simulations, and for who gives no store.
Units    positions and sizes are bytes.
Errors   StoreFullError: what was put is not kept, or what was put before is still in memory and cannot be written.
         The log keeps its batches and takes no more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from fakebroker.protocol.answers.pieces import Part


class StoreFullError(Exception):
    """There is no room, in words for the log."""


class Store(ABC):
    """A place for bytes, of one cluster."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is, for the log of the broker."""

    @abstractmethod
    def put(self, parts: Sequence[Part], size: int) -> int:
        """Keep these bytes, `size` in all; where they are from now on. Raises StoreFullError. The parts do not change
        any more. They may stay in memory until they are written: `max_unwritten_bytes` at most when this returns."""

    @abstractmethod
    def read(self, position: int, start: int, size: int) -> bytes:
        """`size` bytes, from `start` on, of what was put at `position`."""

    @abstractmethod
    def free(self, position: int, size: int) -> None:
        """Nobody has what was put there any more. May be called from anywhere, also when all is closed."""

    @abstractmethod
    def set_max_unwritten_bytes(self, size: int) -> None:
        """How much may stay in memory for a while."""


class Extent:
    """A run of bytes in a store, as long as somebody has it. Not compiled: it has a finalizer."""

    __slots__ = ("_store", "position", "size")

    def __init__(self, store: Store, parts: Sequence[Part], size: int) -> None:
        """Put it there; raises StoreFullError."""
        self.size = 0  # if that fails there is nothing to be freed
        self._store = store
        self.position = store.put(parts, size)
        self.size = size

    def read(self, start: int, size: int) -> bytes:
        return self._store.read(self.position, start, size)

    def __del__(self) -> None:
        if self.size:
            self._store.free(self.position, self.size)


class MemoryStore(Store):
    """Keeps what it gets. `size` is how much that is, now."""

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
        """All of it stays."""

    def free(self, position: int, size: int) -> None:
        del self._runs[position]
        self.size -= size
