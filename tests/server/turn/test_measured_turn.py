"""A turn of the loop, with a clock that the test moves."""

from __future__ import annotations

import pytest

from fakebroker.server.turn import measured_turn
from fakebroker.server.turn.measured_turn import MeasuredTurn

MS = 1_000_000


class Clock:
    def __init__(self) -> None:
        self.now_ns = 5

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    try:
        monkeypatch.setattr(measured_turn, "monotonic_ns", clock)
    except AttributeError:
        pytest.skip("compiled: it reads the system's clock")
    turn = MeasuredTurn()
    turn.enter()
    clock.now_ns += 1
    turn.leave()
    if turn._spent_ns != 1:
        pytest.skip("compiled: it reads the system's clock")
    return clock


def works(turn: MeasuredTurn, clock: Clock, requests: int, each_ns: int, size: int = 0) -> int:
    """Return how many of the requests one door handled."""
    handled = 0
    turn.enter()
    while handled < requests and not turn.is_over():
        clock.now_ns += each_ns
        turn.handled(1, size)
        handled += 1
    turn.leave()
    return handled


def test_a_turn_is_a_millisecond(clock: Clock) -> None:
    turn = MeasuredTurn()
    assert works(turn, clock, 10_000, MS // 80) == 80
    assert works(turn, clock, 10_000, MS // 80) == 0
    turn.begin()
    assert works(turn, clock, 10_000, MS // 80) == 80


def test_doors_of_one_turn_are_added_up(clock: Clock) -> None:
    turn = MeasuredTurn()
    assert [works(turn, clock, 40, MS // 80) for _ in range(3)] == [40, 40, 0]


def test_time_between_doors_counts_for_no_turn(clock: Clock) -> None:
    turn = MeasuredTurn()
    assert works(turn, clock, 40, MS // 80) == 40
    clock.now_ns += 50 * MS
    assert works(turn, clock, 40, MS // 80) == 40


def test_after_a_large_request_the_clock_is_looked_at(clock: Clock) -> None:
    turn = MeasuredTurn()
    assert works(turn, clock, 10, 2 * MS, size=1 << 20) == 1
    turn.begin()
    assert works(turn, clock, 10, 2 * MS) == 8  # of small ones it is not, or every look would cost more than it saves
