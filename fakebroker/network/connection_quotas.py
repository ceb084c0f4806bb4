"""Limits on the number and the rate of connections to a broker: in total, and from one address.

Theory   `max.connections` makes a new connection wait until another one is closed; it is not refused. Connections above
         max.connection.creation.rate wait as long as a client with a quota would be muted, but no longer than a window
         (KIP-612). After the wait connection_creation_rate of its address may refuse it. Then it counts neither here
         nor there, and is closed unread after its throttle time. At last `max.connections.per.ip` (or the address's own
         maximum) refuses: closed at once, without a byte.
Units    connections, and connections per second; monotonic milliseconds.
Source   core/.../network/SocketServer.scala ConnectionQuotas @ 4.0: inc, dec, connectionSlotAvailable,
         recordConnectionAndGetThrottleTimeMs, recordIpConnectionMaybeThrottle, updateIpConnectionRateQuota.
Differs  Each broker has one listener, so there are no listener limits. There is no protected inter-broker listener
         either, and so no closing of excess connections. Rates use the monotonic clock.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from fakebroker.core.quota.quota import DEFAULT, ClientQuotaManager, QuotaEntity

_NO_RATE: Final = 2**31 - 1
_EVERYBODY: Final = QuotaEntity(None, "broker")  # the entity for the rate of a broker


class ConnectionQuotas:
    """The counts and rates of one broker."""

    def __init__(self, num_samples: int = 11, time_window_ms: int = 1000) -> None:
        self._counts: Counter[str] = Counter()
        self.total = 0
        self._samples = num_samples, time_window_ms
        self._rates: dict[QuotaEntity, float] = {}
        self.restart()

    def restart(self) -> None:
        """Reset the rates, when the broker starts again."""
        num_samples, time_window_ms = self._samples
        self._of_broker = ClientQuotaManager(num_samples, time_window_ms, max_throttle_time_ms=time_window_ms)
        self._of_address = ClientQuotaManager(num_samples, time_window_ms, max_throttle_time_ms=time_window_ms)
        self._of_broker.update_quota(_EVERYBODY, None)
        for entity, rate in self._rates.items():
            (self._of_broker if entity == _EVERYBODY else self._of_address).update_quota(entity, rate)

    def configure(self, max_connections: int, max_connections_per_ip: int, overrides: dict[str, int]) -> None:
        """Set the limits. Existing connections above them stay."""
        self._max_connections = max_connections
        self._max_connections_per_ip = max_connections_per_ip
        self._overrides = overrides
        self._most = max(self.total, max_connections)

    def update_broker_max_connection_rate(self, rate: int) -> None:
        """Set max.connection.creation.rate. Connections that wait already keep their wait."""
        if rate == _NO_RATE:
            self._rates.pop(_EVERYBODY, None)
        else:
            self._rates[_EVERYBODY] = rate
        self._of_broker.update_quota(_EVERYBODY, self._rates.get(_EVERYBODY))

    def update_ip_connection_rate_quota(self, address: str | None, rate: float | None) -> None:
        """Set connection_creation_rate of an address, or the default of all addresses; None removes it."""
        entity = QuotaEntity(None, DEFAULT if address is None else address)
        if rate is None or rate >= _NO_RATE:
            self._rates.pop(entity, None)
        else:
            self._rates[entity] = rate
        self._of_address.update_quota(entity, self._rates.get(entity))

    def record_connection_and_get_throttle_time_ms(self, now_ms: int) -> int:
        """Record a new connection. Return how long it waits."""
        return self._of_broker.maybe_record_and_get_throttle_time_ms("", "broker", 1, now_ms)

    def record_ip_connection_maybe_throttle(self, address: str, now_ms: int) -> int:
        """Return 0 if the connection may be admitted. Otherwise return its throttle time, and unrecord it."""
        if self._of_address.quota("", address) is None:
            return 0
        throttle_time_ms = self._of_address.maybe_record_and_get_throttle_time_ms("", address, 1, now_ms)
        if throttle_time_ms > 0:
            self._of_address.unrecord("", address, 1, now_ms)
            self._of_broker.unrecord("", "broker", 1, now_ms)
        return throttle_time_ms

    def connection_slot_available(self) -> bool:
        return self.total < self._max_connections

    def inc(self, address: str) -> int | None:
        """Count a connection and return None; if its address has its maximum, return that and do not count it."""
        maximum = self._overrides.get(address, self._max_connections_per_ip)
        if self._counts[address] >= maximum:
            return maximum
        self._counts[address] += 1
        self.total += 1
        return None

    def dec(self, address: str) -> None:
        """Uncount a closed connection."""
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
