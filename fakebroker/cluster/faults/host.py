"""What a request on its way needs from the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, final

from fakebroker.cluster.faults.asked import Asked
from fakebroker.cluster.faults.changes import Changes
from fakebroker.core.broker.broker import Broker
from fakebroker.core.faults.actions import Action
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.seen import Seen
from fakebroker.network.connection import Connection, Plan
from fakebroker.network.socket_server import SocketServer
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.produce_response import TopicProduceResponse


@final
class Wait:
    """For time, or for somebody's `release`; `end` is called once."""

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
    """The engine, as a request sees it."""

    sockets: SocketServer
    changes: Changes

    def is_due(self, plan: Plan) -> None:
        """It goes on at the end of this step."""

    def fired(self, armed: Armed, connection: int, point: str) -> None:
        """A fault acts."""

    def asks(self, armed: Armed, seen: Seen) -> bool:
        """What its predicate says."""

    def after(self, ms: int, wake: Callable[[], None]) -> Wait:
        """A wait of so long."""

    def hold(self, armed: Armed, wake: Callable[[], None]) -> Wait:
        """A wait at its barrier."""

    def close(self, connection: Connection, why: str, how: str) -> None:
        """Close a connection, "fin" or "reset"."""

    def write(self, connection: Connection, data: bytes, size: int | None) -> None:
        """Write bytes; `size` is that of the answer that they begin, None if they go on with one."""

    def coalesce(self, connection: Connection, answers: int, within_ms: int) -> None:
        """Keep this answer and the next ones."""

    def could_not(self, armed: Armed, action: Action, error: Exception) -> None:
        """An action cannot be done."""

    def fail(
        self,
        broker: Broker,
        connection: Connection,
        asked: Asked,
        code: ErrorCode,
        is_template: bool,
    ) -> None:
        """Answer a request with an error; a template is looked at by nobody else."""

    def produce_answered(self, connection: Connection, topics: tuple[TopicProduceResponse, ...]) -> None:
        """A Produce is answered otherwise than its handler said."""

    def handle(self, broker: Broker, connection: Connection) -> None:
        """Handle the connection's request."""
