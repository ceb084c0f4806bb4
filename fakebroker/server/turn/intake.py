"""A limit for the bytes that all connections together receive in one turn of the event loop.

Theory   The loop reads every socket that has data, again and again as long as large reads fill the buffer, before it
         does anything else. Twenty clients that send 4 MiB each take 60 ms that way, most of which is the kernel that
         finds memory. So large reads are added up. A connection that reads beyond the limit is paused until the next
         turn. After the limit each read gets a small buffer, so that a thousand connections add little more.
         Five hundred connections that send 256 KiB each take as long, because their bytes are copied once more. Reads
         of less than 16 KiB are not counted: they bring requests, which have limits of their own.
Units    bytes.
"""

from __future__ import annotations

import asyncio
from typing import Final

from fakebroker.network.connection import Connection

__all__ = ["Intake"]

_LARGE_BYTES: Final = 16_384
_BYTES_IN_TURN: Final = 4_194_304
_LITTLE_BYTES: Final = 4_096  # still more than a few requests: network/socket_server.py


class Intake:
    """The limit of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._taken = 0  # bytes in this turn
        self._held: list[tuple[Connection, asyncio.ReadTransport]] = []
        self._next_turn: asyncio.Handle | None = None

    def stop(self) -> None:
        """Stop resuming paused connections."""
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None

    @property
    def is_holding(self) -> bool:
        """Return True if a paused transport may have unread data."""
        return bool(self._held)

    def room(self, buffer: memoryview) -> memoryview:
        """Return the part of the buffer that may be filled."""
        return buffer if self._taken < _BYTES_IN_TURN else buffer[:_LITTLE_BYTES]

    def was_read(self, connection: Connection, transport: asyncio.ReadTransport, size: int) -> None:
        """Count a read. Pause the connection if the turn's limit is reached."""
        if size < _LARGE_BYTES and self._taken < _BYTES_IN_TURN:
            return
        self._taken += size
        if self._next_turn is None:
            self._next_turn = self._loop.call_soon(self._begin_turn)
        if self._taken >= _BYTES_IN_TURN and not connection.reading_paused and not transport.is_closing():
            transport.pause_reading()
            self._held.append((connection, transport))

    def _begin_turn(self) -> None:
        """Begin a turn of the loop: resume the paused connections."""
        self._next_turn = None
        self._taken = 0
        held, self._held = self._held, []
        for connection, transport in held:
            if not connection.reading_paused and not transport.is_closing():
                transport.resume_reading()
