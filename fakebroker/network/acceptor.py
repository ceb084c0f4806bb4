"""The acceptor: a new connection is admitted, waits to be admitted, or is refused.

Theory   Limits and rates are in connection_quotas.py, the line in open_connections.py. A connection above the rate of
         its address is not read, and closed when its throttle time is over.
Source   core/.../network/SocketServer.scala Acceptor @ 4.0: accept, closeThrottledConnections.
Differs  Closed at the millisecond at which the throttle time is over; Kafka checks each time it wakes, at most 500 ms
         later.
Units    monotonic milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from fakebroker.core.clock import HasNow
from fakebroker.network.connection import Connection
from fakebroker.network.open_connections import OpenConnections
from timingwheel import SystemTimer, TimerTask


@final
class _Wait(TimerTask):
    """A timer until the first connection in line of a broker may be admitted."""

    __slots__ = ("_acceptor", "_broker_id")

    def __init__(self, delay_ms: int, acceptor: Acceptor, broker_id: int) -> None:
        super().__init__(delay_ms)
        self._acceptor = acceptor
        self._broker_id = broker_id

    def run(self) -> None:
        self._acceptor.on_wait_over(self._broker_id)


@final
class _DelayedCloseSocket(TimerTask):
    __slots__ = ("_close", "_connection", "_reason")

    def __init__(
        self, delay_ms: int, connection: Connection, reason: str, close: Callable[[Connection, str], None]
    ) -> None:
        super().__init__(delay_ms)
        self._connection = connection
        self._reason = reason
        self._close = close

    def run(self) -> None:
        self._connection.throttle = None
        self._close(self._connection, self._reason)


@final
class Acceptor:
    """The acceptor of all brokers. It calls `admit` with an admitted connection, `refuse` with one that is closed at
    once, and `close` with one that is closed later; the last two also with the reason."""

    __slots__ = ("_admit", "_clock", "_close", "_connections", "_refuse", "_timer", "_waits")

    def __init__(
        self,
        connections: OpenConnections,
        timer: SystemTimer,
        clock: HasNow,
        admit: Callable[[Connection], None],
        refuse: Callable[[Connection, str], None],
        close: Callable[[Connection, str], None],
    ) -> None:
        self._connections = connections
        self._timer = timer
        self._clock = clock
        self._admit = admit
        self._refuse = refuse
        self._close = close
        self._waits: dict[int, _Wait] = {}

    def let_in(self, broker_id: int) -> None:
        """Admit the waiting connections that may be admitted by now."""
        if broker_id in self._connections.standing:
            return
        connections = self._connections
        now_ms = self._clock.now.mono_ms
        while (connection := connections.next_to_come_in(broker_id, now_ms)) is not None:
            self._accept(connection, now_ms)
        until_ms = connections.waits_until_ms.get(broker_id, now_ms)
        if until_ms > now_ms and broker_id not in self._waits:
            wait = self._waits[broker_id] = _Wait(until_ms - now_ms, self, broker_id)
            self._timer.add(wait, now_ms)

    def on_wait_over(self, broker_id: int) -> None:
        """Handle the end of a wait, for the timer."""
        self._waits.pop(broker_id, None)
        self.let_in(broker_id)

    def restart(self, broker_id: int) -> None:
        """Reset a broker that has stopped, after all its connections are closed."""
        if (wait := self._waits.pop(broker_id, None)) is not None:
            wait.cancel()
        self._connections.restart(broker_id)

    def _accept(self, connection: Connection, now_ms: int) -> None:
        quotas = self._connections.quotas[connection.broker_id]
        whose = connection.address or "an unknown address"
        throttle_time_ms = quotas.record_ip_connection_maybe_throttle(connection.address, now_ms)
        if throttle_time_ms > 0:
            reason = f"{whose} connects too often (connection_creation_rate)"
            connection.throttle = _DelayedCloseSocket(throttle_time_ms, connection, reason, self._close)
            self._timer.add(connection.throttle, now_ms)
            return
        maximum = quotas.inc(connection.address)
        if maximum is None:
            self._admit(connection)
            return
        self._connections.refuse(connection)
        limit = f"the configured maximum of {maximum} connections (max.connections.per.ip)"
        self._refuse(connection, f"{whose} already has {limit}")
