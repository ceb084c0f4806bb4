"""The driver of a cluster: enters its doors from an event loop and performs the resulting effects in order.

Theory   Everything runs in the thread of the event loop. One method here enters each door, then performs the effects
         and arms the one timer. `listeners.py` owns the sockets.
         A door may leave work for later. It continues after one turn of the loop, with its sockets, signals and timers.
         Each read of a socket checks the timers too, so a timeout is late by one door at most.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from fakebroker.cluster.cluster import Cluster
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.security.identity import Listener
from fakebroker.network.connection import Connection
from fakebroker.network.effects import (
    AwaitWrite,
    ChangeListeners,
    Close,
    Effect,
    InternalError,
    Listen,
    PauseReading,
    Reset,
    ResumeReading,
    Send,
    SendInPieces,
    StopListening,
    Warn,
)
from fakebroker.protocol.answers.pieces import FrameInPieces, Part
from fakebroker.server.clocks import AutoClock, Clock
from fakebroker.server.loops import gathers, reset
from fakebroker.server.skipping import SkippingTimerDriver
from fakebroker.server.timer_driver import TimerDriver
from fakebroker.server.turn.handshakes import Handshakes
from fakebroker.server.turn.intake import Intake
from fakebroker.server.turn.turns import turns
from fakebroker.server.writing.limited_log import LimitedLog
from fakebroker.server.writing.log_text import printable

log = logging.getLogger("fakebroker")

T = TypeVar("T")

_TURNS_TO_READ = 6  # from the arrival of a connect to having handled the first request sent with it: asyncio takes 4
_TURNS_TO_WORK = 1000  # each does a millisecond of work
_WARNING_CHARACTERS = 2000  # A warning may list settings.
_WRITTEN_AT_ONCE = 262_144  # bytes of a response in pieces
_ENCRYPTED_AT_ONCE = 65_536  # the same under TLS: encryption takes longer, and other clients wait
_GATHERED_BYTES = 2_048  # Parts of this average size are cheaper to hand over one by one than to copy.
_BYTES_OF_A_RECORD = 1_024  # To decrypt a record of TLS takes as long as to take in so many bytes.
_STEPS_AT_ONCE = 1000  # steps of skipped time, before the sockets have their turn


class Driver:
    """The driver of a `Cluster` on a clock. Make it and use it on one running event loop."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self.cluster = cluster
        self.clock = clock
        self._start_ms = clock.reached().mono_ms
        self._loop = asyncio.get_running_loop()
        self._timer = (
            SkippingTimerDriver(self._loop, self._wake, clock, lambda: self._skip(clock), cluster.probe)
            if isinstance(clock, AutoClock)
            else TimerDriver(self._loop, self._wake, clock)
        )
        self.transports: dict[Connection, asyncio.Transport] = {}
        self._writing_paused: set[Connection] = set()
        self._outgoing: dict[Connection, FrameInPieces] = {}  # large responses, as far as they are not written
        self._next_turn: asyncio.Handle | None = None
        self._intake = Intake(self._loop)
        self.handshakes = Handshakes(self._loop)
        self._gathers = gathers(self._loop)
        self.told = LimitedLog(log, self._loop)
        self.on_listening: Callable[[int, bool], None] = lambda broker_id, listens: None  # for the ports
        self.on_listeners_changed: Callable[[int], None] = lambda broker_id: None

    def stop(self) -> None:
        """Stop the timer, and drop work that was left for later."""
        self._timer.stop()
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None
        self._intake.stop()
        self.handshakes.stop()
        self.told.settle()

    # Called by the connections.

    def opened(
        self, transport: asyncio.Transport, broker_id: int, peer: str, address: str, listener: Listener
    ) -> Connection:
        connection = self.cluster.open_connection(broker_id, peer, self.clock.stamp(), address, listener)
        self.transports[connection] = transport
        self._after_door()
        return connection

    def receive_buffer(self, connection: Connection) -> memoryview | None:
        """Return the buffer for the next bytes of the connection; None if any buffer will do."""
        return self.cluster.receive_buffer(connection)

    def room(self, buffer: memoryview) -> memoryview:
        """Return the part of the buffer that may be filled in this turn."""
        return self._intake.room(buffer)

    def received(self, connection: Connection, data: bytes | memoryview, records: int = 0) -> None:
        """Take bytes of a client, from so many records of TLS."""
        now = self.clock.stamp()
        self._timer.look(now.mono_ms)
        self.cluster.receive(connection, data, now)
        self._after_door()
        if (transport := self.transports.get(connection)) is not None:
            self._intake.was_read(connection, transport, max(len(data), records * _BYTES_OF_A_RECORD))

    def config_of(self, broker_id: int, listener: Listener) -> BrokerConfig:
        """Return the settings of a broker's listener for TLS."""
        return self.cluster.controller.broker_configs.of_listener(broker_id, listener.name, has_sasl=listener.has_sasl)

    def handshake_done(self, connection: Connection, subject: str | None) -> None:
        """Note that TLS is set up. `subject` is the name of the client's certificate, None without one."""
        self.cluster.take_certificate(connection, subject, self.clock.stamp())
        self._after_door()

    def handshake_failed(self, connection: Connection, reason: str) -> None:
        """Close a connection after a failed handshake of TLS."""
        self.cluster.handshake_failed(connection, reason, self.clock.stamp())
        self._after_door()

    def write_blocked(self, connection: Connection, blocked: bool) -> None:
        if blocked:
            self._writing_paused.add(connection)
        else:
            self._writing_paused.discard(connection)
        if connection in self._outgoing:
            if not blocked:
                self._write_on(connection)
            return
        self.cluster.set_write_blocked(connection, blocked, self.clock.stamp())
        self._after_door()

    def lost(self, connection: Connection, error: Exception | None) -> None:
        self.transports.pop(connection, None)
        self._writing_paused.discard(connection)
        self._outgoing.pop(connection, None)
        unfinished = self.cluster.connection_lost(connection, self.clock.stamp())
        if unfinished:
            form = "%s went away in the middle of a request: %d bytes of it had arrived"
            self.told.info(form, connection.peer, unfinished)
        elif error is not None:
            log.debug("the connection from %s is lost: %s", connection.peer, error)
        self._after_door()

    # Called by the loop's timer, and by users of the cluster.

    def _wake(self) -> None:
        self.cluster.advance_to(self.clock.reached(), self.clock.stamp())
        self._after_door()

    def _go_on(self) -> None:
        """Continue after a turn of the loop."""
        self._next_turn = None
        self.cluster.turn.begin()
        self._wake()

    def go_on(self) -> None:
        """Do what is due by now, and continue with work that was left."""
        self._wake()

    def settle(self) -> None:
        """Perform the effects of a direct change of the cluster."""
        self._after_door()

    def _after_door(self) -> bool:
        """Perform the pending effects. Return True if there were any."""
        had_effects = False
        while effects := self.cluster.take_effects():
            had_effects = True
            self._perform(effects)
        self._timer.arm(self.cluster.next_deadline_ms())
        if self.cluster.has_work and self._next_turn is None:
            self._next_turn = self._loop.call_soon(self._go_on)
        return had_effects

    @property
    def elapsed_ms(self) -> int:
        """Return the milliseconds since this driver was made, on the broker's clock."""
        return self.clock.reached().mono_ms - self._start_ms

    # Advancing and skipping (clocks.py).

    async def advance(self, ms: int) -> None:
        """Advance by `ms` milliseconds, deadline by deadline. Requests that have arrived are handled first, those that
        clients send meanwhile afterwards. When this returns, responses are written as far as the peers read them."""
        await self._let_in()
        end_ms = self.clock.reached().mono_ms + ms
        while (deadline_ms := self.cluster.next_deadline_ms()) is not None and deadline_ms <= end_ms:
            self._move_to(deadline_ms)
            await self._work_off()
        self._move_to(end_ms)
        await self._work_off()

    async def advance_to_next_deadline(self) -> int | None:
        """Advance to the next pending deadline. Return the milliseconds that passed; None, without advancing, if none
        is pending."""
        await self._let_in()
        if not self.cluster.has_deadlines:
            return None
        start_ms = self.clock.reached().mono_ms
        done = self.cluster.deadlines.met
        while self.cluster.has_deadlines and self.cluster.deadlines.met == done:
            deadline_ms = self.cluster.next_deadline_ms()
            assert deadline_ms is not None
            self._move_to(deadline_ms)
            await self._work_off()
        return self.clock.reached().mono_ms - start_ms

    async def _let_in(self) -> None:
        """Read and handle what has arrived."""
        await turns(_TURNS_TO_READ)
        await self._work_off()

    @property
    def _is_holding(self) -> bool:
        """Return True if bytes that have arrived wait for a turn of the loop."""
        return self._intake.is_holding or self.handshakes.is_holding

    async def _work_off(self) -> None:
        """Finish the work in hand before time passes, but give up if it does not end."""
        for _ in range(_TURNS_TO_WORK):
            if not self.cluster.has_work and not self._is_holding:
                return
            await turns(1)

    def _skip(self, clock: AutoClock) -> None:
        """Skip time while all is quiet and a client waits for it, until there is an effect."""
        if self.cluster.has_work or self._outgoing or self._is_holding:
            return
        if any(transport.get_write_buffer_size() for transport in self.transports.values()):
            return
        for _ in range(_STEPS_AT_ONCE):
            if (deadline_ms := self.cluster.next_skip_ms()) is None:
                return
            self.cluster.skip(clock.skip_to(deadline_ms))
            if self._move_to(deadline_ms) or self.cluster.has_work:
                return

    def _move_to(self, mono_ms: int) -> bool:
        """Move the clock and do what is due then. Return True if there were effects."""
        self._timer.stop()
        self.clock.move_to(mono_ms)
        self.cluster.advance_to(self.clock.reached(), self.clock.stamp())
        return self._after_door()

    def _perform(self, effects: list[Effect]) -> None:
        if len(effects) == 1:
            (effect,) = effects
            if type(effect) is Send:  # nearly always
                self._write(effect.connection, effect.parts)
                return
        frames: defaultdict[Connection, list[Part]] = defaultdict(list)
        awaited: list[Connection] = []
        for effect in effects:
            if type(effect) is Send:
                frames[effect.connection] += effect.parts
                continue
            match effect:
                case SendInPieces(connection, frame):
                    self._write(connection, frames.pop(connection, []))
                    self._outgoing[connection] = frame
                    self._write_on(connection)
                case PauseReading(connection):
                    if (transport := self._open_transport(connection)) is not None:
                        transport.pause_reading()
                case ResumeReading(connection):
                    if (transport := self._open_transport(connection)) is not None:
                        transport.resume_reading()
                case AwaitWrite(connection):
                    awaited.append(connection)
                case Close(connection, reason, is_dead):
                    self.told.info("closed the connection from %s: %s", connection.peer, reason, about=reason)
                    self._write(connection, frames.pop(connection, []))
                    if (transport := self._open_transport(connection)) is not None:
                        # Kafka does not wait either for a peer that does not read.
                        if is_dead or connection in self._outgoing:
                            transport.abort()
                        else:
                            transport.close()
                case Listen(broker_id) | StopListening(broker_id):
                    self.on_listening(broker_id, isinstance(effect, Listen))
                case ChangeListeners(broker_id):
                    self.on_listeners_changed(broker_id)
                case Reset(connection):
                    self._write(connection, frames.pop(connection, []))
                    if (transport := self._open_transport(connection)) is not None:
                        reset(transport)
                case InternalError(what, error):
                    log.error("bug in fakebroker: %s failed", what, exc_info=error)
                case Warn(text):
                    log.warning("%s", printable(text, _WARNING_CHARACTERS))
        for connection, parts in frames.items():
            self._write(connection, parts)
        for connection in awaited:
            if connection in self.transports and not self.is_writing(connection):
                self.cluster.set_write_blocked(connection, False, self.clock.stamp())

    def _write(self, connection: Connection, parts: Sequence[Part]) -> None:
        """Write all responses of one turn in one write, at once: uvloop does not delay it either, since its buffer's
        limit is 0."""
        transport = self.transports.get(connection)
        if transport is None or not parts or transport.is_closing():
            return
        if len(parts) == 1:
            transport.write(parts[0])
        elif self._gathers and sum(map(len, parts)) >= len(parts) * _GATHERED_BYTES:
            transport.writelines(parts)
        else:
            transport.write(b"".join(parts))

    def _write_on(self, connection: Connection) -> None:
        """Write the next part of a large response. The part after it follows when this one is written and the loop has
        gone round."""
        frame = self._outgoing.get(connection)
        transport = self._open_transport(connection)
        if frame is None or transport is None or connection in self._writing_paused:
            return
        try:
            parts = frame.take(_ENCRYPTED_AT_ONCE if connection.listener.has_tls else _WRITTEN_AT_ONCE)
        except OSError as error:  # from the store of old records
            log.error("a response to %s cannot be read from the store: %s", connection.peer, error)
            transport.abort()
            return
        if not frame.left:
            del self._outgoing[connection]
        self._write(connection, parts)
        if connection not in self._writing_paused:
            self._loop.call_soon(self._written, connection)

    def _written(self, connection: Connection) -> None:
        if connection in self._outgoing:
            self._write_on(connection)
        elif connection in self.transports and connection not in self._writing_paused:
            self.cluster.set_write_blocked(connection, False, self.clock.stamp())
            self._after_door()

    def is_writing(self, connection: Connection) -> bool:
        """Return True if responses to the connection are not completely written."""
        return connection in self._writing_paused or connection in self._outgoing

    def _open_transport(self, connection: Connection) -> asyncio.Transport | None:
        transport = self.transports.get(connection)
        return None if transport is None or transport.is_closing() else transport


class Reach(Protocol):
    """The way to the driver of a cluster that runs, from where its user is."""

    def __call__(self, act: Callable[[Driver], T], /) -> T:
        """Call `act` in the thread of the cluster, and return its result. Raises RuntimeError if the cluster does not
        run, or cannot be used from here."""
