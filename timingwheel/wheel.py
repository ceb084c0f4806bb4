"""Hierarchical timing wheel: constant-time add and cancel, whatever the number of pending tasks.

Theory   A wheel has n buckets of u ms and so covers n*u ms from its clock on. Later deadlines go to the overflow wheel,
         which is made when first needed. Its tick is the whole interval of this wheel. With u = 1, n = 3, started at c
         = 0 the buckets cover

             level   tick   bucket        bucket        bucket
               1       1    [0]           [1]           [2]
               2       3    [0..2]        [3..5]        [6..8]
               3       9    [0..8]        [9..17]       [18..26]

         A task due at 7 does not fit level 1 (0..2) and goes to [6..8] of level 2. When the clock reaches 6 it is added
         again: level 1 now covers [6] [7] [8], it goes to [7], and runs at 7. The clock of a level moves in whole
         ticks. At 1, level 1 becomes [3] [1] [2] (the bucket of 0 now serves 3) and the others stay; at 3, level 2
         gains [9..11]; at 9, level 3 gains [27..35]. In every overflow level the bucket that covers the present is not
         used, since the level below covers it. That wastes one bucket per level and keeps the arithmetic simple. Adding
         costs O(m) for m levels; removing O(1). m grows with the logarithm of the delay.

         Order. While the clock is at c, level k takes deadlines below floor(c) + n*u. A later add of the same deadline
         sees the same clock or a later one, hence the same level or a finer one. Of tasks with equal deadlines, those
         in coarser levels were therefore added earlier. To keep the order of adding, tasks that move down go before the
         tasks that are there.
Units    Milliseconds on the caller's monotonic clock. With a tick of T ms at level 1 a task may be due up to T-1 ms
         early, at the start of its bucket. It is never late. T = 1 is exact.
Source   org.apache.kafka.server.util.timer.TimingWheel, Kafka 4.0.
Differs  No volatile and no double-checked locking. `add` walks the levels in a loop. The end of a level's range is
         stored instead of being added up for each task. A bucket is made for its first task: a cluster of a test has
         26 wheels, and uses few of their buckets. A wheel of one bucket is refused: its overflow wheel would have the
         same tick for ever, and Kafka's recurses until the stack ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from timingwheel.delay_queue import DelayQueue
from timingwheel.task import TaskCounter, TimerTask
from timingwheel.task_list import NOT_QUEUED, TimerTaskList


class TimingWheel:
    """One level of the wheel, with those above it in `overflow_wheel`. It holds tasks; `SystemTimer` runs them."""

    __slots__ = (
        "_buckets",
        "_due_before_ms",
        "_end_ms",
        "counter",
        "current_time_ms",
        "interval_ms",
        "overflow_wheel",
        "queue",
        "tick_ms",
        "wheel_size",
    )

    def __init__(self, tick_ms: int, wheel_size: int, start_ms: int, counter: TaskCounter, queue: DelayQueue) -> None:
        if tick_ms < 1:
            raise ValueError(f"tick_ms must be at least 1, not {tick_ms}")
        if wheel_size < 2:
            raise ValueError(f"wheel_size must be at least 2, not {wheel_size}")
        self.tick_ms = tick_ms
        self.wheel_size = wheel_size
        self.interval_ms = tick_ms * wheel_size
        self.counter = counter
        self.queue = queue
        self._buckets: list[TimerTaskList | None] = [None] * wheel_size
        self.overflow_wheel: TimingWheel | None = None
        self._set_clock(start_ms)

    def _set_clock(self, time_ms: int) -> None:
        self.current_time_ms = time_ms - time_ms % self.tick_ms
        self._due_before_ms = self.current_time_ms + self.tick_ms
        self._end_ms = self.current_time_ms + self.interval_ms

    def add(self, task: TimerTask, first: bool = False) -> bool:
        """File the task behind all others of its bucket. Return False, and do nothing, if it is already due or
        cancelled.

        With `first`, file it before all others: for tasks from a coarser level.
        """
        deadline_ms = task._deadline_ms
        if deadline_ms < self._due_before_ms:
            return False
        wheel = self
        while deadline_ms >= wheel._end_ms:
            wheel = wheel.overflow_wheel or wheel._add_overflow_wheel()
        tick_ms = wheel.tick_ms
        virtual_id = deadline_ms // tick_ms
        index = virtual_id % wheel.wheel_size
        bucket = wheel._buckets[index]
        if bucket is None:
            bucket = wheel._buckets[index] = TimerTaskList(wheel.counter, tick_ms)
        if bucket.expiration_ms != virtual_id * tick_ms and bucket.set_expiration(virtual_id * tick_ms):
            wheel.queue.offer(bucket)
        if first:
            bucket.add_first(task)
        else:
            bucket.add(task)
        return True

    def _add_overflow_wheel(self) -> TimingWheel:
        self.overflow_wheel = TimingWheel(
            self.interval_ms, self.wheel_size, self.current_time_ms, self.counter, self.queue
        )
        return self.overflow_wheel

    def advance_clock(self, time_ms: int) -> None:
        """Move the clock of this level and those above in whole ticks. The caller has emptied the buckets passed."""
        wheel: TimingWheel | None = self
        while wheel is not None and time_ms >= wheel._due_before_ms:
            wheel._set_clock(time_ms)
            wheel = wheel.overflow_wheel

    def levels(self) -> Iterator[TimingWheel]:
        """Yield this wheel and those above it, finest first."""
        wheel: TimingWheel | None = self
        while wheel is not None:
            yield wheel
            wheel = wheel.overflow_wheel

    def buckets(self) -> Iterator[tuple[int, TimerTaskList]]:
        """Yield the buckets of this level that have ever held a task, each with its index."""
        for index, bucket in enumerate(self._buckets):
            if bucket is not None:
                yield index, bucket

    def check_invariants(self) -> int:
        """Raise AssertionError if a task or bucket is misplaced. Return the number of tasks."""
        size = queued = 0
        for wheel in self.levels():
            assert wheel.current_time_ms % wheel.tick_ms == 0
            assert wheel._due_before_ms == wheel.current_time_ms + wheel.tick_ms
            assert wheel._end_ms == wheel.current_time_ms + wheel.interval_ms
            for index, bucket in wheel.buckets():
                root = bucket.root
                if bucket.expiration_ms == NOT_QUEUED:  # most buckets: simulations check after each step
                    assert root._next is root._prev is root, "tasks in a bucket that will never be looked at"
                    assert root._counter is None, "the sentinel is counted"
                    continue
                queued += 1
                size += bucket.check_invariants()
                start_ms = bucket.expiration_ms
                assert start_ms % wheel.tick_ms == 0
                assert start_ms // wheel.tick_ms % wheel.wheel_size == index
                assert start_ms < wheel._end_ms, "a bucket beyond the range of its wheel"
                for task in bucket:
                    assert start_ms <= task._deadline_ms < start_ms + wheel.tick_ms, "a task in the wrong bucket"
            if wheel.overflow_wheel is not None:
                above = wheel.overflow_wheel
                assert above.tick_ms == wheel.interval_ms
                assert above.current_time_ms <= wheel.current_time_ms < above._due_before_ms
        assert queued == len(self.queue), "a bucket thinks it is in the delay queue, or is and does not know it"
        return size
