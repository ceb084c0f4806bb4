"""The connections whose turn is to come, each once, in the order in which they were ready.

Source   The selection keys that one poll of Kafka's Selector goes through; core/.../network/SocketServer.scala @ 4.0.
"""

from __future__ import annotations

from typing import Final, final

from fakebroker.network.connection import Connection

_MANY_HAD_THEIR_TURN: Final = 1_024  # and are dropped: a list is slow to lose its first element


@final
class ReadyQueue:
    """First come, first served. Who is in it is marked `is_queued`."""

    __slots__ = ("_connections", "_next")

    def __init__(self) -> None:
        self._connections: list[Connection] = []
        self._next = 0  # those before it had their turn

    def add(self, connection: Connection) -> None:
        """It may have a request, or has work. Nothing changes if it waits already."""
        if not connection.is_queued:
            connection.is_queued = True
            self._connections.append(connection)

    def pop(self) -> Connection | None:
        """The first one, taken out."""
        if self._next == len(self._connections):
            return None
        connection = self._connections[self._next]
        connection.is_queued = False
        self._next += 1
        if self._next == len(self._connections) or self._next == _MANY_HAD_THEIR_TURN:
            del self._connections[: self._next]
            self._next = 0
        return connection

    @property
    def has_any(self) -> bool:
        return self._next < len(self._connections)

    def check_invariants(self) -> None:
        queued = self._connections[self._next :]
        assert len(set(queued)) == len(queued)
        assert all(connection.is_queued for connection in queued)
