"""Connections that are muted by a quota, and for how long.

Units    monotonic milliseconds.
Source   core/.../server/ThrottledChannel.scala @ 4.0.
"""

from __future__ import annotations

from typing import final

from fakebroker.network.connection import Connection, Event
from fakebroker.network.ready_queue import ReadyQueue
from timingwheel import SystemTimer, TimerTask


class ThrottledChannel(TimerTask):
    """A timer that ends the throttling of a connection and queues it."""

    __slots__ = ("_connection", "_ready")

    def __init__(self, throttle_time_ms: int, connection: Connection, ready: ReadyQueue) -> None:
        super().__init__(throttle_time_ms)
        self._connection = connection
        self._ready = ready

    def run(self) -> None:
        self._connection.throttle = None
        self._connection.on(Event.THROTTLE_ENDED)
        self._ready.add(self._connection)


@final
class Throttling:
    """The throttled connections, on the cluster's timer."""

    __slots__ = ("_ready", "_timer")

    def __init__(self, timer: SystemTimer, ready: ReadyQueue) -> None:
        self._timer = timer
        self._ready = ready

    def start(self, connection: Connection, throttle_time_ms: int, now_ms: int) -> None:
        connection.on(Event.THROTTLE_STARTED)
        connection.throttle = ThrottledChannel(throttle_time_ms, connection, self._ready)
        self._timer.add(connection.throttle, now_ms)

    def stop(self, connection: Connection) -> None:
        """Cancel the throttling of a closed connection."""
        if connection.throttle is not None:
            connection.throttle.cancel()
            connection.throttle = None
