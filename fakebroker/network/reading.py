"""The control of which sockets are read.

Theory   A connection is not read while it has a current request, or more than one turn's requests in its buffer; the
         rest waits at the peer's side. No connection of a paused broker is read. What had arrived is handled when the
         broker is resumed, and clients that connect meanwhile are admitted then.
Source   clients/.../network/KafkaChannel.java mute, maybeUnmute @ 4.0; a process that was sent SIGSTOP.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from fakebroker.network.acceptor import Acceptor
from fakebroker.network.connection import Connection
from fakebroker.network.effects import Effect, PauseReading, ResumeReading
from fakebroker.network.open_connections import OpenConnections
from fakebroker.network.ready_queue import ReadyQueue


@final
class Reading:
    """The decision which connections are read."""

    def __init__(
        self, emit: Callable[[Effect], None], connections: OpenConnections, ready: ReadyQueue, acceptor: Acceptor
    ) -> None:
        self._emit = emit
        self._connections = connections
        self._standing = connections.standing
        self._ready = ready
        self._acceptor = acceptor

    def pause_broker(self, broker_id: int) -> None:
        """Stop reading for a paused broker."""
        self._standing.add(broker_id)
        for connection in self._connections.all(broker_id):
            self.pause(connection)

    def resume_broker(self, broker_id: int) -> None:
        """Continue reading for a resumed broker."""
        self._standing.discard(broker_id)
        for connection in self._connections.all(broker_id):
            if connection.work is not None or connection.can_handle:
                self._ready.add(connection)
        self._acceptor.let_in(broker_id)

    def pause(self, connection: Connection) -> None:
        """Stop reading a connection, if it is read."""
        if not connection.reading_paused and not connection.is_closed:
            connection.reading_paused = True
            self._emit(PauseReading(connection))

    def resume(self, connection: Connection) -> None:
        """Continue reading a connection, if it is not read."""
        if connection.reading_paused:
            connection.reading_paused = False
            self._emit(ResumeReading(connection))
