"""Levels, after Kafka's TimingWheelTest: tick 10, size 5, started at 1000, so an interval of 50."""

from __future__ import annotations

import pytest

from timingwheel import DelayQueue, TaskCounter, TimerTask, TimingWheel


def make_wheel(tick_ms: int = 10, wheel_size: int = 5, start_ms: int = 1000) -> TimingWheel:
    return TimingWheel(tick_ms, wheel_size, start_ms, TaskCounter(), DelayQueue())


def task_due_at(deadline_ms: int) -> TimerTask:
    task = TimerTask(0)
    task._deadline_ms = deadline_ms
    return task


def test_a_valid_task_is_added() -> None:
    wheel = make_wheel()
    assert wheel.add(task_due_at(1020))
    assert wheel.queue.peek() is not None, "its bucket is in the delay queue"
    assert wheel.counter.value == 1
    assert wheel.check_invariants() == 1


def test_an_expired_task_is_not_added() -> None:
    wheel = make_wheel()
    assert not wheel.add(task_due_at(999))
    assert wheel.counter.value == 0
    assert len(wheel.queue) == 0


def test_a_cancelled_task_is_not_added() -> None:
    wheel = make_wheel()
    task = task_due_at(1020)
    task.cancel()
    assert not wheel.add(task)
    assert task.deadline_ms is None
    assert wheel.counter.value == 0


def test_a_task_within_the_current_tick_is_due() -> None:
    wheel = make_wheel()
    assert not wheel.add(task_due_at(1005))
    assert not wheel.add(task_due_at(1009))
    assert wheel.add(task_due_at(1010))


def test_advancing_within_a_tick_changes_nothing() -> None:
    wheel = make_wheel()
    wheel.advance_clock(1005)
    assert wheel.current_time_ms == 1000


def test_advancing_to_the_next_tick() -> None:
    wheel = make_wheel()
    wheel.advance_clock(1010)
    assert wheel.current_time_ms == 1010


def test_the_overflow_wheel_is_made_once_and_on_demand() -> None:
    wheel = make_wheel()
    assert wheel.add(task_due_at(1049))
    none_yet = wheel.overflow_wheel
    assert none_yet is None, "1049 is the last time that fits"
    assert wheel.add(task_due_at(1060))
    overflow = wheel.overflow_wheel
    assert overflow is not None
    assert wheel.add(task_due_at(1061))
    assert wheel.overflow_wheel is overflow
    assert (overflow.tick_ms, overflow.wheel_size, overflow.interval_ms) == (50, 5, 250)
    assert overflow.counter is wheel.counter
    assert overflow.queue is wheel.queue


def test_the_overflow_wheel_advances_in_its_own_ticks() -> None:
    wheel = make_wheel()
    wheel.add(task_due_at(1060))
    wheel.advance_clock(1060)
    assert wheel.current_time_ms == 1060
    assert wheel.overflow_wheel is not None
    assert wheel.overflow_wheel.current_time_ms == 1050


@pytest.mark.parametrize(("start_ms", "clock_ms"), [(1000, 1000), (1009, 1000), (0, 0), (-1, -10), (-10, -10)])
def test_the_clock_starts_at_a_whole_tick(start_ms: int, clock_ms: int) -> None:
    assert make_wheel(start_ms=start_ms).current_time_ms == clock_ms


def test_a_bucket_expires_at_its_start_and_is_queued_once() -> None:
    wheel = make_wheel()
    for deadline_ms in (1029, 1020, 1025):
        wheel.add(task_due_at(deadline_ms))
    assert len(wheel.queue) == 1
    bucket = wheel.queue.peek()
    assert bucket is not None
    assert bucket.expiration_ms == 1020


def test_an_emptied_bucket_stays_queued_once_when_it_is_used_again() -> None:
    wheel = make_wheel()
    task = task_due_at(1020)
    wheel.add(task)
    task.cancel()
    assert (len(wheel.queue), wheel.counter.value) == (1, 0)
    wheel.add(task_due_at(1021))
    assert (len(wheel.queue), wheel.counter.value) == (1, 1)
    wheel.queue.check_invariants()
    assert wheel.check_invariants() == 1


def test_buckets_come_out_by_time_and_the_finer_level_first() -> None:
    wheel = make_wheel()
    for deadline_ms in (1100, 1030, 1250, 1500):
        wheel.add(task_due_at(deadline_ms))
    wheel.advance_clock(1060)
    wheel.add(task_due_at(1100))
    out = []
    while (bucket := wheel.queue.peek()) is not None:
        out.append((bucket.expiration_ms, bucket.tick_ms))
        wheel.queue.poll()
    assert out == [(1030, 10), (1100, 10), (1100, 50), (1250, 250), (1500, 250)]


@pytest.mark.parametrize(
    ("tick_ms", "wheel_size", "word"), [(0, 5, "tick_ms"), (-1, 5, "tick_ms"), (1, 1, "wheel_size")]
)
def test_impossible_wheels_are_refused(tick_ms: int, wheel_size: int, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        make_wheel(tick_ms, wheel_size)


def test_the_table_of_the_module_docstring() -> None:
    wheel = make_wheel(tick_ms=1, wheel_size=3, start_ms=0)
    for deadline_ms in range(1, 27):
        assert wheel.add(task_due_at(deadline_ms))
    held = {
        (level.tick_ms, bucket.expiration_ms): [task.deadline_ms for task in bucket]
        for level in wheel.levels()
        for _, bucket in level.buckets()
        if not bucket.is_empty
    }
    assert held == {
        (1, 1): [1],
        (1, 2): [2],
        (3, 3): [3, 4, 5],
        (3, 6): [6, 7, 8],
        (9, 9): list(range(9, 18)),
        (9, 18): list(range(18, 27)),
    }
    assert wheel.check_invariants() == 26
