"""A bucket: tasks in the order in which they run, with the time at which the bucket itself is due.

Theory   A ring of tasks closed by a sentinel, `root`: root._next is the first task, root._prev the last. Both ends can
         be extended and any task can leave in constant time. The expiration is the START of the bucket's time slot, or
         NOT_QUEUED while the bucket is in no delay queue.
Units    expiration_ms is milliseconds on the caller's monotonic clock.
Source   org.apache.kafka.server.util.timer.TimerTaskList, Kafka 4.0.
Differs  No locks. `add_first` and `splice_last` are new. Kafka appends the tasks that it moves to a finer wheel, so a
         task added later may overtake an earlier one with the same deadline. Here tasks from a coarser wheel go to the
         front (see `wheel`). There is no `flush`, because `SystemTimer` may stop in the middle of a bucket. `get_delay`
         takes the time as an argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from timingwheel.task import UNSCHEDULED, TaskCounter, TimerTask

NOT_QUEUED: Final = -(1 << 80)
"""The expiration of a bucket that is in no delay queue. Kafka's -1 is a real time on a clock that starts below 0."""


class TimerTaskList:
    __slots__ = ("counter", "expiration_ms", "root", "tick_ms")

    def __init__(self, counter: TaskCounter, tick_ms: int = 1) -> None:
        self.counter = counter
        self.tick_ms = tick_ms
        self.expiration_ms = NOT_QUEUED
        root = TimerTask(0)
        root._next = root._prev = root
        self.root = root

    @property
    def is_queued(self) -> bool:
        return self.expiration_ms != NOT_QUEUED

    @property
    def is_empty(self) -> bool:
        return self.root._next is self.root

    def __iter__(self) -> Iterator[TimerTask]:
        """Yield the tasks, first to last. The task just yielded may be removed."""
        task = self.root._next
        while task is not self.root:
            following = task._next
            yield task
            task = following

    def add(self, task: TimerTask) -> None:
        """Append the task, after removing it from its present list."""
        if task._counter is not None:
            task._unlink()
        counter = self.counter
        counter.value += 1
        task._counter = counter
        root = self.root
        last = root._prev
        task._prev = last
        task._next = root
        last._next = root._prev = task

    def add_first(self, task: TimerTask) -> None:
        """Put the task before all others, after removing it from its present list."""
        if task._counter is not None:
            task._unlink()
        counter = self.counter
        counter.value += 1
        task._counter = counter
        root = self.root
        first = root._next
        task._next = first
        task._prev = root
        first._prev = root._next = task

    def pop_first(self) -> TimerTask:
        """Remove and return the first task. The list must not be empty."""
        task = self.root._next
        task._unlink()
        return task

    def splice_last(self, other: TimerTaskList) -> None:
        """Append all tasks of another list of the same timer, in constant time. The other list is empty afterwards."""
        if other.is_empty:
            return
        first, last = other.root._next, other.root._prev
        other.root._next = other.root._prev = other.root
        end = self.root._prev
        end._next = first
        first._prev = end
        last._next = self.root
        self.root._prev = last

    def clear(self) -> None:
        """Cancel every task without calling its `cancel`, since a subclass may have overridden that."""
        for task in self:
            task._unlink()
            task._deadline_ms = UNSCHEDULED

    def set_expiration(self, expiration_ms: int) -> bool:
        """Set the time at which the bucket is due. Return True if it changed: then offer the bucket to the delay
        queue."""
        if self.expiration_ms == expiration_ms:
            return False
        self.expiration_ms = expiration_ms
        return True

    def reset_expiration(self) -> None:
        """Record that the bucket has left the delay queue."""
        self.expiration_ms = NOT_QUEUED

    def get_delay(self, now_ms: int) -> int:
        """Return the milliseconds until the bucket is due, at least 0."""
        return max(self.expiration_ms - now_ms, 0)

    def check_invariants(self) -> int:
        """Raise AssertionError if the ring is broken. Return the number of tasks."""
        size = 0
        before = self.root
        task = self.root._next
        assert self.root._counter is None, "the sentinel is counted"
        while task is not self.root:
            assert task._prev is before, "a link leads one way only"
            assert task._counter is self.counter, "a task of another timer"
            before, task = task, task._next
            size += 1
        assert self.root._prev is before, "the ring is not closed"
        return size
