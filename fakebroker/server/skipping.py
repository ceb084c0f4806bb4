"""The skipping of time: when a client waits only for time, and no other client is active.

Theory   Every door of the core ends in `arm`, so the server notices there that something happened. After `QUIET_S` of
         real time without a door, the loop runs the turns in which it would find unread bytes. If there are none, time
         is skipped to the next deadline that has an effect outside. Deadlines that clients have to meet, as for a
         heartbeat, move along (`ClientDeadlines`), and so do the ends of long polls. Then the quiet time begins anew,
         so that clients have time to react to the responses.
         An idle consumer is quiet: a Fetch that finds nothing and waits, and the empty response at the end, do not
         count (`IdlePolls`). Some consumers poll every few milliseconds.
         An idle cluster costs nothing: without a door there is no check.
Units    seconds of the event loop's clock, which is the real one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fakebroker.core.journal.events import (
    Answer,
    ConnectionClosed,
    ConnectionOpened,
    Event,
    Expired,
    Parked,
    Request,
    Throttled,
)
from fakebroker.core.probe import Probe
from fakebroker.core.replication.delayed_fetch import DelayedFetch
from fakebroker.server.clocks import Clock
from fakebroker.server.timer_driver import TimerDriver

QUIET_S = 0.01
"""Long enough for an active client to send its next request, short enough to go unnoticed."""

_TURNS_TO_READ = 3  # turns of the loop until earlier bytes have been read: uvloop reads after its timers


class IdlePolls:
    """A listener that tells whether all that happened since the last `take` was consumers that poll and get nothing.

    A response that ends a wait for more than one byte may have records in it.
    """

    def __init__(self, probe: Probe) -> None:
        probe.listen(self._hear, ConnectionOpened, ConnectionClosed, Throttled, Request, Parked, Expired, Answer)
        self._polls = 0  # Fetch requests that were parked or expired
        self._ends = 0  # requests that expired; their empty response comes next
        self._has_more = False

    def take(self) -> bool:
        are_alone = self._polls > 0 and not self._has_more
        self._polls = self._ends = 0
        self._has_more = False
        return are_alone

    def _hear(self, event: Event, subject: object) -> None:
        match event:
            case Request(api="Fetch"):
                pass
            case Parked() if isinstance(subject, DelayedFetch):
                self._polls += 1
            case Expired() if isinstance(subject, DelayedFetch) and subject.min_bytes <= 1:
                self._polls += 1
                self._ends += 1
            case Answer() if self._ends:
                self._ends -= 1
            case Expired():
                pass
            case _:
                self._has_more = True


class SkippingTimerDriver(TimerDriver):
    """A timer driver that also calls `skip` when all is quiet; `skip` decides whether to skip time."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        wake: Callable[[], None],
        clock: Clock,
        skip: Callable[[], None],
        probe: Probe,
    ) -> None:
        super().__init__(loop, wake, clock)
        self._skip = skip
        self._idle_polls = IdlePolls(probe)
        self._quiet_at_s = 0.0
        self._doors = 0
        self._look: asyncio.Handle | None = None

    def arm(self, deadline_ms: int | None) -> None:
        super().arm(deadline_ms)
        if not self._idle_polls.take():
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
