"""What all connections together may bring in one turn of the event loop.

Theory   The loop reads every socket that has something, again and again as long as large reads come back full, before
         it does anything else. Twenty clients that send 4 MiB each so take it for 60 ms, most of which is the kernel
         that finds memory. So large reads are added up; who reads beyond the bound is held until the loop has gone
         round, and has room for a little only, so that a thousand of them bring no more than that.
         Five hundred of them that send 256 KiB each, whose bytes are copied once more, take as long. Reads of less than
         16 KiB are not looked at: what they bring is requests, which have turns of their own.
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
    """Of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._taken = 0  # in this turn
        self._held: list[tuple[Connection, asyncio.ReadTransport]] = []
        self._next_turn: asyncio.Handle | None = None

    def stop(self) -> None:
        """Nobody is let in any more."""
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None

    @property
    def is_holding(self) -> bool:
        """Whether somebody may have more who was not read for it."""
        return bool(self._held)

    def room(self, buffer: memoryview) -> memoryview:
        """As much of it as may be read into."""
        return buffer if self._taken < _BYTES_IN_TURN else buffer[:_LITTLE_BYTES]

    def was_read(self, connection: Connection, transport: asyncio.ReadTransport, size: int) -> None:
        """So many bytes came; maybe they are enough for this turn."""
        if size < _LARGE_BYTES and self._taken < _BYTES_IN_TURN:
            return
        self._taken += size
        if self._next_turn is None:
            self._next_turn = self._loop.call_soon(self._begin_turn)
        if self._taken >= _BYTES_IN_TURN and not connection.reading_paused and not transport.is_closing():
            transport.pause_reading()
            self._held.append((connection, transport))

    def _begin_turn(self) -> None:
        """The loop has gone round."""
        self._next_turn = None
        self._taken = 0
        held, self._held = self._held, []
        for connection, transport in held:
            if not connection.reading_paused and not transport.is_closing():
                transport.resume_reading()
