"""The time at which the auto clock skips, with a loop and a clock of the test."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from fakebroker.core.clock import HasNow, Now
from fakebroker.core.probe import Probe
from fakebroker.core.replication.delayed_fetch import DelayedFetch
from fakebroker.core.replication.fetch import FetchParams
from fakebroker.server.clocks import ManualClock
from fakebroker.server.skipping import QUIET_S, SkippingTimerDriver

MOMENT_S = 0.001


class Handle:
    def __init__(self, when: float, callback: Callable[..., None], args: tuple[Any, ...]) -> None:
        self.when = when
        self.callback = callback
        self.args = args
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class FakeLoop:
    """A loop that runs callbacks at their time. `between` is called after each turn, like bytes that are read then."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._order = count()
        self._handles: list[tuple[float, int, Handle]] = []
        self.between: Callable[[], None] = lambda: None

    def time(self) -> float:
        return self.now_s

    def call_at(self, when: float, callback: Callable[..., None], *args: Any) -> Handle:
        handle = Handle(when, callback, args)
        heapq.heappush(self._handles, (when, next(self._order), handle))
        return handle

    def call_later(self, delay: float, callback: Callable[..., None], *args: Any) -> Handle:
        return self.call_at(self.now_s + delay, callback, *args)

    def call_soon(self, callback: Callable[..., None], *args: Any) -> Handle:
        return self.call_at(self.now_s, callback, *args)

    def run_for(self, seconds: float) -> None:
        end_s = self.now_s + seconds
        turns = 0
        while self._handles and self._handles[0][0] <= end_s:
            turns += 1
            assert turns < 10_000, "it never rests"
            when, _, handle = heapq.heappop(self._handles)
            self.now_s = max(self.now_s, when)
            if not handle.is_cancelled:
                handle.callback(*handle.args)
                self.between()
        self.now_s = end_s

    @property
    def waiting(self) -> int:
        return sum(not handle.is_cancelled for _, _, handle in self._handles)


class Skips:
    """A recorder of the skips."""

    def __init__(self) -> None:
        self.loop = FakeLoop()
        self.probe = Probe(HasNow(Now(0, 0)))
        self.at_s: list[float] = []
        self.then: Callable[[], None] = lambda: None
        self.driver = SkippingTimerDriver(self.loop, lambda: None, ManualClock(), self, self.probe)  # type: ignore[arg-type]

    def __call__(self) -> None:
        self.at_s.append(self.loop.now_s)
        self.then()

    def door(self) -> None:
        self.driver.arm(None)

    def poll(self) -> None:
        """Let a consumer poll without a result."""
        params = FetchParams(500, 1, 1)
        fetch = DelayedFetch(params, [], None, lambda results: None, Counter(), self.probe)  # type: ignore[arg-type]
        fetch.tell_parked("Fetch")
        self.door()


@pytest.fixture
def skips() -> Skips:
    return Skips()


def test_no_check_is_made_before_the_first_door(skips: Skips) -> None:
    skips.loop.run_for(100)

    assert skips.at_s == []


def test_time_is_skipped_once_all_has_been_quiet(skips: Skips) -> None:
    skips.door()
    skips.loop.run_for(QUIET_S - MOMENT_S)
    too_early = list(skips.at_s)
    skips.loop.run_for(2 * MOMENT_S)

    assert too_early == []
    assert skips.at_s == [pytest.approx(QUIET_S)]


def test_it_is_quiet_from_the_last_door_on(skips: Skips) -> None:
    skips.door()
    skips.loop.run_for(QUIET_S / 2)
    skips.door()
    skips.loop.run_for(10 * QUIET_S)

    assert skips.at_s == [pytest.approx(1.5 * QUIET_S)]


def test_as_long_as_there_are_doors_no_time_is_skipped(skips: Skips) -> None:
    for _ in range(50):
        skips.door()
        skips.loop.run_for(QUIET_S * 0.9)

    assert skips.at_s == []


def test_a_consumer_that_polls_is_quiet(skips: Skips) -> None:
    skips.door()
    for _ in range(50):
        skips.poll()
        skips.loop.run_for(QUIET_S / 3)

    assert skips.at_s[0] == pytest.approx(QUIET_S)


def test_one_door_is_followed_by_one_check(skips: Skips) -> None:
    skips.door()
    skips.loop.run_for(100)

    assert len(skips.at_s) == 1
    assert skips.loop.waiting == 0


def test_another_door_begins_another_quiet(skips: Skips) -> None:
    for _ in range(3):
        skips.door()
        skips.loop.run_for(1)

    assert skips.at_s == [pytest.approx(second + QUIET_S) for second in range(3)]


def test_what_the_skip_does_is_a_door_itself(skips: Skips) -> None:
    skips.then = lambda: skips.door() if len(skips.at_s) < 3 else None
    skips.door()
    skips.loop.run_for(1)

    assert skips.at_s == [pytest.approx(QUIET_S * number) for number in (1, 2, 3)]


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_bytes_that_had_arrived_are_read_before(skips: Skips, turn: int) -> None:
    """The loop was busy: its timers run first, and then it finds that the socket is readable."""
    turns = count(1)
    skips.loop.between = lambda: skips.door() if next(turns) == turn else None
    skips.door()
    skips.loop.run_for(QUIET_S + MOMENT_S)
    read_at_s = list(skips.at_s)
    skips.loop.run_for(1)

    assert read_at_s == []
    assert len(skips.at_s) == 1


def test_nothing_is_skipped_after_the_end(skips: Skips) -> None:
    skips.door()
    skips.driver.stop()
    skips.loop.run_for(1)

    assert skips.at_s == []
    skips.door()
    skips.loop.run_for(1)
    assert len(skips.at_s) == 1


def test_it_may_end_between_the_look_and_the_skip(skips: Skips) -> None:
    turns = count(1)
    skips.loop.between = lambda: skips.driver.stop() if next(turns) == 2 else None
    skips.door()
    skips.loop.run_for(1)

    assert skips.at_s == []
