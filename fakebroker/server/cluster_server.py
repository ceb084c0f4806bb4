"""The cluster on the network: a listener per broker, one timer, and the core's effects performed in order.

Everything runs in the one thread of the event loop. Each door of the core is entered by one method here, which then
performs the effects and arms the timer.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fakebroker.cluster.cluster import Cluster
from fakebroker.network.connection import Connection
from fakebroker.network.effects import AwaitWrite, Close, Effect, InternalError, PauseReading, ResumeReading, Send, Warn
from fakebroker.server.clocks import AutoClock, Clock
from fakebroker.server.connection import KafkaConnection
from fakebroker.server.skipping import SkippingTimerDriver
from fakebroker.server.timer_driver import TimerDriver

log = logging.getLogger("fakebroker")

_TURNS_TO_OPEN = 3  # of the loop, from accepting a connection to connection_made(): asyncio takes 2, uvloop 1
# asyncio loses, and leaks, what it has accepted in the turn before the listener closes (python/cpython#109564): who had
# connected when a broker is told to stop is let in first, and closed.
_TURNS_BEFORE_CLOSE = 4
_TURNS_TO_READ = 6  # from a connect that is there to having handled what was sent with it: asyncio takes 4
_STEPS_AT_ONCE = 1000  # of skipped time, before the sockets have their turn
_RECEIVE_BYTES = 262_144  # read from a socket at once, as uvloop does by itself
_BACKLOG = 1024  # Kafka's 50 (socket.listen.backlog.size) drops connects when a load starts all of its connections


class ClusterServer:
    """Owns the sockets of a `Cluster`. Make it and use it on one running event loop."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self.cluster = cluster
        self.clock = clock
        self._start_ms = clock.reached().mono_ms
        self.receive_buffer = memoryview(bytearray(_RECEIVE_BYTES))
        self._loop = asyncio.get_running_loop()
        self._timer = (
            SkippingTimerDriver(self._loop, self._wake, clock, self._skip)
            if isinstance(clock, AutoClock)
            else TimerDriver(self._loop, self._wake, clock)
        )
        self._listeners: dict[int, asyncio.Server] = {}
        self._host = ""
        self._reserved: dict[int, socket.socket] = {}  # ports of stopped brokers
        self._protocols: dict[Connection, KafkaConnection] = {}
        self._turns = {broker_id: asyncio.Lock() for broker_id in cluster.nodes}  # to stop or start it
        self._stopped = False

    async def start(self, host: str, port: int, advertised_host: str) -> None:
        """Listen for broker i on `port + i - 1`, or on free ports if `port` is 0. Raises OSError if a port is taken;
        nothing is left open then."""
        self._host = host
        try:
            for node in self.cluster.nodes.values():
                listener = await self._listen(node.broker_id, port + node.broker_id - 1 if port else 0)
                node.advertised_host = advertised_host
                node.advertised_port = listener.sockets[0].getsockname()[1]
            for listener in self._listeners.values():
                await listener.start_serving()
        except OSError:
            await self.stop()
            raise
        self.settle()

    async def _listen(self, broker_id: int, port: int) -> asyncio.Server:
        """Take the port; connections are accepted once the listener is told to serve."""
        try:
            listener = await self._loop.create_server(
                lambda: KafkaConnection(self, broker_id), self._host, port, backlog=_BACKLOG, start_serving=False
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
        self._timer.stop()
        await _turns(_TURNS_BEFORE_CLOSE)
        for listener in self._listeners.values():
            listener.close()
        for reserved in self._reserved.values():
            reserved.close()
        for protocol in list(self._protocols.values()):
            protocol.transport.abort()
        await _turns(_TURNS_TO_OPEN)  # what was accepted just now is still to come, and `opened` aborts it
        for listener in self._listeners.values():
            await listener.wait_closed()
        while self._protocols:  # abort() reports connection_lost in the next turns of the loop
            await asyncio.sleep(0)
        self._timer.stop()  # what the lost connections left to do arms it again
        self._listeners.clear()
        self._reserved.clear()

    async def stop_broker(self, broker_id: int) -> None:
        """Close the broker's listener and connections. Its port is kept, so that nobody takes it meanwhile."""
        async with self._turn(broker_id):
            await self._stop_broker(broker_id)

    async def _stop_broker(self, broker_id: int) -> None:
        self.cluster.stop_broker(broker_id, self.clock.stamp())
        self.settle()
        listener = self._listeners.pop(broker_id, None)
        if listener is None:
            return
        await _turns(_TURNS_BEFORE_CLOSE)
        listener.close()
        for protocol in self._of_broker(broker_id):
            if protocol.transport.get_write_buffer_size():
                protocol.transport.abort()  # a peer that does not read would keep it open
        await _turns(_TURNS_TO_OPEN)
        await listener.wait_closed()
        while self._of_broker(broker_id):
            await asyncio.sleep(0)
        self._reserved[broker_id] = _reserve(self._host, self.cluster.nodes[broker_id].advertised_port)

    def _of_broker(self, broker_id: int) -> list[KafkaConnection]:
        return [protocol for connection, protocol in self._protocols.items() if connection.broker_id == broker_id]

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
        listener = await self._listen(broker_id, self.cluster.nodes[broker_id].advertised_port)
        self.cluster.start_broker(broker_id, self.clock.stamp())
        self.settle()
        await listener.start_serving()

    # Called by the connections.

    def opened(self, protocol: KafkaConnection, broker_id: int, peer: str, address: str) -> Connection:
        connection = self.cluster.open_connection(broker_id, peer, self.clock.stamp(), address)
        self._protocols[connection] = protocol
        if self._stopped or not self.cluster.is_running(broker_id):
            protocol.transport.abort()
        self._after_door()
        return connection

    def received(self, connection: Connection, data: bytes | memoryview) -> None:
        self.cluster.receive(connection, data, self.clock.stamp())
        self._after_door()

    def write_blocked(self, connection: Connection, blocked: bool) -> None:
        self.cluster.set_write_blocked(connection, blocked, self.clock.stamp())
        self._after_door()

    def lost(self, connection: Connection, error: Exception | None) -> None:
        self._protocols.pop(connection, None)
        left = connection.decoder.buffered
        if left and connection.can_handle:
            log.info("%s went away in the middle of a request: %d bytes of it had arrived", connection.peer, left)
        elif error is not None:
            log.debug("%s is lost: %s", connection.peer, error)
        self.cluster.connection_lost(connection, self.clock.stamp())
        self._after_door()

    # The loop's timer, and what is asked for from outside.

    def _wake(self) -> None:
        self.cluster.advance_to(self.clock.reached(), self.clock.stamp())
        self._after_door()

    def settle(self) -> None:
        """Perform what follows from a change that was made to the cluster directly."""
        self._after_door()

    def _after_door(self) -> bool:
        """Perform what is to be done outside; whether that was anything."""
        had_effects = False
        while effects := self.cluster.take_effects():
            had_effects = True
            self._perform(effects)
        self._timer.arm(self.cluster.next_deadline_ms())
        return had_effects

    @property
    def elapsed_ms(self) -> int:
        """Since this was made, by the broker's clock."""
        return self.clock.reached().mono_ms - self._start_ms

    # A clock that is moved (clocks.py).

    async def advance(self, ms: int) -> None:
        """Let so much time pass, each deadline at its own time; what is answered is written when this returns, as far
        as the peers take it. What has arrived comes before it, what clients send meanwhile after it."""
        await _turns(_TURNS_TO_READ)
        end_ms = self.clock.reached().mono_ms + ms
        while (deadline_ms := self.cluster.next_deadline_ms()) is not None and deadline_ms <= end_ms:
            self._move_to(deadline_ms)
        self._move_to(end_ms)

    async def advance_to_next_deadline(self) -> int | None:
        """Let time pass until the next of what somebody waits for; how much that was. None, and no time passes, if
        nobody waits for anything."""
        await _turns(_TURNS_TO_READ)
        if not self.cluster.has_deadlines:
            return None
        start_ms = self.clock.reached().mono_ms
        done = self.cluster.deadlines_met
        while self.cluster.has_deadlines and self.cluster.deadlines_met == done:
            deadline_ms = self.cluster.next_deadline_ms()
            assert deadline_ms is not None
            self._move_to(deadline_ms)
        return self.clock.reached().mono_ms - start_ms

    def _skip(self) -> None:
        """All is quiet: let time pass until something happens outside, if somebody waits for it."""
        if any(protocol.transport.get_write_buffer_size() for protocol in self._protocols.values()):
            return
        for _ in range(_STEPS_AT_ONCE):
            deadline_ms = self.cluster.next_deadline_ms()
            if deadline_ms is None or not self.cluster.is_awaited or self._move_to(deadline_ms):
                return

    def _move_to(self, mono_ms: int) -> bool:
        """Whether anything was to be done outside."""
        self._timer.stop()
        self.clock.move_to(mono_ms)
        self.cluster.advance_to(self.clock.reached(), self.clock.stamp())
        return self._after_door()

    def _perform(self, effects: list[Effect]) -> None:
        if len(effects) == 1:
            (effect,) = effects
            if type(effect) is Send:  # nearly always
                self._write(effect.connection, effect.frames)
                return
        frames: defaultdict[Connection, list[bytes]] = defaultdict(list)
        awaited: list[Connection] = []
        for effect in effects:
            if type(effect) is Send:
                frames[effect.connection] += effect.frames
                continue
            match effect:
                case PauseReading(connection):
                    if (transport := self._open_transport(connection)) is not None:
                        transport.pause_reading()
                case ResumeReading(connection):
                    if (transport := self._open_transport(connection)) is not None:
                        transport.resume_reading()
                case AwaitWrite(connection):
                    awaited.append(connection)
                case Close(connection, reason):
                    log.info("closed the connection from %s: %s", connection.peer, reason)
                    self._write(connection, frames.pop(connection, []))
                    if (transport := self._open_transport(connection)) is not None:
                        transport.close()
                case InternalError(what, error):
                    log.error("bug in fakebroker: %s failed", what, exc_info=error)
                case Warn(text):
                    log.warning(text)
        for connection, parts in frames.items():
            self._write(connection, parts)
        for connection in awaited:
            protocol = self._protocols.get(connection)
            if protocol is not None and not protocol.writing_paused:
                self.cluster.set_write_blocked(connection, False, self.clock.stamp())

    def _write(self, connection: Connection, parts: list[bytes]) -> None:
        """All answers of one turn in one write, at once: uvloop too does not wait, since its buffer's limit is 0."""
        protocol = self._protocols.get(connection)
        if protocol is not None and parts and not protocol.transport.is_closing():
            protocol.transport.write(parts[0] if len(parts) == 1 else b"".join(parts))

    def _open_transport(self, connection: Connection) -> asyncio.Transport | None:
        protocol = self._protocols.get(connection)
        return None if protocol is None or protocol.transport.is_closing() else protocol.transport


async def _turns(count: int) -> None:
    """Let the loop go round so many times."""
    for _ in range(count):
        await asyncio.sleep(0)


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
