"""The expiry of idle connections: the least recently used one is closed after `connections.max.idle.ms`.

Theory   Connections are in the order of their last activity: an attempt, its success, bytes read or written. Waiting
         for a response is no activity. A poll closes at most one idle connection; the next one has to wait for the next
         poll. So a connection is closed only when its client polls. Most polls compare just one number: the oldest
         connection can only be younger than at the last check.
Units    monotonic milliseconds. Idle for exactly the setting is not too long.
Source   clients/.../common/network/Selector.java IdleExpiryManager, the same in 2.0 and in 4.4.
Differs  Kafka counts nanoseconds, which overflow above 292 years.
"""

from __future__ import annotations


class IdleExpiryManager:
    """The idle times of connections. With a negative `max_idle_ms` no connection is ever idle."""

    def __init__(self, max_idle_ms: int, now_ms: int) -> None:
        self._max_idle_ms = max_idle_ms
        self._lru_connections: dict[int, int] = {}  # time of the last activity by node, the newest last
        self._next_check_ms = now_ms + max_idle_ms
        self._latest_ms = now_ms

    def update(self, node: int, now_ms: int) -> None:
        """Record activity of a node. A time before the last one comes from 2.0, which dates requests at the start of
        its iteration. Kafka's selector reads the clock instead, so the later time is kept."""
        if self._max_idle_ms >= 0:
            self._latest_ms = max(self._latest_ms, now_ms)
            self._lru_connections.pop(node, None)
            self._lru_connections[node] = self._latest_ms

    def remove(self, node: int) -> None:
        self._lru_connections.pop(node, None)

    def poll_expired(self, now_ms: int) -> int | None:
        """Return the node of which the connection must be closed now, and forget it; None if there is none."""
        if now_ms <= self._next_check_ms or self._max_idle_ms < 0:
            return None
        if not self._lru_connections:
            self._next_check_ms = now_ms + self._max_idle_ms
            return None
        node, active_ms = next(iter(self._lru_connections.items()))
        self._next_check_ms = active_ms + self._max_idle_ms
        if now_ms <= self._next_check_ms:
            return None
        del self._lru_connections[node]
        return node

    def next_ms(self) -> int | None:
        """Return when a poll would find an idle connection, if nothing happens on the network."""
        if not self._lru_connections:
            return None
        return next(iter(self._lru_connections.values())) + self._max_idle_ms + 1

    def check_invariants(self) -> None:
        times_ms = list(self._lru_connections.values())
        assert times_ms == sorted(times_ms), "connections are not in the order of their activity"
        assert self._max_idle_ms >= 0 or not times_ms
