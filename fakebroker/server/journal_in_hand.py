"""The journal, for the user of a cluster: `kafka.journal.produce(topic="t").expect(error="REQUEST_TIMED_OUT")`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from fakebroker.core.arguments import STRING_OR_NONE, WHOLE_NUMBER_OR_NONE, require, require_at_least
from fakebroker.core.faults.table import api_keys
from fakebroker.core.journal.events import Event, Request
from fakebroker.core.journal.journal import to_lines
from fakebroker.core.journal.view import ProduceView, view_produce
from fakebroker.spelling import known_name


class Snapshot(NamedTuple):
    """The events at one moment, how many older ones were dropped, and the existing topics, if the cluster runs."""

    events: list[Event]
    dropped: int
    topics: Sequence[str] = ()


class JournalInHand:
    """The last events of the cluster, the oldest first; core/journal/events.py documents each.

    Iteration, `len` and every query see the events of the moment of the call. They work from any thread, also after the
    cluster has stopped. The journal starts empty when the cluster starts.
    """

    def __init__(self, snapshot: Callable[[], Snapshot], clear: Callable[[], None]) -> None:
        self._snapshot = snapshot
        self._clear = clear

    def __iter__(self) -> Iterator[Event]:
        return iter(self._snapshot().events)

    def __len__(self) -> int:
        return len(self._snapshot().events)

    @property
    def dropped(self) -> int:
        """Return how many older events were dropped."""
        return self._snapshot().dropped

    def clear(self) -> None:
        """Forget all events so far."""
        self._clear()

    def produce(
        self, *, topic: str | None = None, partition: int | None = None, client_id: str | None = None
    ) -> ProduceView:
        """Return the outcome of the Produce requests, partition by partition; an omitted selector matches all."""
        require(STRING_OR_NONE, topic=topic, client_id=client_id)
        require(WHOLE_NUMBER_OR_NONE, partition=partition)
        require_at_least(0, partition=partition)
        events, dropped, topics = self._snapshot()
        return view_produce(events, dropped, topic, partition, client_id, topics)

    def requests(self, *, api: str | None = None, client_id: str | None = None) -> list[Request]:
        """Return the handled requests of an API by Kafka's name ("Produce", "Metadata") and of a client. Raises
        ValueError for an API that there is not."""
        require(STRING_OR_NONE, api=api, client_id=client_id)
        api = None if api is None else known_name(api, api_keys(), "API")
        return [
            event
            for event in self
            if isinstance(event, Request) and api in (None, event.api) and client_id in (None, event.client_id)
        ]

    def lines(self) -> Iterator[str]:
        """Return each event as a line of JSON; `fakebroker.core.journal.from_lines` reads them."""
        return to_lines(self)
