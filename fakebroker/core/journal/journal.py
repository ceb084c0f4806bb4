"""The journal of a cluster: its last events in memory, and each as a line of JSON for readers.

Theory   A ring: if it is full, the oldest events are dropped and counted. An event with many records or partitions
         counts as many, so that the memory is bounded and not only the number. `append` is a listener of the probe.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from fakebroker.core.journal.events import (
    Answer,
    Append,
    Event,
    PartitionsCreated,
    Produce,
    TopicCreated,
)
from fakebroker.core.journal.group_events import GenerationBegan, OffsetsCommitted, OffsetsExpired
from fakebroker.core.journal.json_lines import from_json, to_json
from fakebroker.core.journal.size import DEFAULT_SIZE
from fakebroker.core.journal.transaction_events import (
    MarkersRetried,
    MarkersSent,
    OffsetsPending,
    PartitionsVerified,
    PendingOffsetsEnded,
    TransitionCompleted,
    TransitionPrepared,
)


class Journal:
    """The last `size` events, or fewer if they are long. `dropped` is the number of events dropped before them.

    `on_event` is called with each event, whether it is kept or not.
    """

    def __init__(self, size: int = DEFAULT_SIZE, on_event: Callable[[Event], None] | None = None) -> None:
        self.size = size
        self.dropped = 0
        self._events: deque[Event] = deque()
        self._room = size
        self._on_event = on_event

    def append(self, event: Event, subject: object = None) -> None:
        """Append an event, the newest. This is a listener of the probe: a subject is not recorded."""
        if self.size:
            self._events.append(event)
            self._room -= _weight(event)
            while self._room < 0:
                self._room += _weight(self._events.popleft())
                self.dropped += 1
        else:
            self.dropped += 1
        if self._on_event is not None:
            self._on_event(event)

    def clear(self) -> deque[Event]:
        """Remove all events, and reset the count of dropped ones. Return the events: to free very many takes time."""
        gone, self._events = self._events, deque()
        self._room = self.size
        self.dropped = 0
        return gone

    def events(self) -> list[Event]:
        """Return the events in memory, the oldest first."""
        return list(self._events)

    def last(self, count: int) -> list[Event]:
        """Return the last `count` events, the oldest first. The cost grows with their number, not with the
        journal's."""
        newest = list(islice(reversed(self._events), count))
        newest.reverse()
        return newest

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events())

    def __len__(self) -> int:
        return len(self._events)

    def __bool__(self) -> bool:
        return bool(self._events)


def to_lines(events: Iterable[Event]) -> Iterator[str]:
    """Yield each event as a line of JSON, with its line end."""
    return (to_json(event) + "\n" for event in events)


def from_lines(lines: Iterable[str]) -> Iterator[Event]:
    """Yield the events of lines from `to_lines`, such as an open file. Raise ValueError at an invalid line."""
    return map(from_json, lines)


# Events with a field of any length, and the index of that field.
_LONG: dict[type[Event], int] = {
    Append: Append._fields.index("records"),
    Produce: Produce._fields.index("partitions"),
    Answer: Answer._fields.index("partitions"),
    TopicCreated: TopicCreated._fields.index("replicas"),
    PartitionsCreated: PartitionsCreated._fields.index("replicas"),
    GenerationBegan: GenerationBegan._fields.index("members"),
    OffsetsCommitted: OffsetsCommitted._fields.index("offsets"),
    OffsetsExpired: OffsetsExpired._fields.index("partitions"),
    TransitionPrepared: TransitionPrepared._fields.index("partitions"),
    TransitionCompleted: TransitionCompleted._fields.index("partitions"),
    PartitionsVerified: PartitionsVerified._fields.index("partitions"),
    MarkersSent: MarkersSent._fields.index("partitions"),
    MarkersRetried: MarkersRetried._fields.index("partitions"),
    OffsetsPending: OffsetsPending._fields.index("offsets"),
    PendingOffsetsEnded: PendingOffsetsEnded._fields.index("offsets"),
}


def _weight(event: Event) -> int:
    field = _LONG.get(type(event))
    return 1 if field is None else max(len(event[field]), 1)  # type: ignore[arg-type]
