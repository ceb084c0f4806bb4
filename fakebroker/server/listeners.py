"""The ports of the brokers: a listener for each that runs, and what is kept of one that is stopped.

Source   core/.../network/SocketServer.scala Acceptor @ 4.0.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fakebroker.server.driver import Driver
from fakebroker.server.kafka_protocol import KafkaProtocol
from fakebroker.server.made.arguments import Place
from fakebroker.server.running.no_more_files import Files
from fakebroker.server.turn.turns import turns

log = logging.getLogger("fakebroker")

_TURNS_TO_OPEN = 3  # of the loop, from accepting a connection to connection_made(): asyncio takes 2, uvloop 1
# asyncio loses, and leaks, what it has accepted in the turn before the listener closes (python/cpython#109564): who had
# connected when a broker is told to stop is let in first, and closed.
_TURNS_BEFORE_CLOSE = 4
_RECEIVE_BYTES = 262_144  # read from a socket at once, as uvloop does by itself
_BACKLOG = 1024  # Kafka's 50 (socket.listen.backlog.size) drops connects when a load starts all of its connections


class Listeners:
    """Owns the ports of a cluster's brokers. Make it and use it on one running event loop."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._cluster = driver.cluster
        self._loop = asyncio.get_running_loop()
        self._receive_buffer = memoryview(bytearray(_RECEIVE_BYTES))
        self._listeners: dict[int, asyncio.Server] = {}
        self._host = ""
        self._ports: dict[int, int] = {}
        self._reserved: dict[int, socket.socket] = {}  # ports of stopped brokers
        # Taken by who stops or starts a broker.
        self._turns = {broker_id: asyncio.Lock() for broker_id in self._cluster.registry.broker_ids}
        self._stopped = False
        self._files = Files(driver.told)

    async def start(self, place: Place) -> None:
        """Listen for all brokers. Raises OSError if a port is taken; nothing is left open then, nor if it is
        cancelled."""
        self._host = place.host
        try:
            for index, broker_id in enumerate(self._cluster.registry.broker_ids):
                listener = await self._listen(broker_id, place.port_of(index))
                port = self._ports[broker_id] = listener.sockets[0].getsockname()[1]
                self._cluster.set_endpoint(broker_id, place.advertised_host, place.advertised_port_of(index, port))
            for listener in self._listeners.values():
                await listener.start_serving()
        except BaseException:
            await self.stop()
            raise
        self._driver.settle()

    async def _listen(self, broker_id: int, port: int) -> asyncio.Server:
        """Take the port; connections are accepted once the listener is told to serve."""
        try:
            listener = await self._loop.create_server(
                lambda: KafkaProtocol(self._driver, broker_id, self._receive_buffer, self._is_refused),
                self._host,
                port,
                backlog=_BACKLOG,
                start_serving=False,
            )
        except socket.gaierror as error:
            raise socket.gaierror(error.errno, f"the host {self._host!r} is not known: {error.strerror}") from None
        except ValueError as error:  # no resolver can be asked for it
            raise socket.gaierror(socket.EAI_NONAME, f"the host {self._host!r} is no host name: {error}") from error
        self._listeners[broker_id] = listener
        return listener

    async def stop(self) -> None:
        """Close the listeners and every connection. What was parked is not answered, as when a broker stops."""
        self._stopped = True
        for turn in self._turns.values():  # who comes later finds that all is stopped
            async with turn:
                pass
        self._driver.stop()
        await turns(_TURNS_BEFORE_CLOSE)
        for listener in self._listeners.values():
            listener.close()
        for reserved in self._reserved.values():
            reserved.close()
        for transport in list(self._driver.transports.values()):
            transport.abort()
        await turns(_TURNS_TO_OPEN)  # what was accepted just now is still to come, and refused
        for listener in self._listeners.values():
            await listener.wait_closed()
        while self._driver.transports:  # abort() reports connection_lost in the next turns of the loop
            await asyncio.sleep(0)
        self._driver.stop()  # what the lost connections left to do arms it again
        self._listeners.clear()
        self._reserved.clear()

    async def stop_broker(self, broker_id: int) -> None:
        """Close the broker's listener and connections. Its port is kept, so that nobody takes it meanwhile."""
        async with self._turn(broker_id):
            await self._stop_broker(broker_id)

    async def _stop_broker(self, broker_id: int) -> None:
        self._cluster.stop_broker(broker_id, self._driver.clock.stamp())
        self._driver.settle()
        listener = self._listeners.pop(broker_id, None)
        if listener is None:
            return
        await turns(_TURNS_BEFORE_CLOSE)
        listener.close()
        for transport in self._of_broker(broker_id):
            if transport.get_write_buffer_size():
                transport.abort()  # a peer that does not read would keep it open
        await turns(_TURNS_TO_OPEN)
        await listener.wait_closed()
        while self._of_broker(broker_id):
            await asyncio.sleep(0)
        self._reserved[broker_id] = _reserve(self._host, self._ports[broker_id])

    def descriptors(self) -> list[int]:
        """Of all that is open: ports, those that are kept, connections."""
        sockets = [sock for listener in self._listeners.values() for sock in listener.sockets]
        connected = [transport.get_extra_info("socket") for transport in self._driver.transports.values()]
        return [sock.fileno() for sock in (*sockets, *self._reserved.values(), *connected) if sock is not None]

    def _of_broker(self, broker_id: int) -> list[asyncio.Transport]:
        transports = self._driver.transports
        return [transport for connection, transport in transports.items() if connection.broker_id == broker_id]

    def _is_refused(self, broker_id: int, descriptor: int) -> bool:
        return self._stopped or not self._cluster.is_running(broker_id) or self._files.are_short(descriptor)

    async def start_broker(self, broker_id: int) -> None:
        """Listen again, on the same port. Raises OSError if somebody has taken it; the broker stays stopped then."""
        async with self._turn(broker_id):
            await self._start_broker(broker_id)

    @asynccontextmanager
    async def _turn(self, broker_id: int) -> AsyncIterator[None]:
        """One after the other: both wait for the sockets half way."""
        async with self._turns[broker_id]:
            if self._stopped:
                raise RuntimeError("the cluster is not running: it has been stopped meanwhile")
            yield

    async def _start_broker(self, broker_id: int) -> None:
        if broker_id in self._listeners:
            return
        reserved = self._reserved.pop(broker_id, None)
        if reserved is not None:
            reserved.close()
        listener = await self._listen(broker_id, self._ports[broker_id])
        self._cluster.start_broker(broker_id, self._driver.clock.stamp())
        self._driver.settle()
        await listener.start_serving()


def _reserve(host: str, port: int) -> socket.socket:
    """A socket that has the port and refuses connections."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    reserved = socket.socket(family, kind, protocol)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        reserved.bind(address)
    except OSError:
        log.debug("port %d could not be kept", port)
    return reserved
