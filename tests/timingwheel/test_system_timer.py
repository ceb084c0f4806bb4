"""The timer: Kafka's TimerTest and the cases derived from its rules, in virtual time."""

from __future__ import annotations

import pytest
from wheel_recording import Recording, add_all, run_out

from timingwheel import SystemTimer, TimerTask


def test_already_expired_tasks_run_at_the_next_advance_and_not_before() -> None:
    timer = SystemTimer(0, tick_ms=1, wheel_size=3)
    log: list[object] = []
    add_all(timer, [-5, -4, -3, -2, -1], log)
    assert log == [], "add never runs a task"
    assert timer.size == 5
    assert timer.advance_clock(0) == 5
    assert log == [-5, -4, -3, -2, -1]


def test_task_expiration() -> None:
    timer = SystemTimer(0, tick_ms=1, wheel_size=3)
    log: list[object] = []
    delays = [*range(5), *(delay for i in range(10, 100) for delay in (i, i)), *range(100, 500)]
    add_all(timer, delays, log)
    assert timer.size == 585
    run_out(timer)
    assert log == delays
    assert timer.size == 0


@pytest.mark.parametrize("wheel_size", [2, 3, 5, 20])
@pytest.mark.parametrize("step_ms", [1, 2, 7, 50, 1000])
def test_each_task_runs_at_the_first_advance_that_reaches_it(wheel_size: int, step_ms: int) -> None:
    timer = SystemTimer(0, wheel_size=wheel_size)
    log: list[object] = []
    add_all(timer, list(range(300, -1, -1)), log)
    for now_ms in range(0, 300 + step_ms, step_ms):
        timer.advance_clock(now_ms)
        timer.check_invariants()
        assert log == list(range(min(now_ms, 300) + 1))


def test_the_worked_example_of_three_levels() -> None:
    timer = SystemTimer(0, wheel_size=3)
    log: list[object] = []
    add_all(timer, [7], log)
    assert timer.next_deadline_ms() == 6
    assert timer.advance_clock(5) == 0
    assert timer.advance_clock(6) == 0
    assert timer.next_deadline_ms() == 7, "it has moved to level 1"
    assert timer.advance_clock(7) == 1
    assert log == [7]
    assert timer.next_deadline_ms() is None


def test_a_coarse_tick_fires_at_the_start_of_the_bucket() -> None:
    timer = SystemTimer(1000, tick_ms=10, wheel_size=5)
    log: list[object] = []
    add_all(timer, [25], log, now_ms=1000)
    assert timer.next_deadline_ms() == 1020
    assert timer.advance_clock(1019) == 0
    assert timer.advance_clock(1020) == 1, "5 ms early"
    assert log == [1025]


def test_the_order_within_a_coarse_tick_is_that_of_the_deadlines() -> None:
    timer = SystemTimer(0, tick_ms=10, wheel_size=2)
    log: list[object] = []
    add_all(timer, [29, 21, 25, 21, 20], log)
    assert timer.advance_clock(20) == 5
    assert log == [20, 21, 21, 25, 29]


def test_equal_deadlines_run_in_the_order_of_adding_whatever_level_they_came_from() -> None:
    timer = SystemTimer(0, wheel_size=3)
    log: list[object] = []
    for now_ms in range(31):
        timer.advance_clock(now_ms)
        for name in ("first", "second"):
            timer.add(Recording(30 - now_ms, (now_ms, name), log), now_ms)
        timer.check_invariants()
    timer.advance_clock(30)
    assert log == [(now_ms, name) for now_ms in range(31) for name in ("first", "second")]


def test_the_clock_goes_to_the_bucket_and_never_to_now() -> None:
    timer = SystemTimer(0, wheel_size=3)
    log: list[object] = []
    add_all(timer, [7], log)
    timer.advance_clock(1_000)
    assert timer._wheel.current_time_ms == 7
    timer.advance_clock(5_000)
    assert timer._wheel.current_time_ms == 7, "an idle timer does not tick"
    add_all(timer, [1], log, now_ms=5_000)
    assert timer.advance_clock(5_000) == 0
    assert timer.advance_clock(5_001) == 1, "right although the clock lags far behind"
    assert log == [7, 5_001]


def test_adding_a_pending_task_moves_it() -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    task = Recording(10, "task", log)
    timer.add(task, 0)
    timer.add(task, 5)
    assert (timer.size, task.deadline_ms) == (1, 15)
    assert timer.advance_clock(14) == 0
    assert timer.advance_clock(15) == 1
    timer.add(task, 15)
    task.delay_ms = -3
    timer.add(task, 15)
    timer.check_invariants()
    assert (timer.size, task.deadline_ms) == (1, 12)
    assert timer.advance_clock(15) == 1
    assert timer.advance_clock(1_000) == 0


def test_cancel_takes_effect_at_once_in_every_place_a_task_can_be() -> None:
    timer = SystemTimer(0, wheel_size=3)
    log: list[object] = []
    tasks = add_all(timer, [-1, 0, 1, 8, 26, 10**12], log)
    for left, task in reversed(list(enumerate(tasks))):
        assert task.cancel()
        assert timer.size == left
        timer.check_invariants()
    assert timer.next_deadline_ms() is None, "the timer woke up for cancelled tasks"
    assert timer.advance_clock(10**13) == 0
    assert log == []


@pytest.mark.parametrize("delay_ms", [2**31, 2**53 + 1, 2**63 - 1, 2**70])
def test_delays_of_any_size(delay_ms: int) -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    add_all(timer, [delay_ms, 3], log)
    assert run_out(timer, most=100)[-1] == delay_ms
    assert log == [3, delay_ms]


def test_years_at_one_go() -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    delays = [0, 1, 19, 20, 21, 30_000, 86_400_000, 10**11]
    add_all(timer, delays[::-1], log)
    assert timer.advance_clock(10**12) == len(delays)
    assert log == delays


def test_a_clock_may_start_below_zero() -> None:
    timer = SystemTimer(-50, wheel_size=3)
    log: list[object] = []
    add_all(timer, [0, 1, 49, 50, 51], log, now_ms=-50)
    run_out(timer)
    assert log == [-50, -49, -1, 0, 1]


def test_time_that_goes_backwards_runs_nothing_early() -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    add_all(timer, [100], log)
    timer.advance_clock(100)
    add_all(timer, [20], log, now_ms=50)
    assert timer.advance_clock(69) == 0
    assert timer.next_deadline_ms() == 70
    assert timer.advance_clock(70) == 1
    assert log == [100, 70]


def test_next_deadline_never_lies() -> None:
    timer = SystemTimer(0, tick_ms=10, wheel_size=3)
    log: list[object] = []
    add_all(timer, [5, 95, 1234], log)
    soonest_ms = timer.next_deadline_ms()
    assert soonest_ms is not None
    assert soonest_ms <= 0, "a task within the current tick can run now"
    for now_ms in range(1300):
        deadline_ms = timer.next_deadline_ms()
        ran = timer.advance_clock(now_ms)
        assert deadline_ms is not None or not ran
        if deadline_ms is not None and deadline_ms > now_ms:
            assert ran == 0
    assert log == [5, 95, 1234]


def test_close_drops_everything_and_refuses_more() -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    tasks = add_all(timer, [-1, 0, 5, 500], log)
    timer.close()
    timer.close()
    timer.check_invariants()
    assert timer.size == 0
    assert not any(task.is_pending for task in tasks)
    assert [task.deadline_ms for task in tasks] == [None] * 4
    assert timer.next_deadline_ms() is None
    assert timer.advance_clock(10_000) == 0
    with pytest.raises(RuntimeError, match="closed"):
        timer.add(tasks[0], 0)
    assert log == []


def test_clear_leaves_the_timer_in_use() -> None:
    timer = SystemTimer(0)
    log: list[object] = []
    add_all(timer, [-1, 5, 500], log)
    timer.clear()
    timer.check_invariants()
    add_all(timer, [6], log)
    assert timer.advance_clock(10) == 1
    assert log == [6]


def test_close_calls_no_method_of_a_task() -> None:
    class Stubborn(TimerTask):
        def cancel(self) -> bool:
            raise AssertionError("the timer is not to call this")

    timer = SystemTimer(0)
    tasks = [Stubborn(delay_ms) for delay_ms in (0, 5)]
    for task in tasks:
        timer.add(task, 0)
    timer.close()
    assert [task.is_pending for task in tasks] == [False, False]


def test_a_task_may_change_timers() -> None:
    one, two = SystemTimer(0), SystemTimer(0)
    log: list[object] = []
    task = Recording(5, "task", log)
    one.add(task, 0)
    two.add(task, 0)
    assert (one.size, two.size) == (0, 1)
    assert one.advance_clock(10) == 0
    assert two.advance_clock(10) == 1


def test_pop_due_hands_out_without_running() -> None:
    timer = SystemTimer(0, wheel_size=3)
    log: list[object] = []
    tasks = add_all(timer, [4, 4, 20], log)
    assert timer.pop_due(3) is None
    assert timer.pop_due(4) is tasks[0]
    assert not tasks[0].is_pending
    assert tasks[1].is_pending
    assert tasks[1].cancel()
    assert timer.pop_due(4) is None
    assert timer.pop_due(20) is tasks[2]
    assert (timer.size, log) == (0, [])


def test_a_subclass_with_its_own_equality_is_no_trouble() -> None:
    class Same(TimerTask):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

        def run(self) -> None:
            ran.append(1)

    ran: list[int] = []
    timer = SystemTimer(0)
    tasks = [Same(delay_ms) for delay_ms in (0, 3, 3, 50)]
    for task in tasks:
        timer.add(task, 0)
    assert tasks[1].cancel()
    assert timer.advance_clock(100) == 3
    assert timer.size == 0
