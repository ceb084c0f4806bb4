"""Queries of a journal: the results of the Produce requests, partition by partition, compared with expectations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, overload

from fakebroker.core.arguments import STRING_OR_NONE, WHOLE_NUMBER_OR_NONE, require, require_at_least
from fakebroker.core.journal.events import Event, Request
from fakebroker.core.journal.misspelt import meant_by
from fakebroker.core.journal.produced import ProducedPartition, Produces
from fakebroker.protocol.error_code import error_from_name, kafka_name
from fakebroker.protocol.slices import Slices, finish

_SHOWN = 20  # entries shown in the message of a failed assertion
_LOOKED_AT = 512  # entries in a slice


class ProduceView(Sequence[ProducedPartition]):
    """Selected Produce requests, one entry for each of their partitions, in the order of handling."""

    def __init__(
        self,
        entries: Sequence[ProducedPartition],
        requests: dict[int, Request],
        dropped: int,
        wanted: str = "",
        others: Sequence[ProducedPartition] = (),
        slip: Callable[[], str] = str,
    ) -> None:
        """Create a view. `wanted` describes the selection, if it is not all requests; `others` are the other entries.
        `slip` returns a sentence about a topic that is probably misspelt, or ""."""
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
        """Return the requests of these partitions, each once."""
        return [self._requests[number] for number in dict.fromkeys(entry.request for entry in self._entries)]

    def expect(
        self, error: str | None = None, *, count: int | None = None, within_ms: int | None = None
    ) -> ProduceView:
        """Return the entries with this response, or raise an AssertionError that lists the entries instead.

        error       Kafka's name of an error, or "NONE"; any response if not given
        count       exactly so many; at least one if not given
        within_ms   only responses at most so long after the request was handled, by the broker's clock

        count=0 fails if the topic is probably misspelt: it never existed, and another name is almost the same. Raise
        ValueError for an error that Kafka does not have. A response counts although its client had gone.
        """
        return finish(self.expect_in_slices(ExpectedResponse.read(error, within_ms), count))

    def expect_in_slices(self, answered: ExpectedResponse, count: int | None) -> Slices[ProduceView]:
        require(WHOLE_NUMBER_OR_NONE, count=count)
        require_at_least(0, count=count)
        matching: list[ProducedPartition] = []
        for number, entry in enumerate(self._entries, 1):
            if answered.has(entry):
                matching.append(entry)
            if number % _LOOKED_AT == 0:
                yield
        wanted = "at least 1" if count is None else str(count)
        if count is not None and self._dropped:
            raise AssertionError(
                f"{wanted} cannot be told: {self._dropped} events of the journal were dropped; "
                "keep more with journal=EVENTS, or clear() it before what matters"
            )
        if len(matching) != count and (count is not None or not matching):
            there = yield from self._list()
            raise AssertionError(
                f"expected {wanted} answered {answered}, found {len(matching)} of {len(self)}{self._wanted}{there}"
            )
        if not matching and (slip := self._slip()):
            raise AssertionError(slip)
        return ProduceView(matching, self._requests, self._dropped)

    def _list(self) -> Slices[str]:
        lines = [str(entry) for entry in self._entries[-_SHOWN:]]
        if len(self) > _SHOWN:
            lines.insert(0, f"({len(self) - _SHOWN} earlier ones)")
        if self._dropped:
            lines.insert(0, f"({self._dropped} events of the journal were dropped)")
        if not self:
            lines += yield from self._list_others()
        return "".join(f"\n  {line}" for line in lines)

    def _list_others(self) -> Slices[list[str]]:
        """Return lines about the other entries: a misspelt topic has no request."""
        if not self._others:
            return ["the journal has no Produce request"]
        counts: Counter[tuple[str, str | None]] = Counter()
        for number, entry in enumerate(self._others, 1):
            counts[f"{entry.topic}-{entry.partition}", entry.client_id] += 1
            if number % _LOOKED_AT == 0:
                yield
        lines = [
            f"{place} from client {client_id!r}: {count}" for (place, client_id), count in counts.most_common(_SHOWN)
        ]
        if len(counts) > _SHOWN:
            lines.append(f"and {len(counts) - _SHOWN} more")
        return ["the journal has Produce requests to", *(f"  {line}" for line in lines)]


class ExpectedResponse(NamedTuple):
    """The expected response of a partition: this error, or any if None, within so many milliseconds."""

    error: str | None
    within_ms: int | None

    @classmethod
    def read(cls, error: str | None, within_ms: int | None) -> ExpectedResponse:
        """Check the values. Raise ValueError for an error that Kafka does not have."""
        require(STRING_OR_NONE, error=error)
        require(WHOLE_NUMBER_OR_NONE, within_ms=within_ms)
        require_at_least(0, within_ms=within_ms)
        return cls(None if error is None else kafka_name(error_from_name(error)), within_ms)

    def has(self, entry: ProducedPartition) -> bool:
        waited_ms, (error, within_ms) = entry.waited_ms, self
        return waited_ms is not None and error in (None, entry.error) and (within_ms is None or waited_ms <= within_ms)

    def __str__(self) -> str:
        return (self.error or "at all") + ("" if self.within_ms is None else f" within {self.within_ms} ms")


def view_produce(
    events: Iterable[Event],
    dropped: int,
    topic: str | None,
    partition: int | None,
    client_id: str | None,
    topics: Iterable[str] = (),
) -> ProduceView:
    """Return the Produce requests to a topic, to partitions of that number, from a client; None means all. `dropped`
    events came before these. `topics` exist now."""
    produces = Produces()
    finish(produces.read(events))
    return finish(view_in_slices(produces, ProduceSelection(topic, partition, client_id), dropped, topics))


class ProduceSelection(NamedTuple):
    """A selection of Produce requests; None means all."""

    topic: str | None
    partition: int | None
    client_id: str | None

    def has(self, entry: ProducedPartition) -> bool:
        topic, partition, client_id = self
        return (
            (topic is None or topic == entry.topic)
            and (partition is None or partition == entry.partition)
            and (client_id is None or client_id == entry.client_id)
        )

    def __str__(self) -> str:
        return (
            ("" if self.topic is None else f" to topic {self.topic!r}")
            + ("" if self.partition is None else f" to partition {self.partition}")
            + ("" if self.client_id is None else f" from client {self.client_id!r}")
        )


def view_in_slices(
    produces: Produces, wanted: ProduceSelection, dropped: int, topics: Iterable[str]
) -> Slices[ProduceView]:
    """Return the result of `view_produce` for requests that were read. Requests read meanwhile are left out."""
    entries: list[ProducedPartition] = []
    others: list[ProducedPartition] = []
    for number in range(produces.first, produces.end):
        entry = produces.find(number)
        if entry is not None:
            (entries if wanted.has(entry) else others).append(entry)
        if number % _LOOKED_AT == 0:
            yield
    return view_of(produces, wanted, dropped, topics, entries, others)


def view_of(
    produces: Produces,
    wanted: ProduceSelection,
    dropped: int,
    topics: Iterable[str],
    entries: Sequence[ProducedPartition],
    others: Sequence[ProducedPartition] = (),
) -> ProduceView:
    """Return a view of these entries, which `wanted` has."""

    def slip() -> str:
        return "" if wanted.topic is None else _slip(wanted.topic, produces.topics.union(topics))

    return ProduceView(entries, produces.requests, dropped + produces.dropped, str(wanted), others, slip)


def _slip(topic: str, known: Iterable[str]) -> str:
    meant = meant_by(topic, known)
    if meant is None:
        return ""
    return (
        f"there is no topic {topic!r}, and the journal knows none: {meant!r} may be meant. "
        f"If it is not, `assert not kafka.journal.produce(topic={topic!r})` says the same"
    )
