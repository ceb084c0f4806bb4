"""The probe of a producer: its events are told here, and the journal, histories and watchers listen.

Theory   A point is a place in the producer at which an event is made and told, as in the probe of a cluster
         (fakebroker/core/probe.py). A producer without a listener has no probe, and a point only checks that:
             if self.probe is not None:
                 self.probe.tell(Connected(*self.probe.times, number, node))
         Every listener receives the same event at once, in the order of registration. A listener must not raise, and
         changes nothing: the producer does the same without it. The producer's calls set `now_ms` before any event of
         that time.
Units    monotonic milliseconds; `wall_offset_ms` converts them to wall time.
Source   none of Kafka's: its producer logs similar events at level TRACE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, final, get_args

from fakebroker.producer.journal.events import ProducerEvent
from fakebroker.producer.producer_batch import ProducerBatch

Listener: TypeAlias = Callable[[ProducerEvent, object], None]
"""A listener receives an event and its subject. The subject is no part of the journal: the `Sending` of RecordSent, the
error or None of RecordRefused and RecordCalledBack, the batch and its error, as a pair, of BatchExpired, and None for
all others."""


@final
class ProducerProbe:
    """The probe of one producer, which has this `name` in its events. `records` counts its records."""

    __slots__ = ("_batches", "_heard", "_listeners", "_name", "_wall_offset_ms", "now_ms", "records")

    def __init__(self, name: str, wall_offset_ms: int) -> None:
        self.now_ms = 0
        self.records = 0
        self._name = name
        self._wall_offset_ms = wall_offset_ms
        self._batches = 0
        self._heard: set[type[ProducerEvent]] = set()
        self._listeners: list[tuple[Listener, tuple[type[ProducerEvent], ...]]] = []

    def listen(self, listener: Listener, *kinds: type[ProducerEvent]) -> None:
        """Add a listener, at any time: of events of these kinds, or of all."""
        self._listeners.append((listener, kinds))
        self._heard.update(kinds or get_args(ProducerEvent))

    def hears(self, kind: type[ProducerEvent]) -> bool:
        """Return True if there is a listener of such events. A point asks this if its event is frequent."""
        return kind in self._heard

    @property
    def times(self) -> tuple[int, int, str]:
        """Return the first three fields of every event: the present time of both clocks, and the producer's name."""
        return self.now_ms, self.now_ms + self._wall_offset_ms, self._name

    def number_of(self, batch: ProducerBatch) -> int:
        """Return the number of a batch. Batches are numbered from 1, in the order in which they are first told."""
        if not batch.journal_number:
            self._batches += 1
            batch.journal_number = self._batches
        return batch.journal_number

    def tell(self, event: ProducerEvent, subject: object = None) -> None:
        """Give an event to the listeners of its kind."""
        kind = type(event)
        for listener, kinds in self._listeners:
            if not kinds or kind in kinds:
                listener(event, subject)
