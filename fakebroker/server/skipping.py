"""When time may be skipped: somebody waits for it, and nobody else has anything to say.

Theory   Every door of the core ends in `arm`, so that is where the server tells that something happened. When nothing
         has for `QUIET_S` of real time, the loop is given the turns in which it would find bytes that wait to be read;
         if there are none, time is skipped up to the next deadline that does something outside. Deadlines that clients
         have to meet, as for a heartbeat, move along (`ClientDeadlines`). Then all begins anew:
         the clients have the same time to react to what they were sent.
         Nobody looks at an idle cluster: without a door there is no look.
Units    seconds of the event loop's clock, which is the real one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fakebroker.server.clocks import Clock
from fakebroker.server.timer_driver import TimerDriver

QUIET_S = 0.01
"""Long enough for a client that is at work to send what it has to send next, short enough that nobody waits for it."""

_TURNS_TO_READ = 3  # of the loop, until what had arrived before them has been read: uvloop looks after its timers


class SkippingTimerDriver(TimerDriver):
    """Also calls `skip` when all is quiet; it skips time if there is a reason to."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None], clock: Clock, skip: Callable[[], None]
    ) -> None:
        super().__init__(loop, wake, clock)
        self._skip = skip
        self._quiet_at_s = 0.0
        self._doors = 0
        self._look: asyncio.Handle | None = None

    def arm(self, deadline_ms: int | None) -> None:
        super().arm(deadline_ms)
        self._doors += 1
        self._quiet_at_s = self._loop.time() + QUIET_S
        if self._look is None:
            self._look_later()

    def _look_later(self) -> None:
        self._look = self._loop.call_at(self._quiet_at_s, self._look_now)

    def _look_now(self) -> None:
        if self._loop.time() < self._quiet_at_s:  # there was a door meanwhile
            self._look_later()
        else:
            self._read_on(_TURNS_TO_READ, self._doors)

    def _read_on(self, turns: int, doors: int) -> None:
        if self._doors != doors:
            self._look_later()
        elif turns:
            self._look = self._loop.call_soon(self._read_on, turns - 1, doors)
        else:
            self._look = None
            self._skip()

    def stop(self) -> None:
        super().stop()
        if self._look is not None:
            self._look.cancel()
            self._look = None
