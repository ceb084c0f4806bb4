"""The broker's clocks: the real one, one that stands still until it is told, and one that skips what clients wait for.

Theory   "real"    the operating system's, as `system_clock.py` reads it.
         "manual"  stands still. It starts at 0 and at the wall time of the start; both go on together, by as much as
                   the user says. Records carry the client's own time, which goes on: an hour of standing still, and
                   `message.timestamp.after.max.ms` refuses them.
         "auto"    goes on like the real one. It can be moved as the manual one, and it can skip: then monotonic time
                   alone jumps. So the broker never takes a client's record, transaction or producer id for older than
                   the client does, whose wall clock skips nothing.
Units    milliseconds; but for skips, monotonic and wall time always move by the same.
"""

from __future__ import annotations

from math import inf
from typing import Literal, Protocol, get_args

from fakebroker.core.clock import Now
from fakebroker.server import system_clock

ClockName = Literal["real", "manual", "auto"]
CLOCK_NAMES: tuple[str, ...] = get_args(ClockName)


class Clock(Protocol):
    """What the server reads. `can_move` is false for one that obeys nobody."""

    can_move: bool

    def stamp(self) -> Now:
        """For something that happens now."""

    def reached(self) -> Now:
        """The time that has certainly been reached."""

    def seconds_until(self, mono_ms: int) -> float:
        """How long until `reached()` says `mono_ms`, if nobody moves the clock: 0 if it does already, infinite if it
        never will."""

    def move_to(self, mono_ms: int) -> None:
        """Let it be `mono_ms` now, if it was not yet."""


class RealClock:
    """Nobody moves it."""

    can_move = False
    # Asked with each read and write: no method around them.
    stamp = staticmethod(system_clock.stamp)
    reached = staticmethod(system_clock.reached)
    seconds_until = staticmethod(system_clock.seconds_until)

    def move_to(self, mono_ms: int) -> None:
        raise AssertionError("nobody moves the real clock")


class ManualClock:
    """Goes when told."""

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
    """Goes on its own, and further when told or when it skips."""

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
        """Let it be `mono_ms` now, if it was not yet, at the same time of day. Returns how much was skipped."""
        skipped_ms = max(mono_ms - self.reached().mono_ms, 0)
        self._skipped_ms += skipped_ms
        return skipped_ms


def new_clock(name: str) -> Clock:
    """The clock of that name."""
    if name == "real":
        return RealClock()
    return ManualClock() if name == "manual" else AutoClock()


def check_name(name: object) -> None:
    """Raise ValueError for a clock that does not exist."""
    if name not in CLOCK_NAMES:
        raise ValueError(f"a clock is real, manual or auto, not {name!r}")
