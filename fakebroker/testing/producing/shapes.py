"""The elements of a drawing of a timeline: rows in groups, bars and marks in rows, arrows between rows.

Units    milliseconds since the first step.
"""

from __future__ import annotations

from typing import NamedTuple

GOOD, BAD, OPEN = "good", "bad", "open"


class Bar(NamedTuple):
    """A bar. `kind` is "queued", "flying" or "blocked"; at a broker "unread", "handled", "parked" or "throttled"."""

    start_ms: int
    end_ms: int
    kind: str


class RowMark(NamedTuple):
    """A mark. `kind` is "done", "failed", "expired", "again", "lost" or "event"."""

    at_ms: int
    kind: str


class TimelineRow:
    """A row. `outcome` says how it ended; `tone` is GOOD, BAD or OPEN."""

    def __init__(self, label: str, at_ms: int) -> None:
        self.label = label
        self.outcome = ""
        self.tone = OPEN
        self.bars: list[Bar] = []
        self.marks: list[RowMark] = []
        self._since_ms = at_ms
        self._kind = ""

    def begin(self, kind: str, at_ms: int) -> None:
        """End the current bar, and start one of this kind."""
        self.end(at_ms)
        self._kind, self._since_ms = kind, at_ms

    def end(self, at_ms: int) -> None:
        if self._kind:
            self.bars.append(Bar(self._since_ms, at_ms, self._kind))
        self._kind = ""

    def say(self, outcome: str, tone: str) -> None:
        self.outcome, self.tone = outcome, tone


class RowGroup:
    """A producer or a broker, with the times in which it is `down`."""

    def __init__(self, name: str, is_broker: bool) -> None:
        self.name = name
        self.is_broker = is_broker
        self.rows: list[TimelineRow] = []
        self.down: list[tuple[int, int]] = []
        self.down_since_ms: int | None = None


class Arrow(NamedTuple):
    """An arrow from one row to another; `tone` as for rows."""

    start: TimelineRow
    start_ms: int
    end: TimelineRow
    end_ms: int
    tone: str
