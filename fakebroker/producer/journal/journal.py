"""The journal of a producer: its last events in memory.

Theory   A ring, like the broker's journal: beyond its size the oldest events are dropped and counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from fakebroker.producer.journal.events import ProducerEvent

DEFAULT_SIZE: Final = 100_000


class ProducerJournal:
    """The last `size` events of the producer with this name. `dropped` is the number of those before. `on_event` is
    called with each event, whether it is kept or not."""

    def __init__(
        self, name: str, size: int = DEFAULT_SIZE, on_event: Callable[[ProducerEvent], None] | None = None
    ) -> None:
        self.name = name
        self.size = size
        self.dropped = 0
        self._on_event = on_event
        self._events: deque[ProducerEvent] = deque()

    def append(self, event: ProducerEvent, subject: object = None) -> None:
        """Append an event, the newest. This is a listener of the producer: a subject is not recorded."""
        self._events.append(event)
        if len(self._events) > self.size:
            self._events.popleft()
            self.dropped += 1
        if self._on_event is not None:
            self._on_event(event)

    def events(self) -> list[ProducerEvent]:
        """Return the kept events, oldest first."""
        return list(self._events)

    def __iter__(self) -> Iterator[ProducerEvent]:
        return iter(self.events())

    def __len__(self) -> int:
        return len(self._events)

    def __bool__(self) -> bool:
        return bool(self._events)
