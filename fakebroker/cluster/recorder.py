"""Gives the events of a journal their time, and connections and requests their numbers."""

from __future__ import annotations

from collections import deque
from itertools import count
from uuid import UUID

from fakebroker.core.clock import HasNow, Now
from fakebroker.core.journal import events
from fakebroker.core.journal.journal import Journal
from fakebroker.network.connection import Connection
from fakebroker.protocol.headers import RequestHeader
from fakebroker.protocol.messages import api_name

LENGTH_BYTES = 4  # of a frame's length, which is not counted in its size
NOTHING = -1  # offset, epoch, sequence or producer id


class Trail:
    """What is known of a connection: its number, how many bytes came and were handled, and the request in hand."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.came = 0
        self.handled = 0
        self.arrivals: deque[tuple[int, int]] = deque()  # (bytes that had come by then, when)
        self.request = 0
        self.api_key = -1
        self.api_version = -1
        self.topic_names: dict[UUID, str] = {}  # by which the request in hand names topics

    def take(self, size: int) -> int:
        """A frame is handled; when its last byte came."""
        self.handled += size + LENGTH_BYTES
        while self.arrivals[0][0] < self.handled:
            self.arrivals.popleft()
        return self.arrivals[0][1]


class Recorder:
    """One for a cluster and its journal. The clock is the cluster's."""

    def __init__(self, journal: Journal, clock: HasNow) -> None:
        self._journal = journal
        self._clock = clock
        self._connections = count(1)
        self._requests = count(1)
        self.request = 0  # the one that is being handled

    @property
    def now(self) -> Now:
        return self._clock.now

    def record(self, kind: type[events.Event], *values: object) -> None:
        now = self._clock.now
        self._journal.append(kind(now.mono_ms, now.wall_ms, *values))  # type: ignore[arg-type]

    def trail(self, connection: Connection) -> Trail:
        trail = connection.attachment
        if not isinstance(trail, Trail):
            trail = connection.attachment = Trail(next(self._connections))
            self.record(events.ConnectionOpened, trail.number, connection.broker_id, connection.peer)
        return trail

    def begin(self, connection: Connection, header: RequestHeader, size: int) -> Trail:
        """A request is about to be handled."""
        trail = self.trail(connection)
        self.request = trail.request = next(self._requests)
        trail.api_key, trail.api_version = header.api_key, header.api_version
        self.record(
            events.Request,
            trail.request,
            trail.number,
            connection.broker_id,
            api_name(header.api_key),
            header.api_version,
            header.correlation_id,
            header.client_id,
            trail.take(size),
            size,
        )
        return trail
