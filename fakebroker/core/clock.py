"""Time as the core knows it: two integers that somebody else read.

Theory   `mono_ms` orders events and counts timeouts; `wall_ms` is written into records. They are never
         compared with each other. The core asks nobody what time it is: `now` is an argument of its doors.
Units    milliseconds; the origin of `mono_ms` is arbitrary, that of `wall_ms` is 1970-01-01 UTC.
Source   org.apache.kafka.common.utils.Time: hiResClockMs() and milliseconds().
"""

from __future__ import annotations

from typing import Final, final

from timingwheel.mypyc import mypyc_attr

NEVER_MS: Final = 1 << 62
"""A time that does not come."""


@mypyc_attr(acyclic=True)
@final
class Now:
    """One reading of both clocks. Nobody changes it."""

    __slots__ = ("mono_ms", "wall_ms")

    def __init__(self, mono_ms: int, wall_ms: int) -> None:
        self.mono_ms = mono_ms
        self.wall_ms = wall_ms

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Now) and self.mono_ms == other.mono_ms and self.wall_ms == other.wall_ms

    def __hash__(self) -> int:
        return hash((self.mono_ms, self.wall_ms))

    def __repr__(self) -> str:
        return f"Now(mono_ms={self.mono_ms}, wall_ms={self.wall_ms})"

    def at(self, mono_ms: int) -> Now:
        """The same moment of both clocks moved to `mono_ms`: used to run an event at its own time."""
        return Now(mono_ms, self.wall_ms + mono_ms - self.mono_ms)

    def mono_at(self, wall_ms: int) -> int:
        """What `mono_ms` will be, or was, at `wall_ms` if both clocks go on together."""
        return self.mono_ms + wall_ms - self.wall_ms


class HasNow:
    """The time of the event at hand, as the cluster's doors were told it.

    skipped_ms  how much of `now.mono_ms` was skipped (`clock="auto"`), so no client has lived through it
    """

    def __init__(self, now: Now) -> None:
        self.now = now
        self.skipped_ms = 0

    @property
    def client_ms(self) -> int:
        """Monotonic time as clients measure it: without what was skipped. What a client has to do in time is counted
        in it, what a client waits for in `now.mono_ms`."""
        return self.now.mono_ms - self.skipped_ms
