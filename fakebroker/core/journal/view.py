"""Questions to a journal: what became of the Produce requests, partition by partition, and is it what was expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, overload

from fakebroker.core.arguments import STRING_OR_NONE, WHOLE_NUMBER_OR_NONE, require, require_at_least
from fakebroker.core.journal.events import (
    Answer,
    Append,
    Dropped,
    Event,
    PartitionAnswer,
    Produce,
    Request,
    TopicCreated,
)
from fakebroker.core.journal.misspelt import meant_by
from fakebroker.protocol.error_code import error_from_name, kafka_name

_SHOWN = 20  # of what was there, in the message of an assertion that fails


class ProducedPartition(NamedTuple):
    """One partition of one Produce request, and what its client was told of it.

    `error` is None, and `answered_mono_ms` too, while there is no answer; with acks=0 there never is one. `outcome` is
    "sent", "dropped" (the client had gone) or None. `records` counts what was appended. Times are the broker's.
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
        """From the handling to the answer, in which the produce timeout counts."""
        return None if self.answered_mono_ms is None else self.answered_mono_ms - self.handled_mono_ms

    def __str__(self) -> str:
        told = "no answer"
        if self.error is not None:
            told = f"{self.error}, offset {self.base_offset}, after {self.waited_ms} ms"
        gone = ", but the client had gone" if self.outcome == "dropped" else ""
        return (
            f"request {self.request} of {self.client_id!r} to {self.topic}-{self.partition}, acks={self.acks}, "
            f"timeout {self.timeout_ms} ms: {told}{gone}"
        )


class ProduceView(Sequence[ProducedPartition]):
    """The Produce requests that were asked for, one entry for each of their partitions, in the order of handling."""

    def __init__(
        self,
        entries: Sequence[ProducedPartition],
        requests: dict[int, Request],
        dropped: int,
        wanted: str = "",
        others: Sequence[ProducedPartition] = (),
        slip: str = "",
    ) -> None:
        """`wanted` says in words which requests these are, if not all; `others` are those that are not among them.
        `slip` is a sentence about a topic that is probably misspelt."""
        self._entries = entries
        self._requests = requests
        self._dropped = dropped
        self._wanted = wanted
        self._others = others
        self._slip = slip

    @overload
    def __getitem__(self, index: int) -> ProducedPartition: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ProducedPartition]: ...
    def __getitem__(self, index: int | slice) -> ProducedPartition | Sequence[ProducedPartition]:
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)

    def requests(self) -> list[Request]:
        """The requests that these partitions belong to, each once."""
        return [self._requests[number] for number in dict.fromkeys(entry.request for entry in self._entries)]

    def expect(
        self, error: str | None = None, *, count: int | None = None, within_ms: int | None = None
    ) -> ProduceView:
        """Those that were answered so, or an AssertionError that lists what was there instead.

        error       Kafka's name of an error, or "NONE"; any answer if not given
        count       exactly so many; at least one if not given
        within_ms   only those that were answered at most so long after they were handled, by the broker's clock

        To expect none fails if the topic is probably misspelt: it never existed, and another one is spelt almost like
        it. Raises ValueError for an error that Kafka does not have. An answer counts although its client had gone.
        """
        require(STRING_OR_NONE, error=error)
        require(WHOLE_NUMBER_OR_NONE, count=count, within_ms=within_ms)
        require_at_least(0, count=count, within_ms=within_ms)
        name = None if error is None else kafka_name(error_from_name(error))
        matching = [entry for entry in self._entries if _matches(entry, name, within_ms)]
        wanted = "at least 1" if count is None else str(count)
        if count is not None and self._dropped:
            raise AssertionError(
                f"{wanted} cannot be told: {self._dropped} events of the journal were dropped; "
                "keep more with journal=EVENTS, or clear() it before what matters"
            )
        if len(matching) != count and (count is not None or not matching):
            in_time = "" if within_ms is None else f" within {within_ms} ms"
            raise AssertionError(
                f"expected {wanted} answered {name or 'at all'}{in_time}, found {len(matching)} "
                f"of {len(self)}{self._wanted}{self._list()}"
            )
        if not matching and self._slip:
            raise AssertionError(self._slip)
        return ProduceView(matching, self._requests, self._dropped)

    def _list(self) -> str:
        lines = [str(entry) for entry in self._entries[-_SHOWN:]]
        if len(self) > _SHOWN:
            lines.insert(0, f"({len(self) - _SHOWN} earlier ones)")
        if self._dropped:
            lines.insert(0, f"({self._dropped} events of the journal were dropped)")
        if not self:
            lines += self._list_others()
        return "".join(f"\n  {line}" for line in lines)

    def _list_others(self) -> list[str]:
        """Say what else the journal has: a topic that was misspelt has no request."""
        if not self._others:
            return ["the journal has no Produce request"]
        counts = Counter((f"{entry.topic}-{entry.partition}", entry.client_id) for entry in self._others)
        lines = [
            f"{place} from client {client_id!r}: {count}" for (place, client_id), count in counts.most_common(_SHOWN)
        ]
        if len(counts) > _SHOWN:
            lines.append(f"and {len(counts) - _SHOWN} more")
        return ["the journal has Produce requests to", *(f"  {line}" for line in lines)]


def _matches(entry: ProducedPartition, error: str | None, within_ms: int | None) -> bool:
    waited_ms = entry.waited_ms
    return waited_ms is not None and error in (None, entry.error) and (within_ms is None or waited_ms <= within_ms)


def view_produce(
    events: Iterable[Event],
    dropped: int,
    topic: str | None,
    partition: int | None,
    client_id: str | None,
    topics: Iterable[str] = (),
) -> ProduceView:
    """The Produce requests to a topic, to partitions of that number, of a client; None means all. `dropped` events
    came before these. `topics` exist now."""
    requests: dict[int, Request] = {}
    asked: list[Produce] = []
    appended: dict[tuple[int, str, int], Append] = {}
    answers: dict[int, Answer] = {}
    created = set(topics)
    for event in events:
        match event:
            case Request(api="Produce"):
                requests[event.request] = event
            case Produce() if event.request in requests:
                asked.append(event)
            case Append():
                appended[event.request, event.topic, event.partition] = event
            case Answer():
                answers[event.request] = event
            case TopicCreated():
                created.add(event.topic)
            case Dropped():
                dropped += event.events
    entries: list[ProducedPartition] = []
    others: list[ProducedPartition] = []
    for produce in asked:
        request = requests[produce.request]
        for name, index in dict.fromkeys(produce.partitions):
            meant = topic in (None, name) and partition in (None, index) and client_id in (None, request.client_id)
            (entries if meant else others).append(_entry(request, produce, name, index, appended, answers))
    slip = "" if topic is None else _slip(topic, created.union(entry.topic for entry in (*entries, *others)))
    return ProduceView(entries, requests, dropped, _wanted(topic, partition, client_id), others, slip)


def _slip(topic: str, known: Iterable[str]) -> str:
    meant = meant_by(topic, known)
    if meant is None:
        return ""
    return (
        f"there is no topic {topic!r}, and the journal knows none: {meant!r} may be meant. "
        f"If it is not, `assert not kafka.journal.produce(topic={topic!r})` says the same"
    )


def _wanted(topic: str | None, partition: int | None, client_id: str | None) -> str:
    return (
        ("" if topic is None else f" to topic {topic!r}")
        + ("" if partition is None else f" to partition {partition}")
        + ("" if client_id is None else f" from client {client_id!r}")
    )


def _entry(
    request: Request,
    produce: Produce,
    topic: str,
    partition: int,
    appended: dict[tuple[int, str, int], Append],
    answers: dict[int, Answer],
) -> ProducedPartition:
    append = appended.get((request.request, topic, partition))
    answer = answers.get(request.request)
    told: PartitionAnswer | None = None
    if answer is not None:
        told = next((one for one in answer.partitions if one[:2] == (topic, partition)), None)
    base_offset = -1
    if told is not None:
        base_offset = told.base_offset
    elif append is not None:
        base_offset = append.base_offset
    return ProducedPartition(
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
        answer.mono_ms if answer is not None and told is not None else None,
        answer.outcome if answer is not None and told is not None else None,
        None if told is None else told.error,
        base_offset,
        0 if append is None or append.is_duplicate else len(append.records) or _appended(append),
    )


def _appended(append: Append) -> int:
    """How many records, of a batch that is too large for their names."""
    return append.last_offset - append.base_offset + 1 if append.base_offset >= 0 else 0
