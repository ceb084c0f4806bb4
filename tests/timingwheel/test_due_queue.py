"""The queue of due tasks: where its two ways to take a task stop."""

from __future__ import annotations

from timingwheel.due_queue import DueQueue
from timingwheel.task import TaskCounter, TimerTask


def test_a_task_at_the_horizon_is_not_taken() -> None:
    queue = DueQueue(TaskCounter())
    task = TimerTask(0)
    task._deadline_ms = 5
    queue.add(task)
    assert queue.pop_before(5) is None
    assert queue.pop_any_before(5, lambda count: 0) is None
    assert queue.pop_any_before(6, lambda count: 0) is task
    assert queue.peek_ms() is None
