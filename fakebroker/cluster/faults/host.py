"""The interface of the engine for the plan of a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, final

from fakebroker.cluster.faults.decoded_request import DecodedRequest
from fakebroker.core.broker.broker import Broker
from fakebroker.core.faults.acting import ActionTarget
from fakebroker.core.faults.actions import ClusterAction
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.seen import SeenRequest
from fakebroker.network.connection import Connection, Plan
from fakebroker.network.socket_server import SocketServer
from fakebroker.protocol.error_code import ErrorCode


@final
class Wait:
    """A wait for a deadline or for `release`; `end` wakes the plan once."""

    __slots__ = ("_is_over", "_wake")

    def __init__(self, wake: Callable[[], None]) -> None:
        self._is_over = False
        self._wake = wake

    def has_ended(self) -> bool:
        return self._is_over

    def end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._wake()


class Host(Protocol):
    """The engine, as a request's plan sees it."""

    sockets: SocketServer

    def go_on(self, plan: Plan) -> None:
        """Continue the plan now."""

    def is_due(self, plan: Plan) -> None:
        """Continue the plan at the end of this step."""

    def fired(self, armed: Armed, connection: Connection, point: str, is_login: bool = False) -> None:
        """Report that a fault fires. A login is no request of the journal."""

    def asks(self, armed: Armed, seen: SeenRequest) -> bool:
        """Return the result of its predicate."""

    def after(self, ms: int, wake: Callable[[], None]) -> Wait:
        """Return a wait of `ms` milliseconds."""

    def hold(self, armed: Armed, wake: Callable[[], None]) -> Wait:
        """Return a wait until the fault releases it."""

    def close(self, connection: Connection, why: str, how: str) -> None:
        """Close a connection, "fin" or "reset"."""

    def write(self, connection: Connection, data: bytes, size: int | None) -> None:
        """Write bytes. `size` is that of the response that they begin; None if they continue one."""

    def coalesce(self, connection: Connection, answers: int, within_ms: int) -> None:
        """Collect this response and the next ones, and send them together."""

    def change_cluster(self, armed: Armed, action: ClusterAction, whom: ActionTarget) -> None:
        """Have an action change the cluster. Report it if that is impossible."""

    def fail(
        self,
        broker: Broker,
        connection: Connection,
        asked: DecodedRequest,
        code: ErrorCode,
        is_template: bool,
    ) -> None:
        """Respond to a request with an error. A template is not sent to the client, and no listener sees it."""

    def handle(self, broker: Broker, connection: Connection) -> None:
        """Have the connection's request handled."""
