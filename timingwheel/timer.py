"""A timer for one thread. The caller passes the time.

Theory   `add` files a task in the wheel, or, if it is due already, in the queue of due tasks. It never runs anything.
         `advance_clock(now)` works in two steps:

           flush  take the buckets that are due, soonest first. The wheel's clock goes to the start of the bucket,
                  never to `now`; its tasks go to finer wheels or to the queue of due tasks.
           run    call the due tasks by deadline; equal deadlines in the order of adding, or as `pick` chooses.

         A callback may add, cancel and reschedule anything, itself included. A task cancelled or moved before its turn
         does not run. A task added by a callback waits for the next advance even if it is due. A task that re-adds
         itself with delay 0 therefore runs once per advance and cannot hold up the caller.

         Example, tick 1, size 3, started at 0: add a task with delay 7. It is filed in [6..8] of level 2 and
         `next_deadline_ms()` is 6. `advance_clock(6)` moves it to [7] of level 1 and returns 0; `next_deadline_ms()` is
         7; `advance_clock(7)` runs it and returns 1. A direct `advance_clock(1000)` also runs it and returns 1; the
         wheel's clock is then at 7.
Limit    `advance_clock(now, limit=n)` runs at most n tasks, and moves at most max(n, MIN_MOVES) to finer wheels. The
         rest stays queued, in its order, and `next_deadline_ms()` stays at or before now. It may return 0 with work
         left, if more than MIN_MOVES tasks have to be moved before the first is known. Go by `next_deadline_ms()`, not
         by the return value.
Errors   An exception in a callback leaves `advance_clock` at once. The task that raised is done (unless it re-added
         itself first); the others stay queued for the next advance.
Units    Milliseconds on the caller's monotonic clock; with tick_ms > 1 tasks may run up to tick_ms - 1 early.
Source   org.apache.kafka.server.util.timer.SystemTimer, Kafka 4.0.
Differs  No clock, no executor, no lock, no waiting: due tasks run in the caller of `advance_clock`, in the order of
         their deadlines. `next_deadline_ms`, `limit`, `pick` and `pop_due` are new.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from timingwheel.delay_queue import DelayQueue
from timingwheel.due_queue import DueQueue
from timingwheel.snapshot import TimerSnapshot, take_snapshot
from timingwheel.task import TaskCounter, TimerTask
from timingwheel.wheel import TimingWheel

MIN_MOVES: Final = 1024
"""The number of tasks that an advance with a smaller limit may still move to finer wheels: some 0.5 ms of work."""


class SystemTimer:
    """A timer driven by `advance_clock`. An optional `pick(n)` chooses, from 0, the next of n tasks with the same
    deadline. It serves tests of programs that must not rely on an order."""

    __slots__ = ("_closed", "_counter", "_due", "_late", "_queue", "_running", "_wheel", "pick")

    def __init__(self, start_ms: int, tick_ms: int = 1, wheel_size: int = 20) -> None:
        self._counter = TaskCounter()
        self._queue = DelayQueue()
        self._wheel = TimingWheel(tick_ms, wheel_size, start_ms, self._counter, self._queue)
        self._due = DueQueue(self._counter)
        # While an advance runs tasks, _running is the queue that was due when it began. _due is then _late, which
        # collects the tasks added meanwhile. At other times _late is empty.
        self._running: DueQueue | None = None
        self._late = DueQueue(self._counter)
        self._closed = False
        self.pick: Callable[[int], int] | None = None

    def add(self, task: TimerTask, now_ms: int) -> None:
        """Schedule the task for now_ms + task.delay_ms. A pending task is moved there."""
        if self._closed:
            raise RuntimeError("the timer is closed")
        task._deadline_ms = now_ms + task.delay_ms
        if not self._wheel.add(task):
            self._due.add(task)

    def advance_clock(self, now_ms: int, limit: int | None = None) -> int:
        """Run at most `limit` tasks due at now_ms. Return the number run. See above for order, limit and errors."""
        if self._running is not None:
            raise RuntimeError("advance_clock() called from a task")
        if limit is not None and limit < 0:
            raise ValueError(f"limit must not be negative: {limit}")
        horizon_ms = self._flush(now_ms, None if limit is None else max(limit, MIN_MOVES))
        if self._due.peek_ms() is None:
            return 0
        running = self._running = self._due
        self._due = self._late
        count = 0
        try:
            while count != limit:
                pick = self.pick
                task = running.pop_before(horizon_ms) if pick is None else running.pop_any_before(horizon_ms, pick)
                if task is None:
                    break
                count += 1
                task.run()
        finally:
            running.add_all_later(self._late)
            self._due = running
            self._running = None
        return count

    def pop_due(self, now_ms: int, limit: int | None = None) -> TimerTask | None:
        """Remove and return the next due task without running it, for a caller that must not hold the timer meanwhile.

        `limit` is the number of tasks it may move to finer wheels. With a limit it may return None too early; see
        Limit.
        """
        if self._running is not None:
            raise RuntimeError("pop_due() called from a task")
        return self._due.pop_before(self._flush(now_ms, limit))

    def _flush(self, now_ms: int, moves: int | None) -> int:
        """Empty the buckets that are due, moving at most `moves` tasks one by one.

        Return the time before which the queue of due tasks is complete. Tasks up to there run in the right order.
        """
        wheel, due = self._wheel, self._due
        while (bucket := self._queue.peek()) is not None and bucket.expiration_ms <= now_ms:
            wheel.advance_clock(bucket.expiration_ms)
            if bucket.tick_ms == 1:
                due.add_bucket(bucket)
            else:
                # Last to first, each to the front: this keeps the order of adding (see `wheel`).
                root = bucket.root
                while (task := root._prev) is not root:
                    if moves is not None:
                        if moves == 0:
                            return bucket.expiration_ms
                        moves -= 1
                    if not wheel.add(task, first=True):
                        due.add_first(task)
            self._queue.poll()
        # No task runs before its time, even if `now` went backwards since the task was found to be due.
        return now_ms + wheel.tick_ms

    def next_deadline_ms(self) -> int | None:
        """Return the time at which `advance_clock` next has work, even if only to move tasks; None if nothing is
        pending.

        It is never later than the earliest deadline. With due tasks left over, it is at or before `now`.
        """
        due_ms = self._due.peek_ms()
        if self._running is not None:
            rest_ms = self._running.peek_ms()
            if due_ms is None or (rest_ms is not None and rest_ms < due_ms):
                due_ms = rest_ms
        bucket = self._queue.peek()
        if due_ms is None:
            return None if bucket is None else bucket.expiration_ms
        # A due task runs from tick - 1 before its deadline on: see the horizon of _flush.
        due_ms -= self._wheel.tick_ms - 1
        return due_ms if bucket is None or due_ms < bucket.expiration_ms else bucket.expiration_ms

    @property
    def size(self) -> int:
        """The exact number of pending tasks. A task is no longer pending when its `run` is called."""
        return self._counter.value

    def snapshot(self) -> TimerSnapshot:
        """Return the contents of every level and bucket, for display. Takes time in proportion to the pending tasks."""
        queues = [self._due] if self._running is None else [self._running, self._due]
        return take_snapshot(self._wheel, queues, self.size, self.next_deadline_ms())

    def clear(self) -> None:
        """Cancel every pending task. The clock stays."""
        for wheel in self._wheel.levels():
            for _, bucket in wheel.buckets():
                bucket.clear()
        self._queue.clear()
        self._due.clear()
        if self._running is not None:
            self._running.clear()

    def close(self) -> None:
        """Cancel every pending task and accept no more. Closing twice is harmless."""
        self._closed = True
        self.clear()

    def check_invariants(self) -> None:
        """Raise AssertionError if any structure is broken or if they disagree."""
        self._queue.check_invariants()
        assert self._running is not None or self._late.check_invariants() == 0, (
            "a task in a queue that is not looked at"
        )
        size = self._wheel.check_invariants() + self._due.check_invariants()
        if self._running is not None:
            size += self._running.check_invariants()
        assert size == self._counter.value, f"{size} tasks pending, {self._counter.value} counted"
