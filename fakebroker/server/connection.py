"""One socket: bytes in to the core, the core's bytes out. No decision is taken here."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, cast

from fakebroker.network.connection import Connection

if TYPE_CHECKING:
    from fakebroker.server.cluster_server import ClusterServer


class KafkaConnection(asyncio.BufferedProtocol):
    """The transport's callbacks, for one connection to one broker."""

    connection: Connection
    transport: asyncio.Transport
    _buffer: memoryview

    def __init__(self, server: ClusterServer, broker_id: int) -> None:
        self._server = server
        self._shared = server.receive_buffer
        self._broker_id = broker_id
        self.writing_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # asyncio and uvloop set TCP_NODELAY themselves
        # So pause_writing says "not completely written" and resume_writing "completely written", as Kafka counts it.
        self.transport.set_write_buffer_limits(high=0)
        self.connection = self._server.opened(self, self._broker_id, *_peer(transport))

    def get_buffer(self, sizehint: int) -> memoryview:
        """The rest of a large frame goes where it belongs, all else by way of the buffer that all connections share:
        the loops read, and tell of it, without doing anything else in between."""
        self._buffer = self.connection.decoder.get_buffer() or self._shared
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        data = self._buffer[:nbytes]
        self._server.received(self.connection, bytes(data) if self._buffer is self._shared else data)

    def pause_writing(self) -> None:
        self.writing_paused = True
        self._server.write_blocked(self.connection, True)

    def resume_writing(self) -> None:
        self.writing_paused = False
        self._server.write_blocked(self.connection, False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.lost(self.connection, exc)


def _peer(transport: asyncio.BaseTransport) -> tuple[str, str]:
    """Its name in logs, and its IP address."""
    address = transport.get_extra_info("peername")
    return (f"{address[0]}:{address[1]}", address[0]) if address else ("unknown peer", "")
