"""Tasks that are due, by deadline; tasks of one deadline are in the order of adding.

Theory   A list per distinct deadline and a heap of the deadlines. Unlike in sorting, no step costs more than the
         logarithm of the number of distinct deadlines. A crowded tick can therefore be taken in and handed out piece by
         piece. With a tick of 1 ms a whole bucket has one deadline, and moves in by changing four links.
Units    Milliseconds on the caller's monotonic clock.
Source   The FIFO queue of the single-threaded executor in org.apache.kafka.server.util.timer.SystemTimer.
Differs  Sorted, where Kafka runs tasks in the order in which they were found to be due. With a tick of 1 that is the
         same, except for tasks that were due when they were added.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Final

from timingwheel.task import TaskCounter, TimerTask
from timingwheel.task_list import TimerTaskList

MAX_SPARE: Final = 64
"""Empty lists kept for the next deadlines: making one costs as much as running a task."""


class DueQueue:
    __slots__ = ("_deadlines", "_lists", "_spare", "counter")

    def __init__(self, counter: TaskCounter) -> None:
        self.counter = counter
        self._deadlines: list[int] = []
        self._lists: dict[int, TimerTaskList] = {}
        self._spare: list[TimerTaskList] = []

    def _list_for(self, deadline_ms: int) -> TimerTaskList:
        tasks = self._lists.get(deadline_ms)
        if tasks is None:
            tasks = self._spare.pop() if self._spare else TimerTaskList(self.counter)
            self._lists[deadline_ms] = tasks
            heapq.heappush(self._deadlines, deadline_ms)
        return tasks

    def add(self, task: TimerTask) -> None:
        """Append a task that was due when it was added behind all others of its deadline."""
        self._list_for(task._deadline_ms).add(task)

    def add_first(self, task: TimerTask) -> None:
        """Put a task from a bucket before all others of its deadline (see `wheel`, Order)."""
        self._list_for(task._deadline_ms).add_first(task)

    def add_bucket(self, bucket: TimerTaskList) -> None:
        """Take all tasks of a bucket one tick of 1 ms wide, in constant time. This empties the bucket.

        No other task of that deadline can be here yet: it was not due before, and finer buckets come first.
        """
        self._list_for(bucket.root._next._deadline_ms).splice_last(bucket)

    def peek_ms(self) -> int | None:
        """Return the soonest deadline."""
        deadlines = self._deadlines
        while deadlines:
            deadline_ms = deadlines[0]
            root = self._lists[deadline_ms].root
            if root._next is not root:
                return deadline_ms
            heapq.heappop(deadlines)
            tasks = self._lists.pop(deadline_ms)
            if len(self._spare) < MAX_SPARE:
                self._spare.append(tasks)
        return None

    def pop_before(self, horizon_ms: int) -> TimerTask | None:
        """Remove and return the first task with a deadline before the horizon."""
        deadline_ms = self.peek_ms()
        if deadline_ms is None or deadline_ms >= horizon_ms:
            return None
        return self._lists[deadline_ms].pop_first()

    def pop_any_before(self, horizon_ms: int, pick: Callable[[int], int]) -> TimerTask | None:
        """Remove and return one task of the soonest deadline if that is before the horizon. `pick(n)` chooses it among
        n, counted from 0. Takes time in proportion to n."""
        deadline_ms = self.peek_ms()
        if deadline_ms is None or deadline_ms >= horizon_ms:
            return None
        tasks = list(self._lists[deadline_ms])
        task = tasks[pick(len(tasks)) if len(tasks) > 1 else 0]
        task._unlink()
        return task

    def add_all_later(self, later: DueQueue) -> None:
        """Take over another queue. All its tasks were added after those of this one."""
        for deadline_ms, tasks in later._lists.items():
            self._list_for(deadline_ms).splice_last(tasks)
        later._lists.clear()
        later._deadlines.clear()

    def __iter__(self) -> Iterator[TimerTask]:
        for deadline_ms in sorted(self._deadlines):
            yield from self._lists[deadline_ms]

    def clear(self) -> None:
        """Cancel every task."""
        for tasks in self._lists.values():
            tasks.clear()
        self._lists.clear()
        self._deadlines.clear()

    def check_invariants(self) -> int:
        """Raise AssertionError if the structure is broken. Return the number of tasks."""
        deadlines = self._deadlines
        if not deadlines and not self._lists and not self._spare:
            return 0
        assert len(set(deadlines)) == len(deadlines) == len(self._lists), "a deadline twice, or without its list"
        for index, deadline_ms in enumerate(deadlines):
            assert index == 0 or deadlines[(index - 1) // 2] <= deadline_ms, "not a heap"
        assert all(tasks.is_empty for tasks in self._spare), "a task in a queue that is not looked at"
        size = 0
        for deadline_ms, tasks in self._lists.items():
            assert deadline_ms in deadlines
            size += tasks.check_invariants()
            assert all(task._deadline_ms == deadline_ms for task in tasks), "a task in the wrong list"
        return size
