"""A timer that wakes the core at its next deadline: one timer of the event loop, re-armed only for an earlier deadline.

Source   Takes the place of core/.../server/DelayedOperationPurgatory's reaper thread and its 200 ms polls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf

from fakebroker.server.clocks import Clock


class TimerDriver:
    """A timer that calls `wake` at the armed deadline; `wake` arms it for the next one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None], clock: Clock) -> None:
        self._loop = loop
        self._wake = wake
        self._clock = clock
        self._handle: asyncio.TimerHandle | None = None
        self._armed_ms = 0

    def arm(self, deadline_ms: int | None) -> None:
        """Wake at `deadline_ms` at the latest. An earlier wake-up stays armed: it finds nothing due and arms the timer
        anew. That is cheaper than re-arming for every request that completes before its timeout."""
        if deadline_ms is None or (self._handle is not None and self._armed_ms <= deadline_ms):
            return
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        delay_s = self._clock.seconds_until(deadline_ms)
        if delay_s != inf:
            self._armed_ms = deadline_ms
            self._handle = self._loop.call_at(self._loop.time() + delay_s, self._fire)

    def look(self, stamped_ms: int) -> None:
        """Wake if the armed deadline has passed. Code that keeps the loop busy calls this in between."""
        if self._handle is not None and stamped_ms > self._armed_ms:
            self._handle.cancel()
            self._handle = None
            self._wake()

    def _fire(self) -> None:
        self._handle = None
        # Some loops round their timers down. If the deadline is not reached yet, wait for the rest.
        if self._clock.seconds_until(self._armed_ms) > 0:
            self.arm(self._armed_ms)
        else:
            self._wake()

    def stop(self) -> None:
        """Disarm the timer: before the end, and before the clock is moved."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
