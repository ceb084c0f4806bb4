"""What came of a test at each of its points of failure."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from fakebroker.testing.failures.points import Point

SURVIVED: Final = "survived"
FAILED: Final = "failed"
NOT_REACHED: Final = "not reached"

LEAST_S: Final = 10.0  # that a run with a failure may take; else as many times as long as the first one:
_TIMES_AS_LONG: Final = 20


class TooLong(Exception):
    """A run took too long, and was broken off."""


class Tried(NamedTuple):
    """One point. `reason` is what the test said, or what the journal showed, where it failed."""

    point: Point
    outcome: str
    reason: str


class Survey:
    """`tried` in the order of the points; `left_out` is how many there was no time for, or too many."""

    def __init__(self, tried: Sequence[Tried], left_out: int = 0) -> None:
        self.tried = list(tried)
        self.left_out = left_out

    @property
    def failed(self) -> list[Tried]:
        """The points that the test did not survive."""
        return [each for each in self.tried if each.outcome == FAILED]

    def summary(self) -> str:
        """One line."""
        counts = Counter(each.outcome for each in self.tried)
        told = ", ".join(
            f"{counts[outcome]} {outcome}" for outcome in (SURVIVED, FAILED, NOT_REACHED) if counts[outcome]
        )
        rest = f"; {self.left_out} more were left out" if self.left_out else ""
        return f"{len(self.tried)} points of failure: {told or 'none'}{rest}"

    def lines(self, command: str = "") -> Iterator[str]:
        """The summary, and each that failed with why, and how to have it again: by the `command`, or the fault."""
        yield self.summary()
        for each in self.failed:
            yield ""
            yield f"{each.point.text}"
            yield f"    {each.reason}"
            yield f"    {command} {each.point.option}" if command else f"    {each.point.spec}"

    def __str__(self) -> str:
        return "\n".join(self.lines())


def limit_s(healthy_s: float) -> float:
    """How long a run with a failure may take, when the one without took so long."""
    return max(LEAST_S, _TIMES_AS_LONG * healthy_s)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooLong in the block when it has taken so long. Only the main thread can be told; and who is in a call of a
    C library is told when that returns."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def tell(number: int, frame: object) -> None:
        raise TooLong(f"it was not over after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, tell)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
