"""The queue of connections that may have a request to handle, each once: two lines, served in turn.

Theory   A connection that was silent and now has a request, or a few, joins the first line. A connection that sends
         more than a few requests at once joins the second line, even with its first bytes. The lines are served
         alternately, so neither starves the other: occasional clients do not wait for busy ones. While the first line
         has connections, a turn is one request. Otherwise it is several, so that their responses are sent together.
         With `order` the next connection is drawn at random, to reveal clients that rely on an order.
Source   The selection keys that one poll of Kafka's Selector goes through; core/.../network/SocketServer.scala @ 4.0.
         The two lines are those of FQ-CoDel (RFC 8290, 4.1: new and old flows).
"""

from __future__ import annotations

from random import Random
from typing import Final, final

from fakebroker.network.connection import Connection

_REQUESTS_AT_ONCE: Final = 16
_MANY_HAD_THEIR_TURN: Final = 1_024  # then they are dropped: removing a list's first element is slow


@final
class _Line:
    """A line: first come, first served."""

    __slots__ = ("_connections", "_next")

    def __init__(self) -> None:
        self._connections: list[Connection] = []
        self._next = 0  # those before it are done

    def __len__(self) -> int:
        return len(self._connections) - self._next

    def __bool__(self) -> bool:
        return len(self) > 0

    def add(self, connection: Connection) -> None:
        self._connections.append(connection)

    def pop(self) -> Connection:
        connection = self._connections[self._next]
        self._next += 1
        if self._next == len(self._connections) or self._next == _MANY_HAD_THEIR_TURN:
            del self._connections[: self._next]
            self._next = 0
        return connection

    def take(self, index: int) -> Connection:
        """Take the connection at that place, out of order."""
        return self._connections.pop(self._next + index)

    def all(self) -> list[Connection]:
        return self._connections[self._next :]


@final
class ReadyQueue:
    """The ready queue. A queued connection is marked `is_queued`; adding it again changes nothing. `order`, if given,
    draws the next one of several."""

    __slots__ = ("_fresh", "_fresh_was_last", "_order", "_others")

    def __init__(self, order: Random | None = None) -> None:
        self._order = order
        self._fresh = _Line()
        self._others = _Line()
        self._fresh_was_last = False

    def __len__(self) -> int:
        return len(self._fresh) + len(self._others)

    def __bool__(self) -> bool:
        return len(self) > 0

    def add(self, connection: Connection) -> None:
        """Add a connection that may have another request, or has work."""
        if not connection.is_queued:
            connection.is_queued = True
            self._others.add(connection)

    def add_fresh(self, connection: Connection) -> None:
        """Add a connection that was silent, and may now have a request or a few."""
        if not connection.is_queued:
            connection.is_queued = True
            self._fresh.add(connection)

    def pop(self) -> Connection | None:
        """Take the next connection."""
        fresh, others = self._fresh, self._others
        if self._order is not None:
            return self._pop_any(self._order)
        if len(fresh) and not (self._fresh_was_last and len(others)):
            self._fresh_was_last = True
            connection = fresh.pop()
        elif len(others):
            self._fresh_was_last = False
            connection = others.pop()
        else:
            return None
        connection.is_queued = False
        return connection

    def _pop_any(self, order: Random) -> Connection | None:
        fresh, others = self._fresh, self._others
        count = len(fresh) + len(others)
        if count == 0:
            return None
        index = order.randrange(count) if count > 1 else 0
        connection = fresh.take(index) if index < len(fresh) else others.take(index - len(fresh))
        connection.is_queued = False
        return connection

    @property
    def share(self) -> int:
        """Return how many requests of the popped connection may be handled in its turn."""
        if self._order is not None:
            return 1
        return 1 if self._fresh_was_last or len(self._fresh) else _REQUESTS_AT_ONCE

    def check_invariants(self) -> None:
        queued = self._fresh.all() + self._others.all()
        assert len(set(queued)) == len(queued)
        assert all(connection.is_queued for connection in queued)
