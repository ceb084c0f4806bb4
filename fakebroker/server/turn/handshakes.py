"""A limit for the handshakes of TLS that all connections together go on with in one turn of the event loop.

Theory   A step of a handshake takes OpenSSL up to a third of a millisecond, for the exchange of keys and the signature.
         When eight thousand clients begin at once, a client with an open connection would wait three seconds. So one
         turn does a few steps, and the others wait for theirs, in the order of their arrival. A connection that waits
         does not read, so that it keeps no more than its last read. A client that sends more records than one
         step decrypts takes the same turns.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from fakebroker.network.connection import Connection

__all__ = ["Handshakes"]

_STEPS_IN_TURN: Final = 4


class _WaitingHandshake(NamedTuple):
    connection: Connection
    transport: asyncio.Transport
    step: Callable[[], None]


class Handshakes:
    """The limit of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._left = _STEPS_IN_TURN
        self._waiting: deque[_WaitingHandshake] = deque()
        self._next_turn: asyncio.Handle | None = None

    def stop(self) -> None:
        """Forget what waits."""
        self._waiting.clear()
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None

    @property
    def is_holding(self) -> bool:
        """Return True if a step waits."""
        return bool(self._waiting)

    def take(self, connection: Connection, transport: asyncio.Transport, step: Callable[[], None]) -> None:
        """Do a step of the handshake of this connection: now, or when its turn comes."""
        if self._next_turn is None:
            self._next_turn = self._loop.call_soon(self._begin_turn)
        if self._left:
            self._left -= 1
            step()
            return
        if not connection.reading_paused and not transport.is_closing():
            transport.pause_reading()
        self._waiting.append(_WaitingHandshake(connection, transport, step))

    def _begin_turn(self) -> None:
        self._next_turn = None
        self._left = _STEPS_IN_TURN
        try:
            while self._waiting and self._left:
                self._left -= 1
                connection, transport, step = self._waiting.popleft()
                if transport.is_closing():
                    continue
                if not connection.reading_paused:
                    transport.resume_reading()
                step()
        finally:  # a step may have taken another one, and one that fails does not stop the others
            if self._left < _STEPS_IN_TURN and self._next_turn is None:
                self._next_turn = self._loop.call_soon(self._begin_turn)
