"""The journal of a simulated run: one line per event. Only the hash of the lines is kept in memory, to compare runs.

Theory   A line is "milliseconds client event bytes-in-hexadecimal", as on a simulation's tape. Each input and output of
         the cluster is a line, and so is each event that a caller adds. An event of a producer's journal is its name
         and its values. If a file is given, it gets the lines too, and its SHA-256 is the hash.
Units    milliseconds since the start of the simulation; events of producers have monotonic milliseconds.
"""

from __future__ import annotations

import hashlib
from typing import BinaryIO, Final

from fakebroker.producer.journal.events import ProducerEvent
from fakebroker.testing.simulation import Simulation

_LINES_PER_UPDATE: Final = 64  # of the hash


class RunJournal:
    def __init__(self, file: BinaryIO | None = None) -> None:
        self.lines = 0
        self._hash = hashlib.sha256()
        self._file = file
        self._unhashed: list[str] = []

    def add(self, at_ms: int, what: str, client: int = 0, data: bytes = b"") -> None:
        """Add an event; client 0 stands for none."""
        self._add_line(f"{at_ms} {client} {what} {data.hex()}\n")

    def add_producer_event(self, event: ProducerEvent) -> None:
        """Add an event of a producer: for its journal's `on_event`. Field names are left out, which is faster."""
        self._add_line(f"{type(event).__name__}{tuple.__repr__(event)}\n")

    def _add_line(self, line: str) -> None:
        self.lines += 1
        self._unhashed.append(line)
        if len(self._unhashed) == _LINES_PER_UPDATE:
            self._update_hash()
        if self._file is not None:  # at once: the last line may explain a failure
            self._file.write(line.encode())

    def _update_hash(self) -> None:
        self._hash.update("".join(self._unhashed).encode())
        self._unhashed.clear()

    def digest(self) -> str:
        """Return the SHA-256 of all lines so far."""
        self._update_hash()
        return self._hash.hexdigest()


class JournaledSimulation(Simulation):
    """A simulation that writes its tape to `journal`, event by event. Without a journal there is no tape."""

    journal: RunJournal | None = None

    def record(self, what: str, client: int, data: bytes = b"") -> None:
        if self.journal is not None:
            self.journal.add(self.elapsed_ms, what, client, data)
