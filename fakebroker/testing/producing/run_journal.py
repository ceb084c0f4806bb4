"""The journal of a run as lines, of which only the hash is kept, and a file if wanted.

Theory   A line is "milliseconds client event bytes-in-hexadecimal", as on a simulation's tape. All input and output of
         the cluster has one, and so have other reported events. An event of a producer's journal is its name and its
         values. Two runs are the same if and only if their hashes are; the hash is that of the file.
Units    milliseconds since the start of the simulation; an event has its own times.
"""

from __future__ import annotations

import hashlib
from typing import BinaryIO, Final

from fakebroker.producer.journal.events import ProducerEvent
from fakebroker.testing.simulation import Simulation

_TOGETHER: Final = 64  # lines per update of the hash


class RunJournal:
    def __init__(self, file: BinaryIO | None = None) -> None:
        self.lines = 0
        self._hash = hashlib.sha256()
        self._file = file
        self._told: list[str] = []  # not hashed yet

    def tell(self, at_ms: int, what: str, client: int = 0, data: bytes = b"") -> None:
        """Add an event; client 0 stands for none."""
        self._add(f"{at_ms} {client} {what} {data.hex()}\n")

    def decided(self, event: ProducerEvent) -> None:
        """Add an event of a producer: for its journal's `on_event`."""
        self._add(f"{type(event).__name__}{tuple.__repr__(event)}\n")  # without field names: half the time

    def _add(self, line: str) -> None:
        self.lines += 1
        self._told.append(line)
        if len(self._told) == _TOGETHER:
            self._hash_them()
        if self._file is not None:  # at once: the last line may explain a failure
            self._file.write(line.encode())

    def _hash_them(self) -> None:
        self._hash.update("".join(self._told).encode())
        self._told.clear()

    def digest(self) -> str:
        """Return the SHA-256 of all lines so far."""
        self._hash_them()
        return self._hash.hexdigest()


class JournaledSimulation(Simulation):
    """A simulation with its tape in a journal, event by event."""

    journal: RunJournal | None = None

    def record(self, what: str, client: int, data: bytes = b"") -> None:
        if self.journal is not None:
            self.journal.tell(self.elapsed_ms, what, client, data)
