"""A task to run later, and its place in a list.

Theory   A task is a link of a ring (see `task_list`). A pending task is linked, so cancelling is unlinking. That takes
         constant time, whatever else is pending, and leaves nothing behind to be skipped later.
Units    delay_ms and deadline_ms are milliseconds on the caller's monotonic clock. A delay may be zero or negative (due
         at once) and as large as an int can be.
Source   org.apache.kafka.server.util.timer.TimerTask and TimerTaskEntry, Kafka 4.0.
Differs  Kafka keeps the task and its entry apart, because an entry may be superseded by another thread while it is
         being moved. On one thread that cannot happen. Folding the entry into the task saves an object and a look-up
         for each timer. "Superseded" becomes "moved". There is no lock and no retry loop.
"""

from __future__ import annotations

from typing import Final

from timingwheel.mypyc import mypyc_attr

UNSCHEDULED: Final = -(1 << 80)
"""Stands for "no deadline". An int, so that the field has one type; earlier than any real deadline."""


class TaskCounter:
    """The number of pending tasks of one timer, shared by all its levels and buckets."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


@mypyc_attr(allow_interpreted_subclasses=True)
class TimerTask:
    """A task of a timer. Subclass it and override `run`."""

    __slots__ = ("_counter", "_deadline_ms", "_next", "_prev", "delay_ms")

    # _next and _prev are valid only while _counter is set. They are not Optional: when unlinked they point at NIL, so
    # that the hot paths need no checks for None.
    _counter: TaskCounter | None
    _next: TimerTask
    _prev: TimerTask

    def __init__(self, delay_ms: int) -> None:
        self.delay_ms = delay_ms
        self._deadline_ms = UNSCHEDULED
        self._counter = None

    def run(self) -> None:
        """Do the work. The advance that reaches the deadline calls this once. It may add, cancel and reschedule any
        task."""
        raise NotImplementedError(f"{type(self).__name__} does not override run()")

    def cancel(self) -> bool:
        """Remove the task from its timer. Return True if it was pending, which includes due but not yet run."""
        self._deadline_ms = UNSCHEDULED
        counter = self._counter
        if counter is None:
            return False
        # The same steps as in _unlink, inlined: the call would be a third of the cost (`benchmarks wheel`).
        counter.value -= 1
        self._counter = None
        after = self._next
        before = self._prev
        before._next = after
        after._prev = before
        self._next = self._prev = NIL
        return True

    @property
    def deadline_ms(self) -> int | None:
        """The time at which it is due, or was due last; None before the first `add` and after `cancel`."""
        return None if self._deadline_ms == UNSCHEDULED else self._deadline_ms

    @property
    def is_pending(self) -> bool:
        """True if the task was added, and neither run nor cancelled since."""
        return self._counter is not None

    def _unlink(self) -> None:
        """Leave the list. Drop the links too: a task kept by the user would otherwise keep its old neighbours alive."""
        counter = self._counter
        if counter is None:
            raise RuntimeError("the task is in no list")
        counter.value -= 1
        self._counter = None
        after = self._next
        before = self._prev
        before._next = after
        after._prev = before
        self._next = self._prev = NIL


NIL: Final = TimerTask(0)
"""The target of the links of an unlinked task. Never in a list."""
