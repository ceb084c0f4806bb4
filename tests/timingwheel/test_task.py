"""A task by itself."""

from __future__ import annotations

import pytest

from timingwheel import SystemTimer, TimerTask


def test_a_new_task_is_not_pending() -> None:
    task = TimerTask(5)
    assert (task.delay_ms, task.deadline_ms, task.is_pending) == (5, None, False)
    assert not task.cancel()


def test_the_deadline_is_known_while_pending_and_until_cancelled() -> None:
    timer = SystemTimer(100)
    task = TimerTask(5)
    timer.add(task, 103)
    assert (task.deadline_ms, task.is_pending) == (108, True)
    assert task.cancel()
    assert (task.deadline_ms, task.is_pending) == (None, False)
    assert not task.cancel(), "the second time there is nothing to cancel"
    assert timer.size == 0


def test_run_must_be_overridden() -> None:
    timer = SystemTimer(0)
    timer.add(TimerTask(0), 0)
    with pytest.raises(NotImplementedError, match="TimerTask"):
        timer.advance_clock(0)


def test_a_task_knows_its_deadline_while_it_runs() -> None:
    seen = []

    class Look(TimerTask):
        def run(self) -> None:
            seen.append((self.deadline_ms, self.is_pending, self.cancel()))

    timer = SystemTimer(0)
    timer.add(Look(7), 0)
    timer.advance_clock(50)
    assert seen == [(7, False, False)]
