"""The ports of the brokers: a listener for each that runs, and what is kept of one that is stopped.

Source   core/.../network/SocketServer.scala Acceptor @ 4.0.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import chain

from fakebroker.server.driver import Driver
from fakebroker.server.kafka_protocol import KafkaProtocol
from fakebroker.server.made.arguments import Place
from fakebroker.server.running.no_more_files import Files
from fakebroker.server.running.one_port import bound_host, on_one_port
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
        self._loop = asyncio.get_running_loop()
        self._receive_buffer = memoryview(bytearray(_RECEIVE_BYTES))
        self._listeners: dict[int, asyncio.Server] = {}
        self._place = Place("", 0, "", 0)
        self._ports: dict[int, int] = {}
        self._reserved: dict[int, list[socket.socket]] = {}  # ports of stopped brokers
        # Taken by who stops or starts a broker.
        self._turns = {broker_id: asyncio.Lock() for broker_id in driver.cluster.registry.broker_ids}
        self._stopped = False
        self._changes: dict[int, asyncio.Task[None]] = {}  # of ports that are opened or closed
        driver.on_listening = self._on_listening
        self._files = Files(driver.told)

    async def start(self, place: Place) -> None:
        """Listen for all brokers. Raises OSError if a port is taken; nothing is left open then, nor if it is
        cancelled."""
        self._place = place
        try:
            for index, broker_id in enumerate(self._turns):
                listener = await self._listen(broker_id, place.port_of(index))
                self._ports[broker_id] = listener.sockets[0].getsockname()[1]
            self._tell_endpoints()
            for listener in self._listeners.values():
                await listener.start_serving()
        except BaseException:
            await self.stop()
            raise
        self._driver.settle()

    async def _listen(self, broker_id: int, port: int) -> asyncio.Server:
        """Take the port; connections are accepted once the listener is told to serve."""
        try:
            listener = await on_one_port(
                lambda port: self._loop.create_server(
                    lambda: KafkaProtocol(
                        self._present_driver, broker_id, self._receive_buffer, self._is_refused, self._place.is_dialled
                    ),
                    bound_host(self._place.host),
                    port,
                    backlog=_BACKLOG,
                    start_serving=False,
                ),
                port,
            )
        except socket.gaierror as error:
            host = self._place.host
            raise socket.gaierror(error.errno, f"the host {host!r} is not known: {error.strerror}") from None
        except ValueError as error:  # no resolver can be asked for it
            host = self._place.host
            raise socket.gaierror(socket.EAI_NONAME, f"the host {host!r} is no host name: {error}") from error
        self._listeners[broker_id] = listener
        return listener

    def _tell_endpoints(self) -> None:
        place = self._place
        for index, broker_id in enumerate(self._turns):
            port = place.advertised_port_of(index, self._ports[broker_id])
            self._driver.cluster.set_endpoint(broker_id, place.advertised_host, port)
            self._driver.cluster.set_bound(broker_id, place.host, self._ports[broker_id])

    async def replace(self, new_driver: Callable[[], Driver]) -> None:
        """Serve another cluster of the same brokers, on the same ports: who is connected is closed, and who connects
        from now on comes to that one. All its brokers run. `new_driver` is called, once nobody stops or starts any."""
        async with AsyncExitStack() as stack:
            for broker_id in self._turns:
                await stack.enter_async_context(self._turn(broker_id))
            await self._changed()
            for broker_id in self._turns:
                if broker_id not in self._listeners:
                    await self._listen_again(broker_id)
            old, self._driver = self._driver, new_driver()
            old.on_listening, self._driver.on_listening = _ignore, self._on_listening
            self._files = Files(self._driver.told)
            self._tell_endpoints()
            old.stop()
            for transport in old.transports.values():
                transport.abort()  # before any await: no client is given an id of the old life behind `new_driver`
            try:
                for listener in self._listeners.values():
                    await listener.start_serving()  # which most do
                while old.transports:  # abort() reports connection_lost in the next turns of the loop
                    await asyncio.sleep(0)
            finally:
                old.stop()  # what the lost connections left to do arms it again
                self._driver.settle()

    async def stop(self) -> None:
        """Close the listeners and every connection. What was parked is not answered, as when a broker stops."""
        self._stopped = True
        for turn in self._turns.values():  # who comes later finds that all is stopped
            async with turn:
                pass
        await self._changed()
        self._driver.stop()
        await turns(_TURNS_BEFORE_CLOSE)
        for listener in self._listeners.values():
            listener.close()
        for reserved in self._reserved.values():
            _close_all(reserved)
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
        """Stop a broker in order; once it has stopped its port is kept, so that nobody takes it meanwhile. Raises
        ValueError for one that stands still."""
        async with self._turn(broker_id):
            self._driver.cluster.stop_broker(broker_id, self._driver.clock.stamp())
            await self._settle(broker_id)

    async def kill_broker(self, broker_id: int) -> None:
        """Kill a broker; its port is kept as well."""
        async with self._turn(broker_id):
            self._driver.cluster.kill_broker(broker_id, self._driver.clock.stamp())
            await self._settle(broker_id)

    async def pause_broker(self, broker_id: int) -> None:
        """Let a broker stand still; its port and its connections stay open. Raises ValueError if it does not run."""
        async with self._turn(broker_id):
            self._driver.cluster.pause_broker(broker_id, self._driver.clock.stamp())
            self._driver.settle()

    async def resume_broker(self, broker_id: int) -> None:
        """Let it go on. Raises ValueError if it has no process."""
        async with self._turn(broker_id):
            self._driver.cluster.resume_broker(broker_id, self._driver.clock.stamp())
            self._driver.settle()

    async def _settle(self, broker_id: int) -> None:
        """What was decided is done, the port too. What takes the controller's time is not waited for."""
        self._driver.settle()
        change = self._changes.get(broker_id)
        if change is not None:
            await change

    async def _changed(self) -> None:
        """What is under way is done."""
        await asyncio.gather(*self._changes.values(), return_exceptions=True)

    def _on_listening(self, broker_id: int, listens: bool) -> None:
        """The broker has come up, or gone."""
        before = self._changes.get(broker_id)
        task = self._loop.create_task(self._change(broker_id, listens, before))
        self._changes[broker_id] = task

    async def _change(self, broker_id: int, listens: bool, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        try:
            if listens:
                if broker_id not in self._listeners:  # nobody here was asked: a fault has started it
                    await self._listen_again(broker_id)
                await self._listeners[broker_id].start_serving()
            else:
                await self._close_port(broker_id)
        except OSError as error:
            log.error("broker %d runs, but nobody can connect: %s", broker_id, error)
        if self._changes.get(broker_id) is asyncio.current_task():
            del self._changes[broker_id]

    async def _close_port(self, broker_id: int) -> None:
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
        self._reserved[broker_id] = _reserve(self._place.host, self._ports[broker_id])

    def _present_driver(self) -> Driver:
        return self._driver

    def descriptors(self) -> list[int]:
        """Of all that is open: ports, those that are kept, connections."""
        sockets = [sock for listener in self._listeners.values() for sock in listener.sockets]
        connected = [transport.get_extra_info("socket") for transport in self._driver.transports.values()]
        return [sock.fileno() for sock in (*sockets, *chain(*self._reserved.values()), *connected) if sock is not None]

    def _of_broker(self, broker_id: int) -> list[asyncio.Transport]:
        transports = self._driver.transports
        return [transport for connection, transport in transports.items() if connection.broker_id == broker_id]

    def _is_refused(self, broker_id: int, descriptor: int) -> bool:
        return (
            self._stopped or not self._driver.cluster.takes_connections(broker_id) or self._files.are_short(descriptor)
        )

    async def start_broker(self, broker_id: int) -> None:
        """Start a broker that was stopped or killed: it listens on the same port as soon as it has registered. Raises
        OSError if somebody has taken the port; the broker stays as it was then. ValueError if it stands still."""
        async with self._turn(broker_id):
            if (change := self._changes.get(broker_id)) is not None:
                await change
            if broker_id not in self._listeners:
                await self._listen_again(broker_id)
            self._driver.cluster.start_broker(broker_id, self._driver.clock.stamp())
            await self._settle(broker_id)

    @asynccontextmanager
    async def _turn(self, broker_id: int) -> AsyncIterator[None]:
        """One after the other: both wait for the sockets half way."""
        async with self._turns[broker_id]:
            if self._stopped:
                raise RuntimeError("the cluster is not running: it has been stopped meanwhile")
            yield

    async def _listen_again(self, broker_id: int) -> None:
        _close_all(self._reserved.pop(broker_id, ()))
        await self._listen(broker_id, self._ports[broker_id])


def _ignore(broker_id: int, listens: bool) -> None:
    """Nobody listens for that cluster any more."""


def _reserve(host: str, port: int) -> list[socket.socket]:
    """Sockets that have the port on each address of the host, and refuse connections."""
    found = []
    for family, kind, protocol, _, address in socket.getaddrinfo(
        bound_host(host), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    ):
        try:
            reserved = socket.socket(family, kind, protocol)
        except OSError:  # the machine has no such family
            continue
        found.append(reserved)
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            reserved.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            reserved.bind(address)
        except OSError:
            log.debug("port %d could not be kept on %s", port, address[0])
    return found


def _close_all(sockets: Iterable[socket.socket]) -> None:
    for each in sockets:
        each.close()
