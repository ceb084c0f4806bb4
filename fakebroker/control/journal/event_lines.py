"""The events of a cluster as server-sent events, encoded once for all readers.

Source   https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from fakebroker.control.cluster_observer import ClusterObserver
from fakebroker.core.journal.events import Event
from fakebroker.core.journal.json_lines import kind_of, to_json
from fakebroker.protocol.slices import Slices

_KEPT: Final = 10_000  # encoded events in the cache; for readers further behind they are encoded again
_AT_ONCE: Final = 1_000  # events in a write; the rest follows with the next one
_ENCODED_OF_A_SLICE: Final = 16
_LOOKED_AT: Final = 256  # events in a slice that does not encode


class Lines(NamedTuple):
    """The next data of a reader. `number` is that of the event after it, `missed` events before it are gone, and
    `is_all` says that there are no more."""

    text: bytes
    number: int
    missed: int
    is_all: bool


class EventLines:
    """The encoded events of one cluster, shared by all its readers."""

    def __init__(self) -> None:
        self._told: ClusterObserver | None = None
        self._kept: OrderedDict[int, bytes] = OrderedDict()  # by the number of the event, in the order of encoding
        self.encoded = 0  # how often an event was encoded

    def read(self, observer: ClusterObserver, number: int, matches: Callable[[Event], bool]) -> Slices[Lines]:
        """Return the matching events from that number on."""
        if observer is not self._told:
            self._told = observer
            self._kept.clear()
        first, events = observer.since(number)
        parts: list[bytes] = []
        work = 0
        place = 0
        for place, event in enumerate(events, 1):
            if matches(event):
                line = self._kept.get(first + place - 1)
                if line is None:
                    line = self._encode(first + place - 1, event)
                    work += _LOOKED_AT // _ENCODED_OF_A_SLICE
                parts.append(line)
                if len(parts) == _AT_ONCE:
                    break
            work += 1
            if work >= _LOOKED_AT:
                work = 0
                yield
        return Lines(b"".join(parts), first + place, first - number, place == len(events))

    def _encode(self, number: int, event: Event) -> bytes:
        self.encoded += 1
        line = f"id: {number}\nevent: {kind_of(event)}\ndata: {to_json(event)}\n\n".encode()
        self._kept[number] = line
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return line
