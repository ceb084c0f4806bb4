"""One connection's socket: passes received bytes to the core, and the core's bytes to the socket. It decides
nothing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import cast

from fakebroker.network.connection import Connection
from fakebroker.server.driver import Driver
from fakebroker.server.made.arguments import ListenerAddresses
from fakebroker.server.tls.contexts import Contexts
from fakebroker.server.tls.transport import HandshakeError, TlsTransport

_MAPPED = "::ffff:"  # prefix of an IPv4 address at a dual-stack socket
_HANDSHAKE_BYTES = 16_384  # per read during a handshake of TLS, which may have to wait


class KafkaProtocol(asyncio.BufferedProtocol):
    """The transport's callbacks, for one connection to one broker.

    `driver` returns the driver of the cluster, once the connection is open. `is_refused` returns True for a broker and
    a descriptor if the broker has stopped meanwhile, or no more files can be opened. `shared` is a buffer for the reads
    of all connections. `place` is where the client connected to. `contexts` are those of TLS; without them the
    connection is in plain text.
    """

    connection: Connection
    _driver: Driver
    transport: asyncio.Transport
    _tls: TlsTransport | None
    _buffer: memoryview
    _is_own: bool

    def __init__(
        self,
        driver: Callable[[], Driver],
        broker_id: int,
        shared: memoryview,
        is_refused: Callable[[int, int], bool],
        place: ListenerAddresses,
        contexts: Contexts | None,
    ) -> None:
        self._present_driver = driver
        self._shared = shared
        self._broker_id = broker_id
        self._is_refused = is_refused
        self._place = place
        self._contexts = contexts

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._driver = self._present_driver()
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # asyncio and uvloop set TCP_NODELAY themselves
        # With this limit pause_writing means "not completely written" and resume_writing "completely written", as Kafka
        # counts it.
        self.transport.set_write_buffer_limits(high=0)
        listener = self._place.listener
        if self._place.is_dialled:
            listener = listener._replace(address=_dialled(transport))
        self._tls = None
        if self._contexts is not None:
            config = self._driver.config_of(self._broker_id, listener)
            context = self._contexts.context(config, self._broker_id, listener.name)
            self.transport = self._tls = TlsTransport(self.transport, context)
        self.connection = self._driver.opened(self.transport, self._broker_id, *_peer(transport), listener)
        if self._is_refused(self._broker_id, sock.fileno()):
            self.transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the place for the next bytes. The rest of a large frame is read into its own buffer, all else into the
        buffer that all connections share. Sharing is safe: the loops report each read before they start another one."""
        if self._tls is not None:
            self._is_own = False
            self._buffer = self._driver.room(self._shared if self._tls.is_ready else self._shared[:_HANDSHAKE_BYTES])
            return self._buffer
        own = self._driver.receive_buffer(self.connection)
        self._is_own = own is not None
        self._buffer = self._driver.room(self._shared if own is None else own)
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        data = self._buffer[:nbytes]
        if self._tls is None:
            self._driver.received(self.connection, data if self._is_own else bytes(data))
            return
        self._tls.feed(data)
        if self._tls.is_ready:
            self._go_on(self._tls)
        else:
            self._driver.handshakes.take(self.connection, self._tls, partial(self._go_on, self._tls))

    def _go_on(self, tls: TlsTransport) -> None:
        was_ready = tls.is_ready
        try:
            received = tls.go_on()
        except HandshakeError as error:
            self._driver.handshake_failed(self.connection, str(error))
            return
        if tls.is_ready and not was_ready:
            self._driver.handshake_done(self.connection, tls.peer_subject)
        if received:
            self._driver.received(self.connection, received, tls.records)
        if tls.has_more:
            self._driver.handshakes.take(self.connection, tls, partial(self._go_on, tls))
        elif tls.has_ended and not self.connection.reading_paused:  # else a request waits, and the end behind it
            tls.close()

    def pause_writing(self) -> None:
        self._driver.write_blocked(self.connection, True)

    def resume_writing(self) -> None:
        self._driver.write_blocked(self.connection, False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._driver.lost(self.connection, exc)


def _dialled(transport: asyncio.BaseTransport) -> str:
    """Return the local address of the connection: the one that the client connected to, unless something between has
    changed it."""
    address = transport.get_extra_info("sockname")
    return str(address[0]).removeprefix(_MAPPED) if address else ""


def _peer(transport: asyncio.BaseTransport) -> tuple[str, str]:
    """Return the peer's name in logs, and its IP address."""
    address = transport.get_extra_info("peername")
    return (f"{address[0]}:{address[1]}", address[0]) if address else ("unknown peer", "")
