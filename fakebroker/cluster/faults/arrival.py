"""The plan of a new connection that faults match: their actions come before anything is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, final

from fakebroker.cluster.faults.host import Host, Wait
from fakebroker.core.faults.acting import ChangeOfBytes
from fakebroker.core.faults.actions import ClusterAction, Disconnect, Error
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.points import CONNECT
from fakebroker.core.faults.seen import SeenRequest
from fakebroker.network.connection import Connection, Event, Plan

_NONE: Final[tuple[str, ...]] = ()
_NO_RESPONSE: Final = "a new connection has no response"
_NOWHERE: Final[tuple[tuple[str, int], ...]] = ()


@final
class FaultyArrival(Plan):
    """A plan that keeps the connection busy, and so unread, until all actions are done."""

    def __init__(self, host: Host, connection: Connection, faults: Sequence[Armed]) -> None:
        self.broker_id = connection.broker_id
        self.partitions = _NOWHERE
        self.groups = self.transactional_ids = _NONE
        self.user = connection.principal.name
        self._connection = connection
        self._faults = faults
        self._armed: Armed  # the one that acts
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
            seen = SeenRequest("", -1, self.broker_id, "", connection.number, connection.listener.name, "", None)
            when = armed.fault.when
            if armed.is_spent or (when.predicate is not None and not host.asks(armed, seen)) or not armed.fires():
                continue
            host.fired(armed, connection, CONNECT)
            for action in armed.fault.do:
                self._armed = armed
                yield from action.act(self)
                if self._is_over or connection.is_closed:
                    return
        host.sockets.responded(connection)

    # What actions do. Those on a response are refused for a new connection (core/faults/check.py).

    def wait(self, ms: int) -> Iterator[None]:
        return self._until(self._host.after(ms, lambda: self._host.is_due(self)))

    def hold(self) -> Iterator[None]:
        return self._until(self._host.hold(self._armed, lambda: self._host.is_due(self)))

    def _until(self, wait: Wait) -> Iterator[None]:
        while not wait.has_ended():
            yield

    def disconnect(self, action: Disconnect) -> None:
        self._is_over = True
        self._host.close(self._connection, f"fault {self._armed.name}", action.how)

    def blackhole(self) -> None:
        self._is_over = True

    def change_cluster(self, action: ClusterAction) -> None:
        self._host.change_cluster(self._armed, action, self)

    def fail(self, error: Error) -> None:
        raise AssertionError(_NO_RESPONSE)

    def throttle(self, ms: int) -> None:
        raise AssertionError(_NO_RESPONSE)

    def drop(self) -> None:
        raise AssertionError(_NO_RESPONSE)

    def change_bytes(self, action: ChangeOfBytes) -> None:
        raise AssertionError(_NO_RESPONSE)

    def coalesce(self, answers: int, within_ms: int) -> None:
        raise AssertionError(_NO_RESPONSE)

    def corrupt_batches(self) -> None:
        raise AssertionError(_NO_RESPONSE)
