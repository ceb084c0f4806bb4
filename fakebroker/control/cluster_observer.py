"""The control's observer of a cluster: its journal, the parked requests, numbers for metrics.

Theory   A listener of the probe, added at the first call of the control; until then it costs nothing. Requests that
         were in progress then are unknown, but the next one of their connection is known.
Units    as in the journal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fakebroker.control.metrics.meter import Meter
from fakebroker.core.clock import HasNow
from fakebroker.core.journal import events
from fakebroker.core.journal.broker_events import BrokerKilled, BrokerStopped
from fakebroker.core.journal.events import Event
from fakebroker.core.journal.journal import Journal
from fakebroker.core.journal.size import DEFAULT_SIZE
from fakebroker.core.probe import Listener


class Waits(NamedTuple):
    """A parked request. `partitions` are those of a Produce. `skipped_ms`: the total of skipped time when it was
    parked."""

    request: int
    connection: int
    broker: int
    api: str
    correlation_id: int
    client_id: str | None
    principal: str
    partitions: tuple[tuple[str, int], ...]
    since_mono_ms: int
    deadline_mono_ms: int
    timeout_ms: int
    skipped_ms: int


class ClusterObserver:
    """The observer of one cluster. `on_event` is called after each event."""

    def __init__(self, clock: HasNow, on_event: Callable[[], None]) -> None:
        self.journal = Journal(DEFAULT_SIZE)
        self.meter = Meter()
        self._clock = clock
        self.listeners: tuple[Listener, ...] = self._hear, self.meter.hear
        self.waits: dict[int, Waits] = {}  # by request
        self.total = 0  # events so far; also the number of the next one
        self._in_hand: dict[int, events.Request] = {}  # by connection: each has one current request
        self._partitions: dict[int, tuple[tuple[str, int], ...]] = {}  # of a Produce, by connection
        self._connection = 0  # of the request that was begun last
        self._on_event = on_event

    def _hear(self, event: Event, subject: object) -> None:
        self.journal.append(event)
        self.total += 1
        match event:
            case events.Request():
                self._connection = event.connection
                self._in_hand[event.connection] = event
                self._partitions.pop(event.connection, None)
            case events.Produce():
                self._partitions[self._connection] = event.partitions
            case events.Parked():
                self._park(event)
            case events.Completed() | events.Expired():
                self.waits.pop(event.request, None)
            case events.Answer():
                self._in_hand.pop(event.connection, None)
                self._partitions.pop(event.connection, None)
            case events.ConnectionClosed():
                request = self._in_hand.get(event.connection)
                if request is not None and request.request not in self.waits:
                    self._forget(request)
            case BrokerStopped() | BrokerKilled():
                for request in [one for one in self._in_hand.values() if one.broker == event.broker]:
                    self._forget(request)
        self._on_event()

    def _park(self, event: events.Parked) -> None:
        request = self._in_hand.get(self._connection)
        if request is None or request.request != event.request:  # resumed after another one was begun
            request = next((one for one in self._in_hand.values() if one.request == event.request), None)
        if request is not None:
            self.waits[event.request] = Waits(
                event.request,
                request.connection,
                request.broker,
                event.api,
                request.correlation_id,
                request.client_id,
                request.principal,
                self._partitions.get(request.connection, ()),
                event.mono_ms,
                event.deadline_mono_ms,
                event.timeout_ms,
                self._clock.skipped_ms,
            )

    def _forget(self, request: events.Request) -> None:
        """Forget a request that gets no response."""
        del self._in_hand[request.connection]
        self._partitions.pop(request.connection, None)
        self.waits.pop(request.request, None)
        self.meter.forget(request.request)

    @property
    def first(self) -> int:
        """Return the number of the first event that is still there."""
        return self.total - len(self.journal)

    def since(self, number: int) -> tuple[int, list[Event]]:
        """Return the events from that number on that are still there, and the number of the first of them."""
        first = min(max(number, self.first), self.total)
        return first, self.journal.last(self.total - first)
