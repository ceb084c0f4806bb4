"""The connections of all brokers: admitted, read, handled one request at a time, throttled, closed.

Theory   Connections with something to handle are in a queue. `poll` takes some requests of the first one, as long as
         their responses come at once, or one slice of long work. Then it goes on to the next one. A response or a
         wake-up puts its connection into that queue, so no request is ever handled inside another. Queued connections
         are not read: what a client sends ahead waits at its own side. Only this module changes the state of a
         connection; `connection.py` has its table.
Source   core/.../network/SocketServer.scala Processor @ 4.0: processCompletedReceives, processNewResponses,
         processCompletedSends, tryUnmuteChannel, close. How connections come in is in acceptor.py.
Differs  Kafka takes one request of a connection at a time. Here it is a few, so that their responses are sent together:
         with 64 connections that pipeline, one at a time takes a third longer. Clients with one request do not wait for
         all of those (ready_queue.py).
         Kafka unmutes when the response is completely written. Here the responses to requests of one read are sent
         together. Once they reach what Kafka's socket takes (socket.send.buffer.bytes), nothing is handled until they
         are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Final, final

from fakebroker.core.clock import HasNow
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.ip_overrides import normalized
from fakebroker.core.journal.events import Answer, ConnectionClosed, ConnectionOpened, Request, Throttled
from fakebroker.core.probe import Probe
from fakebroker.core.purgatory.deadlines import ClientDeadlines
from fakebroker.core.security.identity import Listener
from fakebroker.network.acceptor import Acceptor
from fakebroker.network.answers import Answers
from fakebroker.network.authentication_failures import AuthenticationFailures
from fakebroker.network.connection import ChannelMuteState, Connection, Event
from fakebroker.network.effects import AwaitWrite, Close, Effect, SendInPieces
from fakebroker.network.idle_expiry import IdleExpiryManager
from fakebroker.network.open_connections import OpenConnections
from fakebroker.network.reading import Reading
from fakebroker.network.ready_queue import ReadyQueue
from fakebroker.network.request_memory import RequestMemory
from fakebroker.network.strangers import in_place_of_length
from fakebroker.network.throttled_channel import Throttling
from fakebroker.protocol.answers.pieces import FrameInPieces
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.framing import FrameDecoder
from timingwheel import SystemTimer

_SEND_BUFFER_BYTES: Final = 102_400  # socket.send.buffer.bytes, which are "completely written" before the peer reads
_BYTES_AT_ONCE: Final = 16_384  # bytes of one connection per turn
_FEW_BYTES: Final = 1_024  # behind the first request: a client with more of them is busy, not occasional
_NO_MORE_BYTES = FrameDecoder(0)  # for closed connections: drops what the peer had sent ahead
_REQUEST: Final = Event.REQUEST
_RESPONDED: Final = Event.RESPONDED
_WAITING: Final = ChannelMuteState.WAITING


@final
class SocketServer:
    """The connections of all brokers. Effects go to `emit`, but responses of a turn to `take_answers`. `order`, if
    given, draws the next request and the next response."""

    def __init__(
        self,
        broker_ids: Iterable[int],
        config: BrokerConfig,
        timer: SystemTimer,
        idle_deadlines: ClientDeadlines,
        emit: Callable[[Effect], None],
        clock: HasNow,
        probe: Probe,
        order: Random | None = None,
    ) -> None:
        self._emit = emit
        self._ready = ReadyQueue(order)
        windows = config.quota_window_num, config.quota_window_size_seconds * 1000
        self.connections = OpenConnections(broker_ids, *windows)
        self._standing = self.connections.standing
        self._acceptor = Acceptor(self.connections, timer, clock, self._admit, self._refuse, self.close)
        self.reading = Reading(emit, self.connections, self._ready, self._acceptor)
        self._max_request_bytes = config.socket_request_max_bytes
        self.clock, self._probe, self._opened = clock, probe, 0
        self._throttling = Throttling(timer, self._ready)
        self._in_turn: Connection | None = None  # the connection at its turn
        self._requests_left = self._bytes_left = 0  # what may be handled before the next one's turn
        self.answers = Answers(order)
        self._failures = AuthenticationFailures(config.connection_failed_authentication_delay_ms, timer, clock)
        self._idle = IdleExpiryManager(
            config.connections_max_idle_ms, idle_deadlines, clock, self.close, self._standing
        )
        size = config.queued_max_request_bytes
        self._memory = {id_: RequestMemory(size, self._ready) for id_ in self.connections.quotas} if size > 0 else None
        self.configure(lambda _: config)

    def configure(self, of: Callable[[int], BrokerConfig]) -> None:
        """Set the limits of each broker. Admit waiting connections that may be admitted now; close none."""
        self.connections.configure(of)
        for broker_id in self.connections.quotas:
            self._acceptor.let_in(broker_id)

    # Calls from outside. The caller then handles what `poll` returns.

    def open(self, broker_id: int, peer: str, address: str, listener: Listener) -> Connection:
        """Open a client's connection. It is admitted, closed at once, or waits for another one to be closed."""
        self._opened += 1
        connection = Connection(broker_id, peer, normalized(address), self._max_request_bytes, self._opened, listener)
        if self._probe.listeners:
            self._probe.tell(ConnectionOpened(*self._probe.times, connection.number, broker_id, peer))
        self.connections.add(connection)
        self._acceptor.let_in(broker_id)
        if connection.state is _WAITING:
            self.reading.pause(connection)
        return connection

    def receive(self, connection: Connection, data: bytes | memoryview) -> None:
        """Receive bytes."""
        if connection.is_closed:
            return
        connection.trail.received_bytes += len(data)
        if self._probe.listeners and self._probe.hears(Request):
            connection.trail.arrived(self.clock.now.mono_ms)
        connection.decoder.feed(data)
        if connection.state is not _WAITING:
            self._idle.update(connection)
        if connection.can_handle:
            if len(data) > _FEW_BYTES and connection.decoder.behind_next > _FEW_BYTES:
                self._ready.add(connection)
            else:
                self._ready.add_fresh(connection)

    def received(self, connection: Connection) -> None:
        """End the read: pause a connection that has a current request, or more than one turn's requests."""
        if connection.is_queued or not connection.can_handle:
            self.reading.pause(connection)

    def set_write_blocked(self, connection: Connection, blocked: bool) -> None:
        """Note that the last response is not completely written, or that it is now."""
        if connection.is_closed or connection.write_blocked == blocked:
            return
        connection.write_blocked = blocked
        if blocked:
            self.reading.pause(connection)
            return
        self._idle.update(connection)
        if connection.can_handle:
            self._ready.add(connection)

    def lost(self, connection: Connection) -> int:
        """Close the connection of a peer that has disconnected. Its current request goes on, without a response. Return
        the number of bytes of an incomplete request."""
        if connection.is_closed:
            return 0
        unfinished = connection.decoder.buffered if connection.can_handle else 0
        self._tell_closed(connection, "")
        self._release(connection)
        return unfinished

    def poll(self) -> Connection | None:
        """Return the next connection at its turn: continue its `work`, or else handle its `request`."""
        connection = self._in_turn
        if connection is not None:
            self._in_turn = None
            if connection.can_handle and connection.broker_id not in self._standing:
                if self._requests_left == 0 or self._bytes_left <= 0:
                    self._put_back(connection)
                elif self._take_request(connection):
                    return connection
        while (connection := self._ready.pop()) is not None:
            if connection.broker_id in self._standing:
                continue  # it is checked when the broker is resumed
            if connection.work is not None:
                return connection
            if connection.can_handle:
                self._requests_left = self._ready.share
                self._bytes_left = _BYTES_AT_ONCE
                if self._take_request(connection):
                    return connection
        return None

    def end_turn(self) -> None:
        """End the turn: the caller handles nothing more for now."""
        connection, self._in_turn = self._in_turn, None
        if connection is not None and connection.can_handle:
            self._put_back(connection)

    def goes_on(self, connection: Connection) -> None:
        """Queue the connection: it has more work."""
        self._ready.add(connection)

    @property
    def has_work(self) -> bool:
        return len(self._ready) > 0

    def _take_request(self, connection: Connection) -> bool:
        if self._memory is not None and not self._memory[connection.broker_id].take(connection):
            self.reading.pause(connection)
            return False
        try:
            frame = connection.decoder.next_in_parts()
        except ProtocolError as error:
            self._refuse_frame(connection, f"bad frame: {error}{in_place_of_length(connection.decoder.claimed)}")
            return False
        if frame is None:
            self.reading.resume(connection)
            return False
        self._idle.update(connection)  # Kafka reads it from the socket only now
        connection.on(_REQUEST)
        connection.request = frame
        size = len(frame)
        self._in_turn = connection
        self._requests_left -= 1
        self._bytes_left -= size
        return True

    def _refuse_frame(self, connection: Connection, reason: str) -> None:
        authenticator = connection.authenticator
        if authenticator is None or authenticator.is_complete:
            self.close(connection, reason)
        else:
            connection.on(_REQUEST)
            authenticator.refuse_frame()

    def take_answers(self) -> list[Effect]:
        """Return the responses of this turn."""
        return self.answers.take()

    def handled(self, connection: Connection) -> None:
        """Return the memory of a request that was handled, though it may have no response yet."""
        if self._memory is not None:
            self._memory[connection.broker_id].give_back(connection)

    # Calls from the handlers.

    def answer(self, connection: Connection, frame: bytes | None) -> None:
        """Send the response to the current request, or none if `frame` is None. Drop it if the connection is closed."""
        if self._probe.listeners and self._probe.hears(Answer):
            self.tell_answer(connection, None if frame is None else len(frame))
        if connection.is_closed:
            return
        if frame is not None:
            self.answers.add(connection, frame)
            self._idle.update(connection)
        self.responded(connection)

    def send(self, connection: Connection, frame: bytes) -> None:
        """Send a response that no event tells, to a message of the authentication."""
        if not connection.is_closed:
            self.answers.add(connection, frame)
            self._idle.update(connection)
            self.responded(connection)

    def close_failed(self, connection: Connection, reason: str, last: bytes | None) -> None:
        """Close the connection of a client that failed to authenticate, after the delay of failures. It is not read
        until then. `last` is sent just before the close."""
        self._failures.delay(connection, reason, last, self._send_last)

    def _send_last(self, connection: Connection, reason: str, last: bytes | None) -> None:
        if connection.broker_id in self._standing:  # a paused process sends nothing
            self.close_failed(connection, reason, last)
        elif not connection.is_closed:
            if last is not None and connection.plan is not None:
                connection.plan.take_last(last, reason)
                return
            if last is not None:
                self.answers.add(connection, last)
            self.close(connection, reason)

    def tell_answer(self, connection: Connection, frame_bytes: int | None) -> None:
        """Tell the end of the current request. Its response has so many bytes; None if it has no response."""
        self._probe.tell(connection.trail.end(self._probe.times, connection.number, connection.is_closed, frame_bytes))

    def responded(self, connection: Connection) -> None:
        if connection.unwritten_bytes >= _SEND_BUFFER_BYTES and not connection.write_blocked:
            connection.write_blocked = True
            self._emit(AwaitWrite(connection))
        connection.on(_RESPONDED)
        if connection is not self._in_turn:
            self._ready.add(connection)

    def answer_in_pieces(self, connection: Connection, frame: FrameInPieces) -> None:
        """Send a response that is not joined to one frame."""
        size = frame.size
        if self._probe.listeners and self._probe.hears(Answer):
            self.tell_answer(connection, size)
        if connection.is_closed:
            return
        self._idle.update(connection)
        if size < _SEND_BUFFER_BYTES:
            self.answers.add_parts(connection, frame.take(size), size)
            self.responded(connection)
        else:
            connection.write_blocked = True
            self._emit(SendInPieces(connection, frame))
            self._emit(AwaitWrite(connection))
            connection.on(_RESPONDED)

    def throttle(self, connection: Connection, throttle_time_ms: int) -> None:
        """Mute the connection for `throttle_time_ms` from now. Its response is not delayed."""
        if connection.is_closed:
            return
        if self._probe.listeners:
            self._probe.tell(Throttled(*self._probe.times, connection.number, connection.broker_id, throttle_time_ms))
        self._throttling.start(connection, throttle_time_ms, self.clock.now.mono_ms)

    def close(self, connection: Connection, reason: str) -> None:
        """Close the connection after what was sent before."""
        if not connection.is_closed:
            self._release(connection)
            self._emit_close(connection, reason)

    def close_all(self, broker_id: int, reason: str, is_dead: bool = False) -> None:
        """Close every connection to a broker that has stopped, or has no process."""
        while (last := self.connections.last(broker_id)) is not None:  # first those that wait
            self._release(last)
            self._emit_close(last, reason, is_dead)
        self._standing.discard(broker_id)
        self._acceptor.restart(broker_id)

    def close_listener(self, broker_id: int, name: str) -> None:
        """Close every connection to a listener that the broker has no more."""
        for connection in self.connections.all(broker_id):
            if connection.listener.name == name:
                self.close(connection, f"broker {broker_id} has no listener {name} any more")

    # Internal methods.

    def _refuse(self, connection: Connection, reason: str) -> None:
        connection.on(Event.CLOSE)
        self._emit_close(connection, reason)

    def _admit(self, connection: Connection) -> None:
        connection.on(Event.ADMITTED)
        self._idle.add(connection)
        if connection.reading_paused:  # it waited
            self._ready.add(connection)

    def _release(self, connection: Connection) -> None:
        """Free what a closed connection held, and admit the next one that waits."""
        if self.connections.remove(connection):
            self._idle.remove(connection)
        connection.on(Event.CLOSE)
        connection.decoder = _NO_MORE_BYTES
        connection.request = None
        if self._memory is not None and connection.work is None:
            self._memory[connection.broker_id].give_back(connection)
        self._throttling.stop(connection)
        self._acceptor.let_in(connection.broker_id)

    def _emit_close(self, connection: Connection, reason: str, is_dead: bool = False) -> None:
        self._tell_closed(connection, reason)
        self._emit(Close(connection, reason, is_dead))

    def _tell_closed(self, connection: Connection, reason: str) -> None:
        if self._probe.listeners:
            self._probe.tell(ConnectionClosed(*self._probe.times, connection.number, connection.broker_id, reason))

    def _put_back(self, connection: Connection) -> None:
        """Queue the connection behind the others if it has more requests. If not, its next one counts as occasional."""
        if connection.decoder.has_next():
            self._ready.add(connection)
        else:
            self.reading.resume(connection)

    def check_invariants(self) -> None:
        self._ready.check_invariants()
        assert self._in_turn is None
        self._idle.check_invariants()
        self.connections.check_invariants()
