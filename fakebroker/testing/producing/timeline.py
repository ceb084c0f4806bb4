"""The timeline of a record, of a request or of a whole run, from the journals of both ends.

Theory   A record is in a batch, and a batch is in requests. Client id, node id and correlation id identify a request at
         the broker. Steps are in causal order, and keep the order of each journal. The broker's steps of a request are
         after its sending, and the handling of its response is after the response.
Units    milliseconds of the common clock of the journals (clocks.py): that of a simulation or of one machine. If
         producer and broker were on two machines, it is wall time (`by_wall_clock`).
Errors   ValueError in one sentence, if nothing matches, or more than one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from fakebroker.core.journal import events as broker_events
from fakebroker.core.journal.broker_events import BrokerEvent
from fakebroker.producer.journal import events as own_events
from fakebroker.producer.journal.events import ProducerEvent
from fakebroker.testing.producing.clocks import Clocks, TimedExchange
from fakebroker.testing.producing.joining import NOTHING, merged, request_of
from fakebroker.testing.producing.telling import told_of

_OF_A_CLUSTER = BrokerEvent | broker_events.LeaderChanged | broker_events.IsrChanged | broker_events.Throttled


class TimelineStep(NamedTuple):
    """A step. `where` is the name of a producer, or "broker 1". `elapsed_ms` counts from the first step.
    `correlation_id` is that of its request, None if it has none."""

    elapsed_ms: int
    mono_ms: int
    wall_ms: int
    where: str
    correlation_id: int | None
    text: str
    event: ProducerEvent | broker_events.Event


class _Choice(NamedTuple):
    """A selection of one producer: a record, its batches, and the requests with these batches."""

    producer: str
    record: int | None
    batches: frozenset[int]
    correlation_ids: frozenset[int]


class Timelines:
    """The journals of producers and of their cluster. Any of their first events may be missing."""

    def __init__(
        self, producers: Iterable[ProducerEvent], brokers: Iterable[broker_events.Event], by_wall_clock: bool = False
    ) -> None:
        self._told = list(producers)
        self._heard = list(brokers)
        self._names = list(dict.fromkeys(event.producer for event in self._told))
        self._requests = {event.request: event for event in self._heard if isinstance(event, broker_events.Request)}
        self._asked: dict[tuple[str | None, int, str], list[broker_events.Request]] = {}
        for request in self._requests.values():
            key = request.client_id, request.correlation_id, request.api
            self._asked.setdefault(key, []).append(request)
        self._appends = [event for event in self._heard if isinstance(event, broker_events.Append)]
        self._clocks = Clocks(by_wall_clock, self._exchanges())

    @property
    def shifts(self) -> dict[str, int]:
        """Return the milliseconds by which each producer's wall clock was behind the brokers', at least. Its events are
        shown with this shift. Producers without a shift are left out."""
        return dict(self._clocks.shifts)

    def of_record(self, record: int, producer: str | None = None) -> list[TimelineStep]:
        """Return the steps of a record, by its number: the first that was sent is 1. `producer` is needed if there are
        several."""
        return self._steps(self._choice(self._name(producer), record))

    def of_key(self, key: str, producer: str | None = None) -> list[TimelineStep]:
        """Return the steps of the record with this key, as text; the key must be unique."""
        sent = [
            event
            for event in self._told
            if isinstance(event, own_events.RecordSent) and event.key == key and producer in (None, event.producer)
        ]
        if not sent:
            raise ValueError(f"no record with the key {key!r} was sent")
        if len(sent) > 1:
            numbers = ", ".join(str(event.record) for event in sent[:5])
            raise ValueError(f"{len(sent)} records have the key {key!r}: choose one by its number ({numbers}, ...)")
        return self._steps(self._choice(sent[0].producer, sent[0].record))

    def of_offset(self, topic: str, partition: int, offset: int) -> list[TimelineStep]:
        """Return the steps of the record at this offset, by the producer's journal, or else the brokers'."""
        for event in self._told:
            if isinstance(event, own_events.RecordCalledBack) and (event.topic, event.partition, event.offset) == (
                topic,
                partition,
                offset,
            ):
                return self._steps(self._choice(event.producer, event.record))
        for append in self._appends:
            is_there = (append.topic, append.partition) == (topic, partition) and append.error == broker_events.NO_ERROR
            if is_there and append.base_offset <= offset <= append.last_offset:
                choice = self._written_by(append, offset - append.base_offset)
                if choice is not None:
                    return self._steps(choice)
        raise ValueError(f"no journal has a request that wrote offset {offset} of {topic}-{partition}")

    def of_request(self, correlation_id: int, producer: str | None = None) -> list[TimelineStep]:
        """Return the steps of a request, and of its batches until its response."""
        name = self._name(producer)
        for event in self._told:
            if isinstance(event, own_events.RequestSent) and (event.producer, event.correlation_id) == (
                name,
                correlation_id,
            ):
                chosen = _Choice(name, None, frozenset(event.batches), frozenset({correlation_id}))
                return self._steps(chosen)
        raise ValueError(f"{name} sent no request with the correlation id {correlation_id}")

    def of_run(self, since_ms: int | None = None) -> list[TimelineStep]:
        """Return the steps of all producers, of the brokers for their requests and for other Produce requests, and of
        brokers and leaders. With `since_ms`, start at that time, from which `elapsed_ms` counts."""
        producer_events = sorted(self._told, key=self._clocks.ms)
        numbers: dict[int, tuple[str, int]] = {}
        for event in producer_events:
            if isinstance(event, own_events.RequestSent):
                request = self._same(event)
                if request is not None:
                    numbers[request.request] = event.producer, event.correlation_id
        for request in self._requests.values():
            if request.api == "Produce":  # of any client
                numbers.setdefault(request.request, (request.client_id or "", request.correlation_id))
        heard = [
            event
            for event in self._heard
            if isinstance(event, _OF_A_CLUSTER)
            or (request_of(event) in numbers and not isinstance(event, broker_events.Produce))
        ]
        steps = self._joined(producer_events, heard, numbers, None)
        if since_ms is None:
            return steps
        steps = [step for step in steps if self._clocks.ms(step.event) >= since_ms]
        before_ms = steps[0].elapsed_ms - (self._clocks.ms(steps[0].event) - since_ms) if steps else 0
        return [step._replace(elapsed_ms=step.elapsed_ms - before_ms) for step in steps]

    def records(self, producer: str | None = None) -> list[int]:
        """Return the numbers of all records that were sent."""
        name = self._name(producer)
        return [
            event.record for event in self._told if isinstance(event, own_events.RecordSent) and event.producer == name
        ]

    def _name(self, wanted: str | None) -> str:
        if not self._names:
            raise ValueError("the producer's journal is empty")
        if wanted is None and len(self._names) == 1:
            return self._names[0]
        if wanted is None:
            raise ValueError(f"there are several producers, name one: {', '.join(self._names)}")
        if wanted not in self._names:
            raise ValueError(f"there is no producer {wanted!r}, there is {', '.join(self._names)}")
        return wanted

    def _choice(self, name: str, record: int) -> _Choice:
        events = [event for event in self._told if event.producer == name]
        if not any(record == getattr(event, "record", None) for event in events):
            raise ValueError(f"{name} sent no record {record}")
        batches: set[int] = set()
        at = (NOTHING, NOTHING)  # its batch and its place in the batch
        for event in events:
            if isinstance(event, own_events.RecordAppended) and event.record == record:
                at = event.batch, event.place
            elif isinstance(event, own_events.BatchSplit) and event.batch == at[0]:
                at = _piece_of(event, at[1])
            batches.add(at[0])
        batches.discard(NOTHING)
        sent = (
            event
            for event in events
            if isinstance(event, own_events.RequestSent) and not batches.isdisjoint(event.batches)
        )
        return _Choice(name, record, frozenset(batches), frozenset(event.correlation_id for event in sent))

    def _written_by(self, append: broker_events.Append, place: int) -> _Choice | None:
        """Return the record at this place of a batch that a broker appended."""
        request = self._requests.get(append.request)
        if request is None:
            return None
        for sent in self._told:
            if not isinstance(sent, own_events.RequestSent) or self._same(sent) is not request:
                continue
            for event in self._told:
                if (
                    isinstance(event, own_events.RecordAppended)
                    and (event.producer, event.topic, event.partition)
                    == (sent.producer, append.topic, append.partition)
                    and event.place == place
                    and event.batch in sent.batches
                ):
                    return self._choice(event.producer, event.record)
        return None

    def _same(self, sent: own_events.RequestSent) -> broker_events.Request | None:
        """Return the broker's event of this request, None if it was not received or is not in the journal any more."""
        requests = self._asked_by(sent)
        if len(requests) > 1:
            raise ValueError(
                f"request {sent.correlation_id} of {sent.client_id!r} exists {len(requests)} times: "
                "give each producer a client.id of its own"
            )
        return requests[0] if requests else None

    def _asked_by(self, sent: own_events.RequestSent) -> list[broker_events.Request]:
        requests = self._asked.get((sent.client_id, sent.correlation_id, sent.api), [])
        if sent.node >= 0:  # bootstrap servers have no known id
            requests = [request for request in requests if request.broker == sent.node]
        return requests

    def _exchanges(self) -> Iterator[TimedExchange]:
        """Return every request that both ends report."""
        answers = {event.request: event for event in self._heard if isinstance(event, broker_events.Answer)}
        received = {
            (event.producer, event.correlation_id): event
            for event in self._told
            if isinstance(event, own_events.AnswerReceived)
        }
        for sent in self._told:
            if isinstance(sent, own_events.RequestSent):
                requests = self._asked_by(sent)
                if len(requests) == 1:
                    (handled,) = requests
                    answer = received.get((sent.producer, sent.correlation_id))
                    yield TimedExchange(sent, handled, answers.get(handled.request), answer)

    def _steps(self, chosen: _Choice) -> list[TimelineStep]:
        own = [event for event in self._told if event.producer == chosen.producer]
        sent = {
            event.correlation_id: event
            for event in own
            if isinstance(event, own_events.RequestSent) and event.correlation_id in chosen.correlation_ids
        }
        numbers: dict[int, tuple[str, int]] = {}
        for correlation_id, event in sent.items():
            request = self._same(event)
            if request is not None:
                numbers[request.request] = chosen.producer, correlation_id
        # The producer's journal already has the content of a Produce.
        heard = [
            event
            for event in self._heard
            if request_of(event) in numbers and not isinstance(event, broker_events.Produce)
        ]
        partitions = {
            (event.topic, event.partition)
            for event in own
            if isinstance(event, own_events.BatchDrained | own_events.RecordAppended) and event.batch in chosen.batches
        }
        is_alone = chosen.record is not None
        if is_alone:
            heard = [
                event
                for event in heard
                if not isinstance(event, broker_events.Append) or (event.topic, event.partition) in partitions
            ]
        producer_events = [event for event in own if _is_about(event, chosen)]
        return self._joined(producer_events, heard, numbers, partitions if is_alone else None)

    def _joined(
        self,
        producer_events: Sequence[ProducerEvent],
        heard: Sequence[broker_events.Event],
        numbers: dict[int, tuple[str, int]],
        partitions: Collection[tuple[str, int]] | None,
    ) -> list[TimelineStep]:
        """Return the steps of both journals. `numbers` has the producer and the correlation id of each broker
        request."""
        steps: list[TimelineStep] = []
        for event in merged(producer_events, heard, numbers, self._clocks):
            about: int | None
            if isinstance(event, ProducerEvent):
                where, about = event.producer, getattr(event, "correlation_id", None)
            elif (number := request_of(event)) in numbers:
                where, about = f"broker {self._requests[number].broker}", numbers[number][1]
            else:
                where, about = _place_of(event), None
            elapsed_ms = self._clocks.ms(event) - self._clocks.ms(steps[0].event if steps else event)
            if steps:  # clocks with different rounding may contradict the order by a millisecond
                elapsed_ms = max(elapsed_ms, steps[-1].elapsed_ms)
            text = told_of(event, partitions)
            steps.append(TimelineStep(elapsed_ms, event.mono_ms, event.wall_ms, where, about, text, event))
        return steps


def _piece_of(split: own_events.BatchSplit, place: int) -> tuple[int, int]:
    for batch, records in split.pieces:
        if place < records:
            return batch, place
        place -= records
    return NOTHING, NOTHING


def _is_about(event: ProducerEvent, chosen: _Choice) -> bool:
    match event:
        case own_events.RequestSent() | own_events.AnswerReceived() | own_events.ResponseHandled():
            return event.correlation_id in chosen.correlation_ids
        case own_events.Disconnected():
            return not chosen.correlation_ids.isdisjoint(event.correlation_ids)
        case (
            own_events.BatchDrained()
            | own_events.BatchRetried()
            | own_events.BatchSplit()
            | own_events.BatchExpired()
            | own_events.BatchResequenced()
        ):
            return event.batch in chosen.batches
        case own_events.RecordAppended() if chosen.record is None:
            return event.batch in chosen.batches
    return chosen.record is not None and getattr(event, "record", None) == chosen.record


def _place_of(event: broker_events.Event) -> str:
    broker: int = getattr(event, "leader", getattr(event, "broker", NOTHING))
    return f"broker {broker}" if broker >= 0 else "cluster"
