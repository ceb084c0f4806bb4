"""The connections of all brokers: admitted, read, handled one request at a time, answered, throttled, closed.

Theory   A connection whose turn has come stands in the queue of the ready ones; `poll` takes one request of it and then
         comes to the next. Whoever answers or wakes another connection puts it into that queue, so no request is ever
         handled inside another. What changes a connection's state is here and nowhere else; `connection.py` has its
         table.
Source   core/.../network/SocketServer.scala Processor @ 4.0: processCompletedReceives, processNewResponses,
         processCompletedSends, tryUnmuteChannel, close; Acceptor.accept.
Differs  Kafka unmutes when the answer is completely written. Here the answers to requests that arrived in one read are
         written together; once they are as large as what Kafka's socket takes at once (socket.send.buffer.bytes),
         nothing more is handled until they are written.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final, final

from fakebroker.core.clock import HasNow
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.ip_overrides import normalized, parse_overrides
from fakebroker.core.probe import Probe
from fakebroker.core.security.identity import Listener
from fakebroker.network.connection import Connection, Event, State
from fakebroker.network.connection_quotas import ConnectionQuotas
from fakebroker.network.effects import AwaitWrite, Close, Effect, PauseReading, ResumeReading, Send
from fakebroker.network.idle_expiry import IdleExpiryManager
from fakebroker.network.throttled_channel import ThrottledChannel
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.framing import LENGTH_BYTES, FrameDecoder
from timingwheel import SystemTimer

_SEND_BUFFER_BYTES: Final = 102_400  # socket.send.buffer.bytes: so much is "completely written" though nobody reads it
_MANY_HAD_THEIR_TURN: Final = 1_024  # and are dropped from the queue
_NO_MORE_BYTES = FrameDecoder(0)  # of a closed connection: what the peer had sent ahead is not kept
_REQUEST: Final = Event.REQUEST
_RESPONDED: Final = Event.RESPONDED
_WAITING: Final = State.WAITING


@final
class SocketServer:
    """The connections of all brokers. Effects go to `emit`, but for the answers of a turn: `take_answers`."""

    def __init__(
        self,
        broker_ids: Iterable[int],
        config: BrokerConfig,
        timer: SystemTimer,
        idle_timer: SystemTimer,
        emit: Callable[[Effect], None],
        clock: HasNow,
        probe: Probe,
    ) -> None:
        self._max_request_bytes = config.socket_request_max_bytes
        self._timer = timer
        self._emit = emit
        self._clock = clock
        self._probe = probe
        self._opened = 0
        self._ready: list[Connection] = []
        self._next_ready = 0  # those before it had their turn
        self._answered: list[Connection] = []  # in this turn
        self._idle = IdleExpiryManager(config.connections_max_idle_ms, idle_timer, clock, self.close)
        self.connection_quotas = {broker_id: ConnectionQuotas() for broker_id in broker_ids}
        self._waiting: dict[int, OrderedDict[Connection, None]] = {
            broker_id: OrderedDict() for broker_id in self.connection_quotas
        }
        # All that are not closed, those that wait included, in the order in which they came.
        self._open: dict[int, dict[Connection, None]] = {broker_id: {} for broker_id in self.connection_quotas}

        self.configure(config)

    def configure(self, config: BrokerConfig) -> None:
        """How many connections each broker takes. Who waits and may come in by now does; nobody is closed for it."""
        overrides = parse_overrides(config.max_connections_per_ip_overrides)
        for broker_id, quotas in self.connection_quotas.items():
            quotas.configure(config.max_connections, config.max_connections_per_ip, overrides)
            self._admit_waiting(broker_id)

    # From outside. Who calls then handles what `poll` gives.

    def open(self, broker_id: int, peer: str, address: str, listener: Listener) -> Connection:
        """A client has connected. It is admitted, closed at once, or waits for another one to go."""
        self._opened += 1
        connection = Connection(broker_id, peer, normalized(address), self._max_request_bytes, self._opened, listener)
        for each in self._probe.listeners:
            each.connection_opened(connection.number, broker_id, peer)
        self._open[broker_id][connection] = None
        if self.connection_quotas[broker_id].connection_slot_available():
            self._admit(connection)
        else:
            self._waiting[broker_id][connection] = None
            self._pause_reading(connection)
        return connection

    def receive(self, connection: Connection, data: bytes | memoryview) -> None:
        """Bytes have arrived."""
        if connection.is_closed:
            return
        for listener in self._probe.listeners:
            listener.bytes_received(connection.number, len(data))
        connection.decoder.feed(data)
        if connection.state is not _WAITING:
            self._idle.update(connection)
        if connection.can_handle:
            self._ready.append(connection)

    def received(self, connection: Connection) -> None:
        """What the bytes completed is handled: no more of them are wanted from who has a request in hand."""
        if not connection.can_handle:
            self._pause_reading(connection)

    def set_write_blocked(self, connection: Connection, blocked: bool) -> None:
        """The last answer is not completely written; or it is now."""
        if connection.is_closed or connection.write_blocked == blocked:
            return
        connection.write_blocked = blocked
        if blocked:
            self._pause_reading(connection)
            return
        self._idle.update(connection)
        if connection.can_handle:
            self._ready.append(connection)

    def lost(self, connection: Connection) -> int:
        """The peer has gone. A request in hand goes on; its answer is dropped. Returns how many bytes of a request had
        arrived that is not whole."""
        if connection.is_closed:
            return 0
        unfinished = connection.decoder.buffered if connection.can_handle else 0
        self._tell_closed(connection, "")
        self._release(connection)
        return unfinished

    def poll(self) -> Connection | None:
        """The next connection whose turn has come; its `request` is to be handled."""
        while self._next_ready < len(self._ready):
            connection = self._ready[self._next_ready]
            self._next_ready += 1
            if self._next_ready == _MANY_HAD_THEIR_TURN:
                del self._ready[:_MANY_HAD_THEIR_TURN]
                self._next_ready = 0
            if not connection.can_handle:
                continue
            try:
                frame = connection.decoder.next_in_parts()
            except ProtocolError as error:
                self.close(connection, f"bad frame: {error}")
                continue
            if frame is not None:
                self._idle.update(connection)  # Kafka reads it from the socket only now
                connection.on(_REQUEST)
                connection.request = frame
                for listener in self._probe.listeners:
                    listener.request_received(connection.number, len(frame))
                return connection
            if connection.reading_paused:
                connection.reading_paused = False
                self._emit(ResumeReading(connection))
        self._ready.clear()
        self._next_ready = 0
        return None

    def take_answers(self) -> list[Effect]:
        """The answers of this turn, those of a connection together; each is handed out once."""
        sends: list[Effect] = []
        for connection in self._answered:
            answers = connection.answers
            assert answers is not None
            sends.append(Send(connection, answers))
            connection.answers = None
            connection.unwritten_bytes = 0
        self._answered.clear()
        return sends

    # From the handlers.

    @property
    def now_ms(self) -> int:
        """Of what is happening."""
        return self._clock.now.mono_ms

    def answer(self, connection: Connection, frame: bytes | None) -> None:
        """The request in hand is answered, with nothing if `frame` is None. Dropped if the connection has gone."""
        for listener in self._probe.listeners:
            outcome = "none" if frame is None else "dropped" if connection.is_closed else "sent"
            listener.answered(connection.number, outcome, 0 if frame is None else len(frame) - LENGTH_BYTES)
        if connection.is_closed:
            return
        if frame is not None:
            answers = connection.answers
            if answers is None:
                connection.answers = [frame]
                self._answered.append(connection)
            else:
                answers.append(frame)
            self._idle.update(connection)
            connection.unwritten_bytes += len(frame)
            if connection.unwritten_bytes >= _SEND_BUFFER_BYTES and not connection.write_blocked:
                connection.write_blocked = True
                self._emit(AwaitWrite(connection))
        connection.on(_RESPONDED)
        self._ready.append(connection)

    def throttle(self, connection: Connection, throttle_time_ms: int) -> None:
        """Mute the connection for so long from now, beyond its answer, which is not held up."""
        if connection.is_closed:
            return
        for listener in self._probe.listeners:
            listener.throttled(connection.number, connection.broker_id, throttle_time_ms)
        connection.on(Event.THROTTLE_STARTED)
        connection.throttle = ThrottledChannel(throttle_time_ms, connection, self._throttle_ended)
        self._timer.add(connection.throttle, self._clock.now.mono_ms)

    def close(self, connection: Connection, reason: str) -> None:
        """Close the connection after what was sent before."""
        if not connection.is_closed:
            self._release(connection)
            self._emit_close(connection, reason)

    def close_all(self, broker_id: int, reason: str) -> None:
        """Close every connection to a broker: it has stopped."""
        while self._open[broker_id]:
            self.close(next(reversed(self._open[broker_id])), reason)  # who waits goes first, and is not let in

    def is_connected(self, broker_id: int) -> bool:
        return bool(self._open[broker_id])

    # Inside.

    def _throttle_ended(self, connection: Connection) -> None:
        connection.throttle = None
        connection.on(Event.THROTTLE_ENDED)
        self._ready.append(connection)

    def _admit(self, connection: Connection) -> None:
        maximum = self.connection_quotas[connection.broker_id].inc(connection.address)
        if maximum is not None:
            del self._open[connection.broker_id][connection]
            connection.on(Event.CLOSE)
            self._emit_close(
                connection,
                f"{connection.address or 'an unknown address'} already has the configured maximum of {maximum} "
                "connections (max.connections.per.ip)",
            )
            return
        connection.on(Event.ADMITTED)
        self._idle.add(connection)
        self._ready.append(connection)

    def _release(self, connection: Connection) -> None:
        """The connection is closed: whatever it held is free, and the next one that waits comes in."""
        del self._open[connection.broker_id][connection]
        waiting = self._waiting[connection.broker_id]
        quotas = self.connection_quotas[connection.broker_id]
        if connection.state is State.WAITING:
            del waiting[connection]
        else:
            quotas.dec(connection.address)
            self._idle.remove(connection)
        connection.on(Event.CLOSE)
        connection.decoder = _NO_MORE_BYTES
        connection.request = None
        if connection.throttle is not None:
            connection.throttle.cancel()
            connection.throttle = None
        self._admit_waiting(connection.broker_id)

    def _admit_waiting(self, broker_id: int) -> None:
        waiting = self._waiting[broker_id]
        while waiting and self.connection_quotas[broker_id].connection_slot_available():
            self._admit(waiting.popitem(last=False)[0])

    def _emit_close(self, connection: Connection, reason: str) -> None:
        self._tell_closed(connection, reason)
        self._emit(Close(connection, reason))

    def _tell_closed(self, connection: Connection, reason: str) -> None:
        for listener in self._probe.listeners:
            listener.connection_closed(connection.number, connection.broker_id, reason)

    def _pause_reading(self, connection: Connection) -> None:
        if not connection.reading_paused and not connection.is_closed:
            connection.reading_paused = True
            self._emit(PauseReading(connection))

    def check_invariants(self) -> None:
        assert not self._ready, "a connection whose turn has come was left"
        self._idle.check_invariants()
        for broker_id, quotas in self.connection_quotas.items():
            quotas.check_invariants()
            assert not self._waiting[broker_id] or not quotas.connection_slot_available()
            assert all(connection.state is State.WAITING for connection in self._waiting[broker_id])
