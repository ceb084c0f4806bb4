"""The Python interface: `every_failure(test)`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

from fakebroker.server.fake_cluster import FakeCluster
from fakebroker.testing.failures.points import Point, points_of, sample
from fakebroker.testing.failures.survey import FAILED, NOT_REACHED, SURVIVED, Survey, TriedPoint, limit_s, time_limit
from fakebroker.testing.history import check_history, describe

Test = Callable[[FakeCluster], object]


def every_failure(
    test: Test, *, most: int = 200, seconds: float = 60.0, progress: bool = False, **arguments: Any
) -> Survey:
    """Run `test(kafka)` once, and again for each possible failure with just that failure, each time with a new cluster.

    most, seconds   the maximum number of points, spread evenly, and the maximum time for all of them
    progress        show the number of tried points on stderr, if it is a terminal
    arguments       of `FakeCluster`

    A point is survived if the test passes and nothing in the journal is lost, duplicated or reordered
    (`check_history`). The journal is ignored if the run without a failure has such findings too. Raises what the test
    raises in the run without a failure.
    """
    began = monotonic()
    with FakeCluster(**arguments) as kafka:
        test(kafka)
        healthy_s = monotonic() - began
        events = list(kafka.journal)
    all_points = points_of(events)
    points = sample(all_points, most)
    is_judged = not check_history(events)
    tried: list[TriedPoint] = []
    with _bar(len(points), progress) as step:
        for point in points:
            if monotonic() - began > seconds:
                break
            tried.append(_try(test, point, arguments, limit_s(healthy_s), is_judged))
            step()
    return Survey(tried, len(all_points) - len(tried))


def _try(test: Test, point: Point, arguments: dict[str, Any], seconds: float, is_judged: bool) -> TriedPoint:
    with FakeCluster(**arguments) as kafka, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # a failing test does not close its clients
        installed = kafka.faults.add(point.fault)
        reason = ""
        try:
            with time_limit(seconds):
                test(kafka)
        except Exception as error:
            reason = _first_line(error)
        hits = installed.hits
        installed.remove()
        events = list(kafka.journal)
    return judged(point, hits, reason, events if is_judged else ())


def judged(point: Point, hits: int, reason: str, events: Sequence[Any]) -> TriedPoint:
    """Return the outcome of a run; `reason` says why the test failed, "" if it passed."""
    if not hits:
        return TriedPoint(point, NOT_REACHED, "")
    if not reason and (findings := check_history(events)):
        reason = "; ".join(describe(findings).splitlines()[:3])
    return TriedPoint(point, FAILED if reason else SURVIVED, reason)


def _first_line(error: BaseException) -> str:
    first = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


@contextmanager
def _bar(total: int, is_drawn: bool) -> Iterator[Callable[[], object]]:
    if not (is_drawn and sys.stderr.isatty()):
        yield lambda: None
        return
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        print(f"\rpoints of failure: {done} of {total}", end="", file=sys.stderr, flush=True)

    try:
        yield step
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # clear the line
