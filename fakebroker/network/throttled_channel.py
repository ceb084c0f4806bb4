"""How long a connection is muted by a quota.

Units    monotonic milliseconds.
Source   core/.../server/ThrottledChannel.scala @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.network.connection import Connection
from timingwheel import TimerTask


class ThrottledChannel(TimerTask):
    """Due when the throttling of a connection is over."""

    __slots__ = ("_connection", "_ended")

    def __init__(self, throttle_time_ms: int, connection: Connection, ended: Callable[[Connection], None]) -> None:
        super().__init__(throttle_time_ms)
        self._connection = connection
        self._ended = ended

    def run(self) -> None:
        self._ended(self._connection)
