"""What a journal tells of faults: their names are f1, f2, ..., in the order in which they were installed."""

from __future__ import annotations

from typing import NamedTuple


class FaultAdded(NamedTuple):
    """A fault is installed. `text` says in words what it does, where, and of what."""

    mono_ms: int
    wall_ms: int
    fault: str
    text: str


class FaultFired(NamedTuple):
    """A fault acts on a request (0 if it is on none) at a point; `done` is what it does. What follows from it comes
    after this."""

    mono_ms: int
    wall_ms: int
    fault: str
    request: int
    connection: int
    at: str
    done: str


class FaultRemoved(NamedTuple):
    """A fault is taken away, after so many hits."""

    mono_ms: int
    wall_ms: int
    fault: str
    hits: int
    reason: str


FaultEvent = FaultAdded | FaultFired | FaultRemoved
