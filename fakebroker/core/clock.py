"""Time as the core knows it: two integers that somebody else read.

Theory   `mono_ms` orders events and counts timeouts; `wall_ms` is written into records. They are never
         compared with each other. The core asks nobody what time it is: `now` is an argument of its doors.
Units    milliseconds; the origin of `mono_ms` is arbitrary, that of `wall_ms` is 1970-01-01 UTC.
Source   org.apache.kafka.common.utils.Time: hiResClockMs() and milliseconds().
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Now(NamedTuple):
    """One reading of both clocks."""

    mono_ms: int
    wall_ms: int

    def at(self, mono_ms: int) -> Now:
        """The same moment of both clocks moved to `mono_ms`: used to run an event at its own time."""
        return Now(mono_ms, self.wall_ms + mono_ms - self.mono_ms)


class HasNow(Protocol):
    """Who was told the time of the event at hand (the cluster, by its doors)."""

    now: Now
