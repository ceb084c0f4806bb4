"""Periodic tasks run at their usual times, except when they have nothing to do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.clock import NEVER_MS, HasNow, Now
from fakebroker.core.purgatory.deadlines import HOUSEKEEPING, TIMEOUTS, Deadlines, TimerDeadlines
from fakebroker.core.purgatory.housekeeping import Housekeeping, PeriodicTask
from timingwheel import TimerTask

DAY_MS = 86_400_000


class World:
    """Actions that are due from some time on, and a task with an interval that does them. `done` has (when, which)."""

    def __init__(self, *intervals_ms: int, skips: bool = True) -> None:
        self.clock = HasNow(Now(0, 0))
        self.housekeeping = Housekeeping(0)
        self.housekeeping.skips = skips
        self.timer = TimerDeadlines(0)
        self.deadlines = Deadlines()
        self.deadlines.add(self.housekeeping, (HOUSEKEEPING, 0, 0))
        self.deadlines.add(self.timer, (TIMEOUTS, 0, 0))
        self.to_do: list[int] = []
        self.done: list[tuple[int, int]] = []
        self.tasks = [
            PeriodicTask(interval, interval, self.see_to_it, self.matters_ms, self.housekeeping, lambda: self.clock.now)
            for interval in intervals_ms
        ]

    def matters_ms(self, now: Now) -> int:
        return min(self.to_do, default=NEVER_MS)

    def see_to_it(self, now: Now) -> None:
        for due_ms in [due_ms for due_ms in self.to_do if due_ms <= now.mono_ms]:
            self.to_do.remove(due_ms)
            self.done.append((now.mono_ms, due_ms))

    def add(self, due_ms: int) -> None:
        """Add a task that is due at this time."""
        self.to_do.append(due_ms)
        self.housekeeping.changed(self.clock.now.mono_ms)

    def add_later(self, delay_ms: int, due_ms: int) -> None:
        """Add a task at a deadline of another source."""
        self.timer.timer.add(Adding(self, delay_ms, due_ms), self.clock.now.mono_ms)

    def advance(self, ms: int) -> None:
        end_ms = self.clock.now.mono_ms + ms
        while (deadline_ms := self.deadlines.next_deadline_ms()) is not None and deadline_ms <= end_ms:
            self.clock.now = Now(deadline_ms, deadline_ms)
            self.deadlines.advance_clock(deadline_ms, 64)
        self.clock.now = Now(end_ms, end_ms)
        self.housekeeping.reached(end_ms)


class Adding(TimerTask):
    def __init__(self, world: World, delay_ms: int, due_ms: int) -> None:
        super().__init__(delay_ms)
        self.world = world
        self.due_ms = due_ms

    def run(self) -> None:
        self.world.to_do.append(self.due_ms)


def test_a_week_of_nothing_is_one_tick() -> None:
    world = World(15_000)
    world.advance(7 * DAY_MS)
    assert (world.housekeeping.ticks, world.housekeeping.idle_ticks) == (1, 1)


def test_it_is_done_at_the_next_of_its_times() -> None:
    world = World(10)
    world.advance(1_000)
    world.add(1_234)
    world.advance(1_000)
    assert world.done == [(1_240, 1_234)]


def test_a_time_that_has_been_is_not_made_up_for() -> None:
    world = World(10)
    world.advance(1_000)
    world.add(0)
    world.advance(9)
    assert world.done == []
    world.advance(1)
    assert world.done == [(1_010, 0)]


def test_what_another_deadline_does_is_seen() -> None:
    world = World(10)
    world.add_later(505, 0)
    world.advance(1_000)
    assert world.done == [(510, 0)]


def test_a_stopped_task_does_not_run_again() -> None:
    world = World(10)
    world.advance(1_000)
    world.tasks[0].stop()
    world.add(0)
    world.advance(1_000)
    assert world.done == []
    assert world.housekeeping.num_pending() == 0


def test_what_fails_is_tried_again() -> None:
    world = World()
    calls: list[int] = []

    def fails(now: Now) -> None:
        calls.append(now.mono_ms)
        raise RuntimeError("on purpose")

    PeriodicTask(10, 10, fails, lambda now: now.mono_ms, world.housekeeping, lambda: world.clock.now)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="on purpose"):
            world.advance(10)
    assert calls == [10, 20]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("advance"), st.integers(0, 200), st.just(0)),
        st.tuples(st.just("add"), st.integers(-20, 300), st.just(0)),
        st.tuples(st.just("add_later"), st.integers(0, 60), st.integers(-20, 300)),
    ),
    max_size=30,
)


@given(intervals=st.lists(st.integers(1, 40), min_size=1, max_size=3), steps=STEPS)
def test_tasks_run_at_the_same_times_with_and_without_skips(
    intervals: list[int], steps: list[tuple[str, int, int]]
) -> None:
    worlds = [World(*intervals, skips=skips) for skips in (True, False)]
    for name, first, second in steps:
        for world in worlds:
            now_ms = world.clock.now.mono_ms
            if name == "advance":
                world.advance(first)
            elif name == "add":
                world.add(now_ms + first)
            else:
                world.add_later(first, now_ms + second)
            world.deadlines.check_invariants()
    for world in worlds:
        world.advance(1_000)
    assert worlds[0].done == worlds[1].done
    assert worlds[0].housekeeping.ticks <= worlds[1].housekeeping.ticks
