"""Which connection was used least recently, and whether that is longer ago than `connections.max.idle.ms`.

Theory   Connections in the order of their last activity: begun, made, something read or written. A request that waits
         for its answer is none. A poll asks for one that is over its time, and closes it; the next one is for the next
         poll. Between polls nobody looks, so a connection is closed as late as its client polls. Most polls compare one
         number: the oldest connection can only be younger than when it was looked at last.
Units    monotonic milliseconds. Idle for exactly the setting is not too long.
Source   clients/.../common/network/Selector.java IdleExpiryManager, the same in 2.0 and in 4.4.
Differs  Kafka counts nanoseconds, and above 292 years too few of them.
"""

from __future__ import annotations


class IdleExpiryManager:
    """A negative `max_idle_ms`: nobody is idle."""

    def __init__(self, max_idle_ms: int, now_ms: int) -> None:
        self._max_idle_ms = max_idle_ms
        self._lru_connections: dict[int, int] = {}  # by node, the last one last: when it was active
        self._next_check_ms = now_ms + max_idle_ms
        self._latest_ms = now_ms

    def update(self, node: int, now_ms: int) -> None:
        """Its connection is active. A time before that of the last activity is the beginning of a turn of 2.0, by which
        that dates what it sends; Kafka's selector looks at the clock."""
        if self._max_idle_ms >= 0:
            self._latest_ms = max(self._latest_ms, now_ms)
            self._lru_connections.pop(node, None)
            self._lru_connections[node] = self._latest_ms

    def remove(self, node: int) -> None:
        self._lru_connections.pop(node, None)

    def poll_expired(self, now_ms: int) -> int | None:
        """The one that is to be closed now, which is forgotten with that."""
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
        """When a poll would find one, if nothing happens on the network."""
        if not self._lru_connections:
            return None
        return next(iter(self._lru_connections.values())) + self._max_idle_ms + 1

    def check_invariants(self) -> None:
        times_ms = list(self._lru_connections.values())
        assert times_ms == sorted(times_ms), "connections are not in the order of their activity"
        assert self._max_idle_ms >= 0 or not times_ms
