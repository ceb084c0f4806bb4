"""Journal events of faults. Faults have the names f1, f2, ... in the order in which they were installed."""

from __future__ import annotations

from typing import NamedTuple


class FaultAdded(NamedTuple):
    """A fault is installed. `text` describes its actions, point and selectors."""

    mono_ms: int
    wall_ms: int
    fault: str
    text: str


class FaultFired(NamedTuple):
    """A fault fired on a request (0 if on none) at a point; `done` is the action. Its consequences come after this
    event."""

    mono_ms: int
    wall_ms: int
    fault: str
    request: int
    connection: int
    at: str
    done: str


class FaultRemoved(NamedTuple):
    """A fault is removed, after so many hits. Requests that it held go on next."""

    mono_ms: int
    wall_ms: int
    fault: str
    hits: int
    reason: str


FaultEvent = FaultAdded | FaultFired | FaultRemoved
