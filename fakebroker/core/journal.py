"""The journal of a cluster: its last events, in memory, and a line of JSON for each where somebody wants them.

Theory   A ring: what does not fit any more is dropped, oldest first, and counted. The fingerprints of records take room
         as well: each counts as much as an event.
         Who records is `core/recording.py`; the classes that do the work know nothing of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from fakebroker.core.journal_events import Append, Event, from_json, to_json

DEFAULT_SIZE = 100_000


class Journal:
    """At most `size` events. `dropped` is how many came before those that are there.

    `on_event` is told of each event, whether it is kept or not.
    """

    def __init__(self, size: int = DEFAULT_SIZE, on_event: Callable[[Event], None] | None = None) -> None:
        self.size = size
        self.dropped = 0
        self._events: deque[Event] = deque()
        self._room = size
        self._on_event = on_event

    def append(self, event: Event) -> None:
        """Note an event, the newest."""
        self._events.append(event)
        self._room -= _weight(event)
        while self._room < 0:
            self._room += _weight(self._events.popleft())
            self.dropped += 1
        if self._on_event is not None:
            self._on_event(event)

    def clear(self) -> None:
        """Forget all events, and how many were dropped."""
        self._events.clear()
        self._room = self.size
        self.dropped = 0

    def events(self) -> list[Event]:
        """Those that are there, the oldest first."""
        return list(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events())

    def __len__(self) -> int:
        return len(self._events)


def to_lines(events: Iterable[Event]) -> Iterator[str]:
    """Each event as a line of JSON, with its end."""
    return (to_json(event) + "\n" for event in events)


def from_lines(lines: Iterable[str]) -> Iterator[Event]:
    """The events of what `to_lines` gave, as of an open file. Raises ValueError at a line that is none."""
    return map(from_json, lines)


def _weight(event: Event) -> int:
    return 1 + len(event.records) if type(event) is Append else 1
