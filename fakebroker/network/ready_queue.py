"""The connections whose turn is to come, each once: two lines, served in turn.

Theory   Who had said nothing and now has a request, or a few, stands in a line of its own, before all who have more
         than they can have handled at once: whoever asks now and then does not wait for those who send as much as they
         can, however many they are, and be it the first that they send. Of the two lines each has every second turn, so
         neither keeps the other waiting. As long as anybody stands in the first a turn is one request; else it is a
         few, so that their answers go out together.
         Or any is next, as it is drawn: whoever tests a client gives it a chance to fail that relies on an order.
Source   The selection keys that one poll of Kafka's Selector goes through; core/.../network/SocketServer.scala @ 4.0.
         The two lines are those of FQ-CoDel (RFC 8290, 4.1: new and old flows).
"""

from __future__ import annotations

from random import Random
from typing import Final, final

from fakebroker.network.connection import Connection

_REQUESTS_AT_ONCE: Final = 16
_MANY_HAD_THEIR_TURN: Final = 1_024  # and are dropped: a list is slow to lose its first element


@final
class _Line:
    """First come, first served."""

    __slots__ = ("_connections", "_next")

    def __init__(self) -> None:
        self._connections: list[Connection] = []
        self._next = 0  # those before it had their turn

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
        """The one at that place, out of order."""
        return self._connections.pop(self._next + index)

    def all(self) -> list[Connection]:
        return self._connections[self._next :]


@final
class ReadyQueue:
    """Who is in it is marked `is_queued`; adding it once more changes nothing. `order`, if there is one, draws who is
    next."""

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
        """It may have another request, or has work."""
        if not connection.is_queued:
            connection.is_queued = True
            self._others.add(connection)

    def add_fresh(self, connection: Connection) -> None:
        """It had nothing to do, and may have a request now, or a few."""
        if not connection.is_queued:
            connection.is_queued = True
            self._fresh.add(connection)

    def pop(self) -> Connection | None:
        """The next one, taken out."""
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
        index = order.randrange(count)
        connection = fresh.take(index) if index < len(fresh) else others.take(index - len(fresh))
        connection.is_queued = False
        return connection

    @property
    def share(self) -> int:
        """How many requests of whom `pop` gave are handled before it is the next one's turn."""
        if self._order is not None:
            return 1
        return 1 if self._fresh_was_last or len(self._fresh) else _REQUESTS_AT_ONCE

    def check_invariants(self) -> None:
        queued = self._fresh.all() + self._others.all()
        assert len(set(queued)) == len(queued)
        assert all(connection.is_queued for connection in queued)
