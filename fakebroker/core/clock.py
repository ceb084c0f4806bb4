"""Time in the core: two integers that the caller has read.

Theory   `mono_ms` orders events and counts timeouts; `wall_ms` is written into records. They are never compared with
         each other. The core never reads a clock: `now` is an argument of its doors.
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
    """One reading of both clocks. It is immutable."""

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
        """Return the same moment with both clocks moved to `mono_ms`: used to run an event at its own time."""
        return Now(mono_ms, self.wall_ms + mono_ms - self.mono_ms)

    def mono_at(self, wall_ms: int) -> int:
        """Return the `mono_ms` at `wall_ms`, if both clocks go on together."""
        return self.mono_ms + wall_ms - self.wall_ms


class HasNow:
    """The time of the event at hand, as passed to the cluster's doors.

    skipped_ms  the part of `now.mono_ms` that was skipped (`clock="auto"`), so no client has lived through it
    """

    def __init__(self, now: Now) -> None:
        self.now = now
        self.skipped_ms = 0

    def read_now(self) -> Now:
        return self.now

    @property
    def client_ms(self) -> int:
        """Monotonic time without skips, as clients measure it. A client's own deadlines are counted in it; a client's
        waits are counted in `now.mono_ms`."""
        return self.now.mono_ms - self.skipped_ms
