"""The results of a test at its points of failure."""

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

LEAST_S: Final = 10.0  # minimum time limit of a run with a failure; or this multiple of the first run:
_TIMES_AS_LONG: Final = 20


class RunTooLong(Exception):
    """A run took too long and was stopped."""


class TriedPoint(NamedTuple):
    """A tried point. `reason` is the error of the test, or the findings in the journal, if it failed."""

    point: Point
    outcome: str
    reason: str


class Survey:
    """The results. `tried` is in the order of the points; `left_out` counts points that were skipped for lack of time
    or by number."""

    def __init__(self, tried: Sequence[TriedPoint], left_out: int = 0) -> None:
        self.tried = list(tried)
        self.left_out = left_out

    @property
    def failed(self) -> list[TriedPoint]:
        """Return the points that the test did not survive."""
        return [tried for tried in self.tried if tried.outcome == FAILED]

    def summary(self) -> str:
        """Return the counts as one line."""
        counts = Counter(tried.outcome for tried in self.tried)
        counted = ", ".join(
            f"{counts[outcome]} {outcome}" for outcome in (SURVIVED, FAILED, NOT_REACHED) if counts[outcome]
        )
        rest = f"; {self.left_out} more were left out" if self.left_out else ""
        return f"{len(self.tried)} points of failure: {counted or 'none'}{rest}"

    def lines(self, command: str = "") -> Iterator[str]:
        """Return the summary, and each failed point with its reason and how to reproduce it: an option of `command`, or
        the fault."""
        yield self.summary()
        for tried in self.failed:
            yield ""
            yield f"{tried.point.text}"
            yield f"    {tried.reason}"
            yield f"    {command} {tried.point.option}" if command else f"    {tried.point.spec}"

    def __str__(self) -> str:
        return "\n".join(self.lines())


def limit_s(healthy_s: float) -> float:
    """Return the time limit of a run with a failure, by the duration of the run without one."""
    return max(LEAST_S, _TIMES_AS_LONG * healthy_s)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise RunTooLong in the block after this time. This works in the main thread only, and a call of a C library is
    not interrupted until it returns."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def tell(number: int, frame: object) -> None:
        raise RunTooLong(f"it did not end within {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, tell)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
