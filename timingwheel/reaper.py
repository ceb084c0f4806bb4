"""A timer for programs without an event loop: a daemon thread runs the tasks, any thread adds and cancels.

Theory   One lock guards the timer. The thread takes a due task under the lock and runs it without the lock, then sleeps
         on a condition until the next deadline. Adding a task wakes it only if the task is due before the time it
         sleeps until. Tasks run one at a time, in order, and may add and cancel tasks.
Rounding As in `asyncio_driver`: nothing fires early, and at most 1 ms late on an idle machine and a free thread.
Errors   An exception in a task goes to `threading.excepthook` and stops nothing.
Units    delay_ms is milliseconds; `call_later` takes seconds, as asyncio's does.
Source   org.apache.kafka.server.util.timer.SystemTimerReaper, and the executor of SystemTimer, Kafka 4.0.
Differs  No polling every 200 ms. The reaper's own thread runs the tasks, instead of handing them to a second one.
         Cancel through `cancel` here, or on the handle of `call_later`: `TimerTask.cancel` alone takes no lock.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TypeVarTuple, Unpack

from timingwheel.task import TimerTask
from timingwheel.timer import MIN_MOVES, SystemTimer

Ts = TypeVarTuple("Ts")


def monotonic_ns() -> int:
    return time.monotonic_ns()


class ReaperHandle(TimerTask):
    """The handle that `call_later` returns."""

    __slots__ = ("_args", "_callback", "_reaper")

    def __init__(
        self, delay_ms: int, reaper: SystemTimerReaper, callback: Callable[..., object], args: tuple[object, ...]
    ) -> None:
        super().__init__(delay_ms)
        self._reaper = reaper
        self._callback = callback
        self._args = args

    def run(self) -> None:
        self._callback(*self._args)

    def cancel(self) -> bool:
        """Never call the callback, unless it has begun. Any thread may call this. Return True if it was pending."""
        return self._reaper.cancel(self)


class SystemTimerReaper:
    """A thread-safe timer. Use it with `with`, or `close` it."""

    def __init__(self, name: str, timer: SystemTimer | None = None, clock_ns: Callable[[], int] = monotonic_ns) -> None:
        if not name:
            raise ValueError("the reaper needs a name: it is that of its thread")
        self._clock_ns = clock_ns
        self._timer = SystemTimer(self.now_ms()) if timer is None else timer
        self._changed = threading.Condition(threading.Lock())
        self._sleeps_until_ms: int | None = None
        self._closing = False
        self._closed = False
        self._thread = threading.Thread(target=self._reap, name=name, daemon=True)
        self._thread.start()

    def now_ms(self) -> int:
        return self._clock_ns() // 1_000_000

    @property
    def size(self) -> int:
        with self._changed:
            return self._timer.size

    def add(self, task: TimerTask) -> None:
        """Run the task in task.delay_ms milliseconds. A pending task is moved there."""
        with self._changed:
            # Rounded up: see Rounding.
            self._timer.add(task, -(-self._clock_ns() // 1_000_000))
            if self._sleeps_until_ms is None or task._deadline_ms < self._sleeps_until_ms:
                self._changed.notify()

    def call_later(self, delay: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts) -> ReaperHandle:
        """Call back in `delay` seconds, in the reaper's thread."""
        handle = ReaperHandle(-(-round(delay * 1_000_000) // 1000), self, callback, args)
        self.add(handle)
        return handle

    def cancel(self, task: TimerTask) -> bool:
        """Remove the task. Return True if it was pending; then it will not run."""
        with self._changed:
            # Not task.cancel(): the `cancel` of a ReaperHandle calls this method.
            return TimerTask.cancel(task)

    def _reap(self) -> None:
        while (task := self._next_due()) is not None:
            try:
                task.run()
            except BaseException:
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), self._thread)))
            # Otherwise the task, and all it refers to, would live on while the thread sleeps.
            del task

    def _next_due(self) -> TimerTask | None:
        """Wait for the next due task and return it, or None when closing."""
        with self._changed:
            while not self._closing:
                now_ns = self._clock_ns()
                task = self._timer.pop_due(now_ns // 1_000_000, limit=MIN_MOVES)
                if task is not None:
                    return task
                self._sleeps_until_ms = self._timer.next_deadline_ms()
                if self._sleeps_until_ms is None:
                    self._changed.wait()
                else:
                    seconds = (self._sleeps_until_ms * 1_000_000 - now_ns) / 1_000_000_000
                    self._changed.wait(min(max(seconds, 0), threading.TIMEOUT_MAX))
        return None

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        """Let a running task end, drop the pending ones, accept no more. A task may call this. Closing twice is
        harmless."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        with self._changed:
            if not self._closed:
                self._closed = True
                self._timer.close()

    def __enter__(self) -> SystemTimerReaper:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
