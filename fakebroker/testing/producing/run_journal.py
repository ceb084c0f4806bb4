"""What happened in a run, as lines, of which nothing is kept: their hash, and a file of them if somebody wants it.

Theory   A line is "milliseconds client what bytes-in-hexadecimal", as on a simulation's tape; all that goes into the
         cluster and comes out of it has one, and whatever else is told. An event of a producer's own journal is its
         name and its values. So two runs are the same if and only if their hashes are, and the hash is that of the
         file.
Units    milliseconds since the start of the simulation; an event has its own times.
"""

from __future__ import annotations

import hashlib
from typing import BinaryIO, Final

from fakebroker.producer.journal.events import ProducerEvent
from fakebroker.testing.simulation import Simulation

_TOGETHER: Final = 64  # lines


class RunJournal:
    def __init__(self, file: BinaryIO | None = None) -> None:
        self.lines = 0
        self._hash = hashlib.sha256()
        self._file = file
        self._told: list[str] = []  # and not in the hash yet

    def tell(self, at_ms: int, what: str, client: int = 0, data: bytes = b"") -> None:
        """Client 0 is nobody."""
        self._add(f"{at_ms} {client} {what} {data.hex()}\n")

    def decided(self, event: ProducerEvent) -> None:
        """By a producer: for its journal's `on_event`."""
        self._add(f"{type(event).__name__}{tuple.__repr__(event)}\n")  # without the names: half the time

    def _add(self, line: str) -> None:
        self.lines += 1
        self._told.append(line)
        if len(self._told) == _TOGETHER:
            self._hash_them()
        if self._file is not None:  # at once: the last one is why a run broke
            self._file.write(line.encode())

    def _hash_them(self) -> None:
        self._hash.update("".join(self._told).encode())
        self._told.clear()

    def digest(self) -> str:
        """Of all that was told so far: SHA-256."""
        self._hash_them()
        return self._hash.hexdigest()


class ToldSimulation(Simulation):
    """A simulation whose tape goes to a journal, event by event."""

    journal: RunJournal | None = None

    def record(self, what: str, client: int, data: bytes = b"") -> None:
        if self.journal is not None:
            self.journal.tell(self.elapsed_ms, what, client, data)
