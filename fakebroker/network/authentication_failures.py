"""Connections of clients that failed to authenticate: each is closed a little later, so that guessing takes long.

Theory   The response that reports the failure waits too, and goes out just before the close. Until then the connection
         is not read.
Source   clients/.../network/Selector.java DelayedAuthenticationFailureClose @ 4.4.
Differs  Closed at the millisecond at which the delay is over; Kafka checks each time its selector wakes.
Units    monotonic milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, final

from fakebroker.core.clock import HasNow
from fakebroker.network.connection import Connection
from timingwheel import SystemTimer, TimerTask

Closing: TypeAlias = Callable[[Connection, str, bytes | None], None]
"""Close a connection, given the reason and the last response."""


@final
class DelayedAuthenticationFailureClose(TimerTask):
    __slots__ = ("_close", "_connection", "_last", "_reason")

    def __init__(self, delay_ms: int, connection: Connection, reason: str, last: bytes | None, close: Closing) -> None:
        super().__init__(delay_ms)
        self._connection = connection
        self._reason = reason
        self._last = last
        self._close = close

    def run(self) -> None:
        self._connection.throttle = None
        self._close(self._connection, self._reason, self._last)


@final
class AuthenticationFailures:
    """The connections that are closed later, each as the `throttle` of its connection."""

    __slots__ = ("_clock", "_delay_ms", "_timer")

    def __init__(self, delay_ms: int, timer: SystemTimer, clock: HasNow) -> None:
        self._delay_ms = delay_ms
        self._timer = timer
        self._clock = clock

    def delay(self, connection: Connection, reason: str, last: bytes | None, close: Closing) -> None:
        """Call `close` after the delay, or at once if there is none."""
        if self._delay_ms == 0:
            close(connection, reason, last)
            return
        connection.throttle = DelayedAuthenticationFailureClose(self._delay_ms, connection, reason, last, close)
        self._timer.add(connection.throttle, self._clock.now.mono_ms)
