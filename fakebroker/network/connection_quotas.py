"""How many connections a broker takes: in all, and from one address.

Theory   `max.connections` makes a new connection wait until another one goes; it is not refused. After the wait
         `max.connections.per.ip` (or the address's own maximum) refuses: closed at once, without a byte.
Units    connections.
Source   core/.../network/SocketServer.scala ConnectionQuotas @ 4.0: inc, dec, connectionSlotAvailable.
Differs  One listener for each broker, so listener limits, the protected inter-broker listener and the closing of excess
         connections that comes of it have no place. Not done: the rate of new connections
         (max.connection.creation.rate).
"""

from __future__ import annotations

from collections import Counter


class ConnectionQuotas:
    """The counts of one broker."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self.total = 0

    def configure(self, max_connections: int, max_connections_per_ip: int, overrides: dict[str, int]) -> None:
        """From now on so many. If there are more already, they stay."""
        self._max_connections = max_connections
        self._max_connections_per_ip = max_connections_per_ip
        self._overrides = overrides
        self._most = max(self.total, max_connections)

    def connection_slot_available(self) -> bool:
        return self.total < self._max_connections

    def inc(self, address: str) -> int | None:
        """Count a connection; or, if its address has as many as it may have, do not, and tell that maximum."""
        maximum = self._overrides.get(address, self._max_connections_per_ip)
        if self._counts[address] >= maximum:
            return maximum
        self._counts[address] += 1
        self.total += 1
        return None

    def dec(self, address: str) -> None:
        """A connection that was counted has gone."""
        assert self._counts[address] > 0, f"no connection from {address} is counted"
        self._counts[address] -= 1
        if not self._counts[address]:
            del self._counts[address]
        self.total -= 1

    def get(self, address: str) -> int:
        return self._counts.get(address, 0)

    def check_invariants(self) -> None:
        assert sum(self._counts.values()) == self.total <= self._most
        assert all(count > 0 for count in self._counts.values())
