"""The plan of a new connection that faults match: their actions come before anything is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, final

from fakebroker.cluster.faults.host import Host
from fakebroker.core.errors import KafkaError
from fakebroker.core.faults import actions
from fakebroker.core.faults.actions import Action
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.points import CONNECT
from fakebroker.core.faults.seen import Seen
from fakebroker.network.connection import Connection, Event, Plan

_NONE: Final[tuple[str, ...]] = ()
_NOWHERE: Final[tuple[tuple[str, int], ...]] = ()


@final
class FaultyArrival(Plan):
    """A plan that keeps the connection busy, and so unread, until all actions are done."""

    def __init__(self, host: Host, connection: Connection, faults: Sequence[Armed]) -> None:
        self.broker_id = connection.broker_id
        self.partitions = _NOWHERE
        self.groups = self.transactional_ids = _NONE
        self._connection = connection
        self._faults = faults
        self._host = host
        self._is_over = self._is_busy = False
        self._way = self._go()

    def take(self, frame: bytes | None) -> None:
        raise AssertionError("a connection that opens has no request")

    def go_on(self) -> None:
        """Run until the next blocking action."""
        next(self._way, None)

    def _go(self) -> Iterator[None]:
        host, connection = self._host, self._connection
        connection.on(Event.REQUEST)
        for armed in self._faults:
            seen = Seen("", -1, self.broker_id, "", connection.number, connection.listener.name, None)
            when = armed.fault.when
            if armed.is_spent or (when.predicate is not None and not host.asks(armed, seen)) or not armed.fires():
                continue
            host.fired(armed, connection, CONNECT)
            for action in armed.fault.do:
                yield from self._do(action, armed)
                if self._is_over or connection.is_closed:
                    return
        host.sockets.responded(connection)

    def _do(self, action: Action, armed: Armed) -> Iterator[None]:
        host = self._host
        match action:
            case actions.Delay(ms):
                wait = host.after(ms, lambda: host.is_due(self))
                while not wait.has_ended():
                    yield
            case actions.Hold():
                wait = host.hold(armed, lambda: host.is_due(self))
                while not wait.has_ended():
                    yield
            case actions.Disconnect(how):
                self._is_over = True
                host.close(self._connection, f"fault {armed.name}", how)
            case actions.Blackhole():
                self._is_over = True
            case _:
                try:
                    host.changes.do(action, self)
                except (KafkaError, ValueError) as error:
                    host.could_not(armed, action, error)
