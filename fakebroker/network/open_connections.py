"""The open connections of all brokers: those that are admitted, and those that wait for it.

Theory   Connections are admitted one after the other. A broker takes max.connections. The next connection waits,
         unread, until another one is closed, and later ones wait behind it. Connections above
         max.connection.creation.rate wait too; the time of one counts from when it is the first in line. If its client
         disconnects before that, the rest of its time still holds for the others. Kafka's acceptor does the same: it
         blocks with the socket in hand.
Source   core/.../network/SocketServer.scala Acceptor.accept; ConnectionQuotas.waitForConnectionSlot @ 4.0.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final, final

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.ip_overrides import normalized, parse_overrides
from fakebroker.network.connection import ChannelMuteState, Connection
from fakebroker.network.connection_quotas import ConnectionQuotas

_LOOPBACK: Final = "127.0.0.1"


@final
class OpenConnections:
    """The open connections by broker, in the order of their arrival; waiting ones are included. `standing` are the
    paused brokers, which admit none."""

    __slots__ = ("_first", "_open", "_waiting", "quotas", "standing", "waits_until_ms")

    def __init__(self, broker_ids: Iterable[int], num_samples: int, time_window_ms: int) -> None:
        """`waits_until_ms` has, by broker, the earliest time at which the first in line may be admitted."""
        self.quotas = {broker_id: ConnectionQuotas(num_samples, time_window_ms) for broker_id in broker_ids}
        self.standing: set[int] = set()
        self._first: dict[int, Connection] = {}  # first in line, once its wait has begun
        self.waits_until_ms: dict[int, int] = {}
        self._waiting: dict[int, OrderedDict[Connection, None]] = {id_: OrderedDict() for id_ in self.quotas}
        self._open: dict[int, dict[Connection, None]] = {id_: {} for id_ in self.quotas}

    def configure(self, of: Callable[[int], BrokerConfig]) -> None:
        """Set the limits of each broker, from the settings that `of` returns for it."""
        for broker_id, quotas in self.quotas.items():
            config = of(broker_id)
            overrides = parse_overrides(config.max_connections_per_ip_overrides)
            quotas.configure(config.max_connections, config.max_connections_per_ip, overrides)
            quotas.update_broker_max_connection_rate(config.max_connection_creation_rate)

    def update_ip_connection_rate_quota(self, address: str | None, rate: float | None) -> None:
        """Set connection_creation_rate, or remove it with None; `address` is None for the default."""
        ip = None if address is None else normalized(_LOOPBACK if address == "localhost" else address)
        for quotas in self.quotas.values():
            quotas.update_ip_connection_rate_quota(ip, rate)

    def add(self, connection: Connection) -> None:
        """Add an open connection at the end of the line."""
        self._open[connection.broker_id][connection] = None
        self._waiting[connection.broker_id][connection] = None

    def next_to_come_in(self, broker_id: int, now_ms: int) -> Connection | None:
        """Take the first in line, if it may be admitted by now."""
        waiting, quotas = self._waiting[broker_id], self.quotas[broker_id]
        if not waiting and broker_id not in self._first:
            return None
        if now_ms < self.waits_until_ms.get(broker_id, now_ms):
            return None
        first = self._first.get(broker_id)
        if first is None or first not in waiting:
            self._forget_first(broker_id)
            if not waiting:
                return None
            first = next(iter(waiting))
            throttle_time_ms = quotas.record_connection_and_get_throttle_time_ms(now_ms)
            if throttle_time_ms > 0 or not quotas.connection_slot_available():
                self._first[broker_id], self.waits_until_ms[broker_id] = first, now_ms + throttle_time_ms
                return None
        elif not quotas.connection_slot_available():
            return None
        self._forget_first(broker_id)
        del waiting[first]
        return first

    def _forget_first(self, broker_id: int) -> None:
        self._first.pop(broker_id, None)
        self.waits_until_ms.pop(broker_id, None)

    def restart(self, broker_id: int) -> None:
        """Reset a broker that has stopped, after all its connections are closed."""
        self._forget_first(broker_id)
        self.quotas[broker_id].restart()

    def refuse(self, connection: Connection) -> None:
        """Remove a connection that was refused."""
        del self._open[connection.broker_id][connection]

    def remove(self, connection: Connection) -> bool:
        """Remove a closed connection. Return True if it was admitted: then its place is free."""
        del self._open[connection.broker_id][connection]
        if connection.state is ChannelMuteState.WAITING:
            self._waiting[connection.broker_id].pop(connection, None)  # or it is throttled before its close
            return False
        self.quotas[connection.broker_id].dec(connection.address)
        return True

    def last(self, broker_id: int) -> Connection | None:
        """Return the newest connection; None if the broker has none."""
        return next(reversed(self._open[broker_id]), None)

    def all(self, broker_id: int) -> list[Connection]:
        """Return the connections of a broker."""
        return list(self._open[broker_id])

    def check_invariants(self) -> None:
        for broker_id, quotas in self.quotas.items():
            quotas.check_invariants()
            assert not self._waiting[broker_id] or broker_id in self._first or broker_id in self.standing
            assert all(connection.state is ChannelMuteState.WAITING for connection in self._waiting[broker_id])
