"""The connections of all brokers that are not closed: who is in, and who waits to be let in.

Theory   They come in one after the other. A broker takes max.connections; who comes then waits, unread, until another
         one goes, and those that come later wait behind it. So they do behind one that came too soon after others
         (max.connection.creation.rate): its time counts from when it is the first in line. If it goes before that, its
         time holds for all the others, as it does for Kafka's acceptor, which stands still with the socket in hand.
Source   core/.../network/SocketServer.scala Acceptor.accept; ConnectionQuotas.waitForConnectionSlot @ 4.0.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final, final

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.ip_overrides import normalized, parse_overrides
from fakebroker.network.connection import Connection, State
from fakebroker.network.connection_quotas import ConnectionQuotas

_LOOPBACK: Final = "127.0.0.1"


@final
class OpenConnections:
    """By broker, in the order in which they came; those that wait are open too. `standing` are the brokers that stand
    still: nobody comes in there."""

    __slots__ = ("_first", "_open", "_waiting", "quotas", "standing", "waits_until_ms")

    def __init__(self, broker_ids: Iterable[int], num_samples: int, time_window_ms: int) -> None:
        """`waits_until_ms` has until when the first in line of a broker waits at least, if it has one."""
        self.quotas = {broker_id: ConnectionQuotas(num_samples, time_window_ms) for broker_id in broker_ids}
        self.standing: set[int] = set()
        self._first: dict[int, Connection] = {}  # in line, since it was looked at
        self.waits_until_ms: dict[int, int] = {}
        self._waiting: dict[int, OrderedDict[Connection, None]] = {id_: OrderedDict() for id_ in self.quotas}
        self._open: dict[int, dict[Connection, None]] = {id_: {} for id_ in self.quotas}

    def configure(self, of: Callable[[int], BrokerConfig]) -> None:
        """How many each broker takes, by the settings that `of` gives for it."""
        for broker_id, quotas in self.quotas.items():
            config = of(broker_id)
            overrides = parse_overrides(config.max_connections_per_ip_overrides)
            quotas.configure(config.max_connections, config.max_connections_per_ip, overrides)
            quotas.update_broker_max_connection_rate(config.max_connection_creation_rate)

    def update_ip_connection_rate_quota(self, address: str | None, rate: float | None) -> None:
        """connection_creation_rate was set, or removed with None; `address` is None for the default."""
        ip = None if address is None else normalized(_LOOPBACK if address == "localhost" else address)
        for quotas in self.quotas.values():
            quotas.update_ip_connection_rate_quota(ip, rate)

    def add(self, connection: Connection) -> None:
        """One more is open, and last in line."""
        self._open[connection.broker_id][connection] = None
        self._waiting[connection.broker_id][connection] = None

    def next_to_come_in(self, broker_id: int, now_ms: int) -> Connection | None:
        """The first in line, if it may come in by now: it waits no more."""
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
        """The broker has stopped, and all its connections are closed."""
        self._forget_first(broker_id)
        self.quotas[broker_id].restart()

    def refuse(self, connection: Connection) -> None:
        """It was not let in, and is not open."""
        del self._open[connection.broker_id][connection]

    def remove(self, connection: Connection) -> bool:
        """It is not open any more. Whether it had been let in: then its place is free."""
        del self._open[connection.broker_id][connection]
        if connection.state is State.WAITING:
            self._waiting[connection.broker_id].pop(connection, None)  # or it is held to be closed
            return False
        self.quotas[connection.broker_id].dec(connection.address)
        return True

    def last(self, broker_id: int) -> Connection | None:
        """Who came last; None if the broker has no connection."""
        return next(reversed(self._open[broker_id]), None)

    def all(self, broker_id: int) -> list[Connection]:
        """Those of a broker."""
        return list(self._open[broker_id])

    def check_invariants(self) -> None:
        for broker_id, quotas in self.quotas.items():
            quotas.check_invariants()
            assert not self._waiting[broker_id] or broker_id in self._first or broker_id in self.standing
            assert all(connection.state is State.WAITING for connection in self._waiting[broker_id])
