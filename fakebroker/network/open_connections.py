"""The connections of all brokers that are not closed: who is in, and who waits to be let in.

Theory   A broker takes max.connections; who comes then waits, unread, until another one goes, and comes in first.
Source   core/.../network/SocketServer.scala Acceptor.accept, where the thread that accepts stands still @ 4.0.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import final

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.ip_overrides import parse_overrides
from fakebroker.network.connection import Connection, State
from fakebroker.network.connection_quotas import ConnectionQuotas


@final
class OpenConnections:
    """By broker, in the order in which they came; those that wait are open too."""

    __slots__ = ("_open", "_waiting", "quotas")

    def __init__(self, broker_ids: Iterable[int]) -> None:
        self.quotas = {broker_id: ConnectionQuotas() for broker_id in broker_ids}
        self._waiting: dict[int, OrderedDict[Connection, None]] = {id_: OrderedDict() for id_ in self.quotas}
        self._open: dict[int, dict[Connection, None]] = {id_: {} for id_ in self.quotas}

    def configure(self, of: Callable[[int], BrokerConfig]) -> None:
        """How many each broker takes, by the settings that `of` gives for it."""
        for broker_id, quotas in self.quotas.items():
            config = of(broker_id)
            overrides = parse_overrides(config.max_connections_per_ip_overrides)
            quotas.configure(config.max_connections, config.max_connections_per_ip, overrides)

    def add(self, connection: Connection) -> bool:
        """One more is open. Whether it may come in; if not, it waits."""
        self._open[connection.broker_id][connection] = None
        if self.quotas[connection.broker_id].connection_slot_available():
            return True
        self._waiting[connection.broker_id][connection] = None
        return False

    def next_to_come_in(self, broker_id: int) -> Connection | None:
        """Who has waited longest, if there is room for it by now: it waits no more."""
        waiting = self._waiting[broker_id]
        if waiting and self.quotas[broker_id].connection_slot_available():
            return waiting.popitem(last=False)[0]
        return None

    def refuse(self, connection: Connection) -> None:
        """It was not let in, and is not open."""
        del self._open[connection.broker_id][connection]

    def remove(self, connection: Connection) -> bool:
        """It is not open any more. Whether it had been let in: then its place is free."""
        del self._open[connection.broker_id][connection]
        if connection.state is State.WAITING:
            del self._waiting[connection.broker_id][connection]
            return False
        self.quotas[connection.broker_id].dec(connection.address)
        return True

    def last(self, broker_id: int) -> Connection | None:
        """Who came last; None if the broker has no connection."""
        return next(reversed(self._open[broker_id]), None)

    def check_invariants(self) -> None:
        for broker_id, quotas in self.quotas.items():
            quotas.check_invariants()
            assert not self._waiting[broker_id] or not quotas.connection_slot_available()
            assert all(connection.state is State.WAITING for connection in self._waiting[broker_id])
