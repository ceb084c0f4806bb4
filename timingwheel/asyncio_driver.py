"""A timer on an event loop, asyncio's or uvloop's, with a `call_later` that takes the place of the loop's.

Theory   The loop holds one timer of ours, armed for `next_deadline_ms()`; everything else is in the wheel. Adding a
         task touches the loop only if the task is due before the armed time; cancelling never does. Waking
         up once too often, for a task cancelled meanwhile, is cheaper than disarming each time.
         An advance runs at most `limit` tasks and then gives the loop a turn.
Rounding Nothing fires early: "now" is rounded up to the next ms when a deadline is made of it and down when due tasks
         are looked for. A timer therefore fires within 1 ms after its time, plus the loop's own lateness.
Errors   An exception in a callback goes to `loop.call_exception_handler` and stops nothing, as with the loop's own
         timers; KeyboardInterrupt and SystemExit leave the loop.
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
"""Armed for a time before any other: adding a task while tasks run need not arm anything."""


def _cancelled() -> None:
    """The callback of a handle that was cancelled."""


class TimerHandle(TimerTask):
    """What `call_later` gives back; has the methods of `asyncio.TimerHandle`."""

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
        """Never call the callback; forget it at once. True if it was pending."""
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
        """Seconds on the loop's clock."""
        return self._deadline_ms / 1000


class AsyncioTimer:
    """Not thread-safe, like the loop's own timers: use it in the loop's thread."""

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
        """The timer within, to look at; add through the driver, or nobody will wake up for the task."""
        return self._timer

    @property
    def size(self) -> int:
        return self._timer.size

    def now_ms(self) -> int:
        """The loop's clock, rounded down; by way of microseconds, since 1.001 * 1000 is a little less than 1001."""
        return round(self._loop.time() * 1_000_000) // 1000

    def add(self, task: TimerTask) -> None:
        """Run the task in task.delay_ms milliseconds; one that is pending is moved there."""
        self._add(task, -(-round(self._loop.time() * 1_000_000) // 1000))

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> TimerHandle:
        """As `loop.call_later`: call back in `delay` seconds."""
        return self._call_at(self._loop.time() + delay, callback, args, context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> TimerHandle:
        """As `loop.call_at`: call back when `loop.time()` is `when`."""
        return self._call_at(when, callback, args, context)

    def _call_at(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: contextvars.Context | None,
    ) -> TimerHandle:
        handle = TimerHandle(self._loop, callback, args, contextvars.copy_context() if context is None else context)
        # The handle's delay is 0, so what it is added at is its deadline. Rounded up, by way of microseconds.
        self._add(handle, -(-round(when * 1_000_000) // 1000))
        return handle

    def _add(self, task: TimerTask, now_ms: int) -> None:
        self._timer.add(task, now_ms)
        if self._armed_ms is None or task._deadline_ms < self._armed_ms:
            self._arm()

    def _arm(self) -> None:
        """Have the loop wake us for the next deadline, and for nothing else."""
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
        """Cancel every pending task and take no more."""
        self._timer.close()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
