"""The broker's clocks: the real one, a manual one, and one that skips what clients wait for.

Theory   "real"    is the operating system's clock, as `system_clock.py` reads it.
         "manual"  moves only on command. It starts at 0 and at the wall time of the start; monotonic and wall time
                   advance together. Records carry the client's own wall time, which goes on. After an hour without
                   an advance, `message.timestamp.after.max.ms` rejects them.
         "auto"    runs like the real one. It can be moved like the manual one, and it can skip. A skip moves monotonic
                   time alone. So a client's record, transaction or producer id never looks older to the broker than
                   to the client. The client's wall clock skips nothing.
Units    milliseconds; but for skips, monotonic and wall time always move by the same amount.
"""

from __future__ import annotations

from math import inf
from typing import Literal, Protocol, get_args

from fakebroker.core.clock import Now
from fakebroker.server import system_clock

ClockName = Literal["real", "manual", "auto"]
CLOCK_NAMES: tuple[str, ...] = get_args(ClockName)


class Clock(Protocol):
    """The clock that the server reads. `can_move` is False for the real clock."""

    can_move: bool

    def stamp(self) -> Now:
        """Return the time to stamp an event that happens now."""

    def reached(self) -> Now:
        """Return the time that has certainly been reached."""

    def seconds_until(self, mono_ms: int) -> float:
        """Return the seconds until `reached()` returns `mono_ms`, if the clock is not moved: 0 if it is reached,
        infinite if it never will be."""

    def move_to(self, mono_ms: int) -> None:
        """Set the clock to `mono_ms`, unless it is later already."""


class RealClock:
    """The operating system's clock, which cannot be moved."""

    can_move = False
    # Called for each read and write, so without a wrapping method.
    stamp = staticmethod(system_clock.stamp)
    reached = staticmethod(system_clock.reached)
    seconds_until = staticmethod(system_clock.seconds_until)

    def move_to(self, mono_ms: int) -> None:
        raise AssertionError("the real clock cannot be moved")


class ManualClock:
    """A clock that only moves on command."""

    can_move = True

    def __init__(self) -> None:
        self._now = Now(0, system_clock.stamp().wall_ms)

    def stamp(self) -> Now:
        return self._now

    def reached(self) -> Now:
        return self._now

    def seconds_until(self, mono_ms: int) -> float:
        return 0 if mono_ms <= self._now.mono_ms else inf

    def move_to(self, mono_ms: int) -> None:
        self._now = self._now.at(max(mono_ms, self._now.mono_ms))


class AutoClock:
    """A clock that runs in real time, and can be moved and skipped ahead."""

    can_move = True

    def __init__(self) -> None:
        self._moved_ms = 0  # both times
        self._skipped_ms = 0  # monotonic time alone

    def stamp(self) -> Now:
        return self._ahead(system_clock.stamp())

    def reached(self) -> Now:
        return self._ahead(system_clock.reached())

    def _ahead(self, real: Now) -> Now:
        return Now(real.mono_ms + self._moved_ms + self._skipped_ms, real.wall_ms + self._moved_ms)

    def seconds_until(self, mono_ms: int) -> float:
        return system_clock.seconds_until(mono_ms - self._moved_ms - self._skipped_ms)

    def move_to(self, mono_ms: int) -> None:
        self._moved_ms += max(mono_ms - self.reached().mono_ms, 0)

    def skip_to(self, mono_ms: int) -> int:
        """Set monotonic time to `mono_ms`, unless it is later already; wall time stays. Return how much was skipped."""
        skipped_ms = max(mono_ms - self.reached().mono_ms, 0)
        self._skipped_ms += skipped_ms
        return skipped_ms


def new_clock(name: str) -> Clock:
    """Return a new clock of that kind."""
    if name == "real":
        return RealClock()
    return ManualClock() if name == "manual" else AutoClock()


def check_name(name: object) -> None:
    """Raise ValueError for an unknown clock."""
    if name not in CLOCK_NAMES:
        raise ValueError(f"a clock is real, manual or auto, not {name!r}")
