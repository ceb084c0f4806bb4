"""Actions of callbacks on the timer that runs them, limits, and exceptions."""

from __future__ import annotations

from typing import Any

import pytest
from wheel_recording import Recording, add_all, run_out

from timingwheel import SystemTimer, TimerTask


def test_a_callback_may_cancel_a_later_task_of_the_same_advance() -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    same_tick = Recording(5, "same tick", log)
    later = Recording(9, "later", log)
    cancelled: list[bool] = []
    timer.add(Recording(5, "first", log, lambda: cancelled.extend((same_tick.cancel(), later.cancel()))), 0)
    timer.add(same_tick, 0)
    timer.add(later, 0)
    assert timer.advance_clock(100) == 1
    assert cancelled == [True, True]
    assert log == ["first"]
    assert timer.size == 0
    timer.check_invariants()


def test_a_callback_may_move_a_later_task_of_the_same_advance() -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    other = Recording(5, "other", log)
    timer.add(Recording(5, "first", log, lambda: timer.add(other, 100)), 0)
    timer.add(other, 0)
    assert timer.advance_clock(100) == 1
    assert other.deadline_ms == 105
    assert timer.advance_clock(105) == 1
    assert log == ["first", "other"]


@pytest.mark.parametrize("delay_ms", [0, -7])
def test_a_task_that_adds_itself_again_runs_once_per_advance(delay_ms: int) -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    task = Recording(delay_ms, "again", log, lambda: timer.add(task, 50))
    timer.add(task, 0)
    timer.add(Recording(40, "other", log), 0)
    assert timer.advance_clock(50) == 2
    assert log == ["again", "other"]
    assert timer.size == 1
    for _ in range(3):
        assert timer.advance_clock(50) == 1
    timer.check_invariants()
    assert log == ["again", "other", "again", "again", "again"]


def test_a_task_added_by_a_callback_waits_for_the_next_advance_even_if_due() -> None:
    timer = SystemTimer(0)
    log: list[object] = []

    def more() -> None:
        add_all(timer, [-50, -5, 0, 1, 30], log, now_ms=100)

    timer.add(Recording(10, "ten", log, more), 0)
    timer.add(Recording(99, 99, log), 0)
    assert timer.advance_clock(100) == 2
    assert log == ["ten", 99]
    deadline_ms = timer.next_deadline_ms()
    assert deadline_ms is not None
    assert deadline_ms <= 100
    assert timer.advance_clock(100) == 3
    assert log == ["ten", 99, 50, 95, 100]
    assert timer.advance_clock(130) == 2


def test_a_periodic_task_keeps_its_beat() -> None:
    timer, beats = SystemTimer(0), []

    class Beat(TimerTask):
        def run(self) -> None:
            assert self.deadline_ms is not None
            beats.append(self.deadline_ms)
            if self.deadline_ms < 100:
                timer.add(self, self.deadline_ms)

    timer.add(Beat(25), 0)
    for now_ms in (31, 62, 77, 103, 104, 200):
        timer.advance_clock(now_ms)
    assert beats == [25, 50, 75, 100]


def test_a_chain_of_cancels_and_adds_keeps_the_count() -> None:
    timer = SystemTimer(0, wheel_size=2)
    log: list[object] = []
    tasks = add_all(timer, list(range(1, 200)), log)

    def meddle() -> None:
        timer.check_invariants()
        for task in tasks[60::3]:
            task.cancel()
        for task in tasks[61::3]:
            timer.add(task, 55)
        timer.check_invariants()

    timer.add(Recording(55, "meddle", log, meddle), 0)
    timer.advance_clock(55)
    assert timer.size == 199 - 55 - len(tasks[60::3])
    run_out(timer)
    assert len(log) == 200 - len(tasks[60::3])


def test_a_limit_bounds_the_tasks_run_and_keeps_the_order() -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    add_all(timer, [50] * 3 + [51] + [10], log)
    assert timer.advance_clock(100, limit=2) == 2
    assert log == [10, 50]
    assert timer.size == 3
    deadline_ms = timer.next_deadline_ms()
    assert deadline_ms is not None
    assert deadline_ms <= 100
    add_all(timer, [0], log, now_ms=100)
    assert timer.advance_clock(100, limit=0) == 0
    assert timer.advance_clock(100, limit=2) == 2
    assert timer.advance_clock(100, limit=2) == 2
    assert log == [10, 50, 50, 50, 51, 100]
    assert timer.advance_clock(100, limit=2) == 0


def test_what_a_limit_left_goes_before_what_a_callback_added() -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    timer.add(Recording(5, "first", log, lambda: timer.add(Recording(0, "added", log), 5)), 0)
    timer.add(Recording(5, "left", log), 0)
    assert timer.advance_clock(5, limit=1) == 1
    assert timer.advance_clock(5) == 2
    assert log == ["first", "left", "added"]


def test_a_limit_bounds_the_tasks_moved_too() -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    names = [(deadline_ms, n) for n in range(1500) for deadline_ms in (399, 390, 380)]
    for deadline_ms, n in names:
        timer.add(Recording(deadline_ms, (deadline_ms, n), log), 0)
    ran = []
    while (next_ms := timer.next_deadline_ms()) is not None and next_ms <= 400:
        ran.append(timer.advance_clock(400, limit=100))
        timer.check_invariants()
    assert timer.size == 0
    assert max(ran) == 100
    assert ran[:4] == [0, 0, 0, 0], "4,500 tasks have to be moved before the first is known"
    assert log == sorted(names)


def test_order_survives_adding_while_a_bucket_is_half_moved() -> None:
    timer = SystemTimer(0)
    log: list[Any] = []
    for n in range(3000):
        timer.add(Recording(390 + n % 2, (390 + n % 2, n), log), 0)
    timer.advance_clock(385, limit=1)
    timer.add(Recording(5, (390, 3000), log), 385)
    timer.add(Recording(6, (391, 3001), log), 385)
    timer.check_invariants()
    while timer.size:
        timer.advance_clock(400, limit=700)
    assert log == sorted(log)


def test_what_is_due_before_a_half_moved_bucket_runs_meanwhile() -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    for n in range(3000):
        timer.add(Recording(390, (390, n), log), 0)
    timer.add(Recording(5, "early", log), 0)
    assert timer.advance_clock(400, limit=10) == 1
    assert log == ["early"]


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="limit"):
        SystemTimer(0).advance_clock(0, limit=-1)


class Boom(Exception):
    pass


def boom() -> None:
    raise Boom


def test_an_exception_leaves_the_rest_queued_in_order() -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    timer.add(Recording(5, "before", log), 0)
    bad = Recording(5, "bad", log, boom)
    timer.add(bad, 0)
    add_all(timer, [5, 5, 8], log)
    with pytest.raises(Boom):
        timer.advance_clock(10)
    timer.check_invariants()
    assert log == ["before", "bad"]
    assert not bad.is_pending
    assert timer.size == 3
    assert timer.advance_clock(10) == 3
    assert log == ["before", "bad", 5, 5, 8]


def test_a_task_that_raises_after_adding_itself_stays_added() -> None:
    timer = SystemTimer(0)
    log: list[object] = []

    def again_and_boom() -> None:
        timer.add(task, 10)
        boom()

    task = Recording(0, "task", log, again_and_boom)
    timer.add(task, 0)
    timer.add(Recording(3, "other", log), 0)
    with pytest.raises(Boom):
        timer.advance_clock(10)
    assert task.deadline_ms == 10
    assert timer.size == 2
    with pytest.raises(Boom):
        timer.advance_clock(10)
    assert log == ["task", "other", "task"]


def test_a_callback_may_close_the_timer() -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    add_all(timer, [5], log)
    timer.add(Recording(5, "close", log, timer.close), 0)
    add_all(timer, [5, 6, 700], log)
    assert timer.advance_clock(10) == 2
    assert log == [5, "close"]
    timer.check_invariants()
    assert timer.size == 0


@pytest.mark.parametrize("method", ["advance_clock", "pop_due"])
def test_a_callback_may_not_advance(method: str) -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    timer.add(Recording(5, "task", log, lambda: getattr(timer, method)(20)), 0)
    add_all(timer, [6], log)
    with pytest.raises(RuntimeError, match="from a task"):
        timer.advance_clock(10)
    timer.check_invariants()
    assert timer.advance_clock(10) == 1


def test_what_a_callback_sees() -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    seen: list[tuple[int, int | None]] = []

    def look() -> None:
        timer.check_invariants()
        seen.append((timer.size, timer.next_deadline_ms()))

    timer.add(Recording(5, "look", log, look), 0)
    add_all(timer, [7, 30], log)
    timer.advance_clock(10)
    assert seen == [(2, 7)]


def test_the_next_deadline_a_callback_sees_is_the_soonest_of_all() -> None:
    timer, seen = SystemTimer(0), []

    def look() -> None:
        seen.append(timer.next_deadline_ms())
        timer.add(Recording(-4, "late", []), 10)
        seen.append(timer.next_deadline_ms())
        timer.add(Recording(-9, "later", []), 10)
        seen.append(timer.next_deadline_ms())

    timer.add(Recording(3, "look", [], look), 0)
    timer.add(Recording(5, "rest", []), 0)
    timer.add(Recording(50, "wheel", []), 0)
    timer.advance_clock(10)
    assert seen == [5, 5, 1]
