"""The probe: where the events of a cluster are told. Journal, metrics, the live page and faults all listen here.

Theory   A point is a place in the code at which an event is made and told. The class of the event (core/journal) is all
         that describes it.
             if probe.listeners:
                 probe.tell(WatermarkMoved(*probe.times, *topic_partition, epoch, high_watermark, log_end_offset))
         Every listener receives the same event at once, in the order of registration. By default there is no listener,
         and a point only checks an empty list. A point comes after what it reports, and before the consequences; the
         class says so where it is otherwise. A listener must not raise, and changes nothing.
         Requests are counted from 1, in the order in which they are handled. An event belongs to the request in hand:
         the one that was begun or resumed last, since no request is handled inside another.
Source   Kafka has no counterpart: its listeners are many (MetricsReporter, PartitionListener, DelayedOperation's
         hooks).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, final, get_args

from fakebroker.core.clock import HasNow
from fakebroker.core.journal.events import Event

Listener: TypeAlias = Callable[[Event, object], None]
"""A listener receives an event and its subject. The subject is no part of the journal: the delayed operation of Parked,
Completed and Expired, the bytes of the batch of an Append, and None for all others."""


@final
class Probe:
    """The probe of a cluster.

    listeners  each with the kinds of events that it receives, or with none for all; `listen` and `leave` change them
    request    the number of the request in hand
    requests   how many requests there were
    """

    __slots__ = ("_clock", "_heard", "listeners", "request", "requests")

    def __init__(self, clock: HasNow) -> None:
        self._clock = clock
        self._heard: set[type[Event]] = set()
        self.listeners: list[tuple[Listener, tuple[type[Event], ...]]] = []
        self.request = 0
        self.requests = 0

    def listen(self, listener: Listener, *kinds: type[Event]) -> None:
        """Add a listener, at any time: of events of these kinds, or of all."""
        self.listeners.append((listener, kinds))
        self._heard.update(kinds or get_args(Event))

    def leave(self, listener: Listener) -> None:
        """Remove a listener, at any time."""
        others = [(one, kinds) for one, kinds in self.listeners if one != listener]
        self.listeners, self._heard = [], set()
        for one, kinds in others:
            self.listen(one, *kinds)

    def hears(self, kind: type[Event]) -> bool:
        """Return True if there is a listener of such events. A point asks this if its event is frequent, or takes time
        to make."""
        return kind in self._heard

    @property
    def times(self) -> tuple[int, int]:
        """Return the first two fields of every event: the present time of both clocks."""
        now = self._clock.now
        return now.mono_ms, now.wall_ms

    def begin_request(self) -> int:
        """Count a request, which is in hand from now on. Return its number."""
        self.requests += 1
        self.request = self.requests
        return self.requests

    def tell(self, event: Event, subject: object = None) -> None:
        """Give an event to the listeners of its kind."""
        kind = type(event)
        for listener, kinds in self.listeners:
            if not kinds or kind in kinds:
                listener(event, subject)
