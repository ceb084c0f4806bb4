"""The responses of a turn: those of a connection are sent together at its end.

Units    sizes are bytes.
"""

from __future__ import annotations

from random import Random
from typing import Final, final

from fakebroker.network.connection import Connection
from fakebroker.network.effects import Effect, Send
from fakebroker.protocol.answers.pieces import Part

_new: Final = tuple.__new__  # makes a named tuple without its Python function


@final
class Answers:
    """The responses of all connections, in the order of the first one of each, or as `order` draws them."""

    __slots__ = ("_answered", "_order")

    def __init__(self, order: Random | None = None) -> None:
        self._order = order
        self._answered: list[Connection] = []

    def add(self, connection: Connection, frame: bytes) -> None:
        answers = connection.answers
        if answers is None:
            connection.answers = [frame]
            self._answered.append(connection)
        else:
            answers.append(frame)
        connection.unwritten_bytes += len(frame)

    def add_parts(self, connection: Connection, parts: list[Part], size: int) -> None:
        """Add one frame as several parts."""
        answers = connection.answers
        if answers is None:
            connection.answers = parts
            self._answered.append(connection)
        else:
            answers += parts
        connection.unwritten_bytes += size

    def take(self) -> list[Effect]:
        """Return the responses of this turn; each is returned once."""
        sends: list[Effect] = []
        if self._order is not None:
            self._order.shuffle(self._answered)
        for connection in self._answered:
            answers = connection.answers
            assert answers is not None
            sends.append(_new(Send, (connection, answers)))
            connection.answers = None
            connection.unwritten_bytes = 0
        self._answered.clear()
        return sends
