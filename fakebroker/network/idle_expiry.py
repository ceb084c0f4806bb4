"""Close connections on which nothing was read or written for connections.max.idle.ms.

Theory   Connections are kept in the order of their last activity. One task of the timer waits for the least recently
         used one. At its time it closes all idle connections and waits for the next one. A current request or a
         throttling is no activity: a muted connection is closed as well.
Units    milliseconds as clients measure them (`HasNow.client_ms`). Closed when idle for more than the setting: at the
         first millisecond after it.
Source   clients/.../network/Selector.java IdleExpiryManager, maybeCloseOldestConnection @ 4.0.
Differs  Kafka checks once in each poll of a network thread, so it closes one connection in a poll and up to 300 ms
         late. Progress of a write that takes several turns counts when the write is complete.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container

from fakebroker.core.clock import HasNow
from fakebroker.core.purgatory.deadlines import ClientDeadlines
from fakebroker.network.connection import Connection
from timingwheel import TimerTask


class IdleExpiryManager:
    """The admitted connections of all brokers. A negative `max_idle_ms` closes none, as in Kafka."""

    def __init__(
        self,
        max_idle_ms: int,
        deadlines: ClientDeadlines,
        clock: HasNow,
        close: Callable[[Connection, str], None],
        standing: Container[int] = (),
    ) -> None:
        """`standing` are the paused brokers; their connections are checked later."""
        self._standing = standing
        self._max_idle_ms = max_idle_ms
        self._deadlines = deadlines
        self._clock = clock
        self._close = close
        self._lru_connections: OrderedDict[Connection, None] = OrderedDict()
        self._check = _Check(self.close_expired)

    def add(self, connection: Connection) -> None:
        """Add a connection that was admitted now."""
        now_ms = self._clock.client_ms
        connection.last_active_ms = now_ms
        self._lru_connections[connection] = None
        if self._max_idle_ms >= 0 and not self._check.is_pending:
            self._wait_until(self._deadline_ms(connection), now_ms)

    def update(self, connection: Connection) -> None:
        """Note that the connection has read or written."""
        now_ms = self._clock.client_ms
        if now_ms > connection.last_active_ms:
            connection.last_active_ms = now_ms
            self._lru_connections.move_to_end(connection)

    def remove(self, connection: Connection) -> None:
        del self._lru_connections[connection]

    def close_expired(self) -> None:
        """Close the idle connections, for the timer."""
        now_ms = self._clock.client_ms
        while self._lru_connections:
            oldest = next(iter(self._lru_connections))
            if (deadline_ms := self._deadline_ms(oldest)) > now_ms:
                self._wait_until(deadline_ms, now_ms)
                return
            if oldest.broker_id in self._standing:
                self.update(oldest)
                continue
            self._close(oldest, f"idle for more than {self._max_idle_ms} ms (connections.max.idle.ms)")

    def _deadline_ms(self, connection: Connection) -> int:
        return connection.last_active_ms + self._max_idle_ms + 1

    def _wait_until(self, deadline_ms: int, now_ms: int) -> None:
        self._check.delay_ms = deadline_ms - now_ms
        self._deadlines.add(self._check)

    def check_invariants(self) -> None:
        times_ms = [connection.last_active_ms for connection in self._lru_connections]
        assert times_ms == sorted(times_ms), "connections are not in the order of their activity"
        assert not any(connection.is_closed for connection in self._lru_connections)
        assert self._check.is_pending or not times_ms or self._max_idle_ms < 0, "no check of idle connections"


class _Check(TimerTask):
    __slots__ = ("_close_expired",)

    def __init__(self, close_expired: Callable[[], None]) -> None:
        super().__init__(0)
        self._close_expired = close_expired

    def run(self) -> None:
        self._close_expired()
