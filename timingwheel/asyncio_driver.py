"""A timer on an event loop (asyncio or uvloop), with a `call_later` that replaces the loop's.

Theory   The loop holds one timer of ours, armed for `next_deadline_ms()`; everything else is in the wheel. Adding a
         task touches the loop only if the task is due before the armed time; cancelling never does. One wake-up too
         many, for a task cancelled meanwhile, is cheaper than disarming each time. An advance runs at most `limit`
         tasks and then returns to the loop.
Rounding Nothing fires early. "Now" is rounded up to the next ms to compute a deadline, and down to find due tasks. A
         timer therefore fires within 1 ms after its time, plus the loop's own lateness.
Errors   An exception in a callback goes to `loop.call_exception_handler` and stops nothing, as with the loop's own
         timers. KeyboardInterrupt and SystemExit leave the loop.
Units    `call_later` and `call_at` take seconds, because asyncio's do; `TimerTask.delay_ms` is milliseconds.
Source   The job is that of org.apache.kafka.server.util.timer.SystemTimerReaper, Kafka 4.0.
Differs  No thread and no polling every 200 ms.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import Final, TypeVarTuple, Unpack

from timingwheel.task import UNSCHEDULED, TimerTask
from timingwheel.timer import SystemTimer

Ts = TypeVarTuple("Ts")

DEFAULT_LIMIT: Final = 1_000
"""Tasks run per turn of the loop: about 1 ms of work besides what the callbacks do."""

AWAKE: Final = UNSCHEDULED
"""The armed time while tasks run. It is before any deadline, so adding a task need not arm anything."""


def _cancelled() -> None:
    """The callback of a handle that was cancelled."""


class TimerHandle(TimerTask):
    """The handle that `call_later` returns, with the methods of `asyncio.TimerHandle`."""

    __slots__ = ("_args", "_callback", "_context", "_loop")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: contextvars.Context,
    ) -> None:
        super().__init__(0)
        self._loop = loop
        self._callback = callback
        self._args = args
        self._context = context

    def run(self) -> None:
        try:
            self._context.run(self._callback, *self._args)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self._loop.call_exception_handler(
                {"message": f"Exception in timer callback {self._callback!r}", "exception": error}
            )

    def cancel(self) -> bool:
        """Never call the callback, and drop it at once. Return True if it was pending."""
        self._callback = _cancelled
        self._args = ()
        if self._counter is None:
            return False
        # Unlike a plain task's, the deadline stays: asyncio's handle still knows its time afterwards.
        self._unlink()
        return True

    def cancelled(self) -> bool:
        return self._callback is _cancelled

    def when(self) -> float:
        """Return the due time in seconds on the loop's clock."""
        return self._deadline_ms / 1000


class AsyncioTimer:
    """A timer of an event loop. Not thread-safe, like the loop's own timers: use it in the loop's thread."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop | None = None,
        *,
        tick_ms: int = 1,
        wheel_size: int = 20,
        limit: int | None = DEFAULT_LIMIT,
    ) -> None:
        if limit is not None and limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit}")
        self._loop = asyncio.get_running_loop() if loop is None else loop
        self._limit = limit
        self._timer = SystemTimer(self.now_ms(), tick_ms, wheel_size)
        self._handle: asyncio.Handle | None = None
        self._armed_ms: int | None = None

    @property
    def timer(self) -> SystemTimer:
        """Return the inner timer, for inspection. Add tasks through this class: for other tasks the loop does not wake
        up.
        """
        return self._timer

    @property
    def size(self) -> int:
        return self._timer.size

    def now_ms(self) -> int:
        """Return the loop's clock, rounded down. It goes by way of microseconds: 1.001 * 1000 is less than 1001."""
        return round(self._loop.time() * 1_000_000) // 1000

    def add(self, task: TimerTask) -> None:
        """Run the task in task.delay_ms milliseconds. A pending task is moved there."""
        self._add(task, -(-round(self._loop.time() * 1_000_000) // 1000))

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> TimerHandle:
        """Call back in `delay` seconds, as `loop.call_later` does."""
        return self._call_at(self._loop.time() + delay, callback, args, context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> TimerHandle:
        """Call back when `loop.time()` is `when`, as `loop.call_at` does."""
        return self._call_at(when, callback, args, context)

    def _call_at(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: contextvars.Context | None,
    ) -> TimerHandle:
        handle = TimerHandle(self._loop, callback, args, contextvars.copy_context() if context is None else context)
        # The handle's delay is 0, so the time passed here is its deadline. It is rounded up, by way of microseconds.
        self._add(handle, -(-round(when * 1_000_000) // 1000))
        return handle

    def _add(self, task: TimerTask, now_ms: int) -> None:
        self._timer.add(task, now_ms)
        if self._armed_ms is None or task._deadline_ms < self._armed_ms:
            self._arm()

    def _arm(self) -> None:
        """Make the loop call `_wake` at the next deadline, and at no other time."""
        if self._handle is not None:
            self._handle.cancel()
        self._armed_ms = self._timer.next_deadline_ms()
        if self._armed_ms is None:
            self._handle = None
        elif self._armed_ms <= self.now_ms():
            self._handle = self._loop.call_soon(self._wake)
        else:
            self._handle = self._loop.call_at(self._armed_ms / 1000, self._wake)

    def _wake(self) -> None:
        self._handle = None
        self._armed_ms = AWAKE
        try:
            self._timer.advance_clock(self.now_ms(), self._limit)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self._loop.call_exception_handler({"message": "Exception in a timer task", "exception": error})
        finally:
            self._arm()

    def close(self) -> None:
        """Cancel every pending task and accept no more."""
        self._timer.close()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
