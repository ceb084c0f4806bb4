"""The Produce requests of a journal, partition by partition. Each event is read once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

from fakebroker.core.journal.events import Answer, Append, Dropped, Event, Produce, Request, TopicCreated
from fakebroker.protocol.slices import Slices

EVENTS_OF_A_SLICE: Final = 128  # or partitions of them: some 200 us


class ProducedPartition(NamedTuple):
    """One partition of one Produce request, and its result.

    `error` and `answered_mono_ms` are None while there is no response; with acks=0 there never is one. `outcome` is
    "sent", "dropped" (the client had gone) or None. `records` counts the appended records. Times are the broker's.
    """

    request: int
    client_id: str | None
    broker: int
    correlation_id: int
    topic: str
    partition: int
    acks: int
    timeout_ms: int
    received_mono_ms: int
    handled_mono_ms: int
    answered_mono_ms: int | None
    outcome: str | None
    error: str | None
    base_offset: int
    records: int

    @property
    def waited_ms(self) -> int | None:
        """The time from the handling to the response, which the produce timeout limits."""
        return None if self.answered_mono_ms is None else self.answered_mono_ms - self.handled_mono_ms

    def __str__(self) -> str:
        response = "no answer"
        if self.error is not None:
            response = f"{self.error}, offset {self.base_offset}, after {self.waited_ms} ms"
        gone = ", but the client had gone" if self.outcome == "dropped" else ""
        return (
            f"request {self.request} of {self.client_id!r} to {self.topic}-{self.partition}, acks={self.acks}, "
            f"timeout {self.timeout_ms} ms: {response}{gone}"
        )


class Produces:
    """The entries that `read` has found so far. They have numbers, in the order of handling, from `first` to before
    `end`.

    `topics` are the topics of all events, `dropped` is the number of missing events according to them.
    """

    def __init__(self) -> None:
        self.first = 0
        self.end = 0
        self.requests: dict[int, Request] = {}
        self.topics: set[str] = set()
        self.dropped = 0
        self.answers = 0  # of partitions, so far
        self._entries: dict[int, ProducedPartition] = {}
        self._places: dict[tuple[int, str, int], int] = {}  # of entries without a response
        self._answered: deque[int] = deque()  # numbers of entries with a response, the last `answers` of them
        self._begun: deque[tuple[int, int, int]] = deque()  # (number of the event, request, its first entry)

    def find(self, number: int) -> ProducedPartition | None:
        """Return the entry, or None if it was removed."""
        return self._entries.get(number)

    def answered_since(self, answers: int) -> list[int]:
        """Return the numbers of the entries that got a response since there were so many `answers`."""
        return list(islice(reversed(self._answered), self.answers - answers))[::-1]

    def read(self, events: Iterable[Event], first: int = 0, kept: int = 0) -> Slices[None]:
        """Read events; the first has the number `first`. Remove the entries of events before `kept`."""
        yield from self._forget(kept)
        work = 0
        for number, event in enumerate(events, first):
            match event:
                case Request(api="Produce"):
                    self.requests[event.request] = event
                case Produce() if event.request in self.requests:
                    self._begun.append((number, event.request, self.end))
                    for topic, partition in dict.fromkeys(event.partitions):
                        self._ask(self.requests[event.request], event, topic, partition)
                        work += 1
                        if work >= EVENTS_OF_A_SLICE:
                            work = 0
                            yield
                case Append():
                    self._append(event)
                case Answer():
                    for answer in event.partitions:
                        self._answer(event, answer.topic, answer.partition, answer.error, answer.base_offset)
                        work += 1
                        if work >= EVENTS_OF_A_SLICE:
                            work = 0
                            yield
                case TopicCreated():
                    self.topics.add(event.topic)
                case Dropped():
                    self.dropped += event.events
            work += 1
            if work >= EVENTS_OF_A_SLICE:
                work = 0
                yield

    def _ask(self, request: Request, produce: Produce, topic: str, partition: int) -> None:
        self.topics.add(topic)
        self._places[request.request, topic, partition] = self.end
        self._entries[self.end] = ProducedPartition(
            request.request,
            request.client_id,
            request.broker,
            request.correlation_id,
            topic,
            partition,
            produce.acks,
            produce.timeout_ms,
            request.received_mono_ms,
            request.mono_ms,
            None,
            None,
            None,
            -1,
            0,
        )
        self.end += 1

    def _append(self, append: Append) -> None:
        place = self._places.get((append.request, append.topic, append.partition))
        if place is not None:
            records = 0 if append.is_duplicate else len(append.records) or _appended(append)
            self._entries[place] = self._entries[place]._replace(base_offset=append.base_offset, records=records)

    def _answer(self, answer: Answer, topic: str, partition: int, error: str, base_offset: int) -> None:
        place = self._places.pop((answer.request, topic, partition), None)
        if place is not None:
            self._entries[place] = self._entries[place]._replace(
                answered_mono_ms=answer.mono_ms, outcome=answer.outcome, error=error, base_offset=base_offset
            )
            self._answered.append(place)
            self.answers += 1

    def _forget(self, kept: int) -> Slices[None]:
        """Remove the requests from before the event with the number `kept`."""
        work = 0
        while self._begun and self._begun[0][0] < kept:
            _, request, _ = self._begun.popleft()
            del self.requests[request]
            following = self._begun[0][2] if self._begun else self.end
            while self.first < following:
                entry = self._entries.pop(self.first)
                self._places.pop((request, entry.topic, entry.partition), None)
                self.first += 1
                work += 1
                if work >= EVENTS_OF_A_SLICE:
                    work = 0
                    yield
        while self._answered and self._answered[0] < self.first:
            self._answered.popleft()
            work += 1
            if work >= EVENTS_OF_A_SLICE:
                work = 0
                yield


def _appended(append: Append) -> int:
    """Return the number of records of a batch that is too large for fingerprints."""
    return append.last_offset - append.base_offset + 1 if append.base_offset >= 0 else 0
