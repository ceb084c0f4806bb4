"""How many connections a broker takes: in all, and from one address.

Theory   `max.connections` makes a new connection wait until another one goes; it is not refused. After the wait
         `max.connections.per.ip` (or the address's own maximum) refuses: closed at once, without a byte.
Units    connections.
Source   core/.../network/SocketServer.scala ConnectionQuotas @ 4.0: inc, dec, connectionSlotAvailable; overrides as
         KafkaConfig reads them (CoreUtils.parseCsvMap).
Differs  Addresses only in max.connections.per.ip.overrides: a host name would have to be looked up. One listener for
         each broker, so listener limits, the protected inter-broker listener and the closing of excess connections
         that comes of it have no place. Not done: the rate of new connections (max.connection.creation.rate).
"""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv6Address, ip_address

from fakebroker.core.errors import ConfigError

OVERRIDES = "max.connections.per.ip.overrides"


def parse_overrides(text: str) -> dict[str, int]:
    """Read "address:count,address:count"; raises ConfigError. The last colon ends an IPv6 address."""
    overrides = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        host, _, count = item.rpartition(":")
        try:
            address = normalized(host.strip().strip("[]"), strict=True)
        except ValueError:
            raise ConfigError(
                f"Invalid value {text!r} for configuration {OVERRIDES}: {item!r} is not ADDRESS:COUNT, as in "
                "127.0.0.1:200 (host names are not looked up)"
            ) from None
        if not count.strip().isdecimal():
            raise ConfigError(f"Invalid value {text!r} for configuration {OVERRIDES}: {count!r} is not a number")
        overrides[address] = int(count)
    return overrides


def normalized(address: str, strict: bool = False) -> str:
    """One spelling for each address; an IPv4 address that arrived over IPv6 is that IPv4 address.

    What is no address stays as it is, or raises ValueError if `strict`."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        if strict:
            raise
        return address
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return str(mapped or ip)


class ConnectionQuotas:
    """The counts of one broker."""

    def __init__(self, max_connections: int, max_connections_per_ip: int, overrides: dict[str, int]) -> None:
        self._max_connections = max_connections
        self._max_connections_per_ip = max_connections_per_ip
        self._overrides = overrides
        self._counts: Counter[str] = Counter()
        self.total = 0

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
        assert sum(self._counts.values()) == self.total <= self._max_connections
        assert all(count > 0 for count in self._counts.values())
