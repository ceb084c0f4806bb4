"""What a producer's journal tells: one kind of event per class, and each as a line of JSON.

Theory   The form is that of the broker's journal (fakebroker/core/journal/events.py), so that both can be read as one.
         What joins them is a request: `client_id`, `node` and `correlation_id` here are `client_id`, `broker` and
         `correlation_id` there, as long as no two clients have the same id.
         Records, batches and connections of a producer are counted from 1; `producer` is the name that its journal was
         given. A record has one `RecordSent` and in the end one `RecordCalledBack`, or one `RecordRefused` that was
         thrown. The same calls give the same events.
Units    milliseconds of `mono_ms`, the time that the producer's doors were told, and `wall_ms`, the same since 1970.
         `error` is Kafka's name, "NONE" for none, or the name of the producer's own error. Offsets, epochs, sequences
         and producer ids are -1 where there is none.
JSON     {"event": "record_sent", "mono_ms": ..., ...}: the fields of the class in their order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class RecordSent(NamedTuple):
    """`send` was called. `partition` is -1 if the producer is to choose; `key` is text, or as \\x.. what is none."""

    mono_ms: int
    wall_ms: int
    producer: str
    record: int
    topic: str
    partition: int
    key: str | None
    size: int


class RecordBlocked(NamedTuple):
    """Its caller waits for "memory" or "metadata"."""

    mono_ms: int
    wall_ms: int
    producer: str
    record: int
    waits_for: str


class RecordUnblocked(NamedTuple):
    """Its caller has waited so long, and waits for that no more."""

    mono_ms: int
    wall_ms: int
    producer: str
    record: int
    waits_for: str
    waited_ms: int


class RecordAppended(NamedTuple):
    """It is in a batch, which it has begun or not, as its record number `place`, from 0."""

    mono_ms: int
    wall_ms: int
    producer: str
    record: int
    topic: str
    partition: int
    batch: int
    place: int
    is_new_batch: bool


class RecordRefused(NamedTuple):
    """It gets into no batch. If that `is_thrown`, it is not called back."""

    mono_ms: int
    wall_ms: int
    producer: str
    record: int
    error: str
    message: str
    is_thrown: bool


class RecordCalledBack(NamedTuple):
    """The end of a record. The partition is -1 if it failed before it had one."""

    mono_ms: int
    wall_ms: int
    producer: str
    record: int
    topic: str
    partition: int
    error: str
    message: str
    offset: int


class BatchDrained(NamedTuple):
    """It is taken to be sent. `attempts` counts those that failed before; `created_mono_ms` is when it was begun."""

    mono_ms: int
    wall_ms: int
    producer: str
    batch: int
    topic: str
    partition: int
    node: int
    records: int
    created_mono_ms: int
    attempts: int
    producer_id: int
    producer_epoch: int
    base_sequence: int


class BatchRetried(NamedTuple):
    """It failed with that error, and is in its queue again."""

    mono_ms: int
    wall_ms: int
    producer: str
    batch: int
    topic: str
    partition: int
    error: str
    attempts: int


class BatchSplit(NamedTuple):
    """It was too large: its records are in other batches, (batch, records) of each, in order."""

    mono_ms: int
    wall_ms: int
    producer: str
    batch: int
    topic: str
    partition: int
    pieces: tuple[tuple[int, int], ...]


class BatchExpired(NamedTuple):
    """It has waited too long, as reckoned `since`: "last append", "batch creation plus linger time", "last attempt plus
    backoff time" (2.0), or "batch creation" (KIP-91)."""

    mono_ms: int
    wall_ms: int
    producer: str
    batch: int
    topic: str
    partition: int
    since: str
    message: str
    was_in_flight: bool


class BatchResequenced(NamedTuple):
    """It is to be sent again under another sequence, or by another producer id or epoch."""

    mono_ms: int
    wall_ms: int
    producer: str
    batch: int
    old_base_sequence: int
    base_sequence: int


class Connecting(NamedTuple):
    """It begins to connect. Nodes below 0 are those of `bootstrap.servers`."""

    mono_ms: int
    wall_ms: int
    producer: str
    connection: int
    node: int


class Connected(NamedTuple):
    mono_ms: int
    wall_ms: int
    producer: str
    connection: int
    node: int


class RequestSent(NamedTuple):
    """`batches` are those of a Produce; else it has none, and acks and timeout are -1."""

    mono_ms: int
    wall_ms: int
    producer: str
    connection: int
    node: int
    client_id: str
    correlation_id: int
    api: str
    version: int
    acks: int
    timeout_ms: int
    batches: tuple[int, ...]


class AnswerReceived(NamedTuple):
    """An answer is there."""

    mono_ms: int
    wall_ms: int
    producer: str
    connection: int
    node: int
    correlation_id: int


class ResponseHandled(NamedTuple):
    """What came of a request. `outcome` is "answered", "none" (acks=0), "disconnected", "timed out" or "no version";
    `partitions` are (topic, partition, error, base offset) as a Produce was answered."""

    mono_ms: int
    wall_ms: int
    producer: str
    node: int
    correlation_id: int
    outcome: str
    partitions: tuple[tuple[str, int, str, int], ...]


class Disconnected(NamedTuple):
    """A connection is gone; requests that waited there fail with it. `reason` is "lost", or why the producer closed it:
    "no answer in time", "not connected in time", "idle" (`connections.max.idle.ms`), "closed"."""

    mono_ms: int
    wall_ms: int
    producer: str
    connection: int
    node: int
    reason: str
    correlation_ids: tuple[int, ...]


class MetadataUpdated(NamedTuple):
    """An answer about the cluster is taken in: the count of them, and the nodes that there are."""

    mono_ms: int
    wall_ms: int
    producer: str
    version: int
    nodes: tuple[int, ...]


class ProducerIdChanged(NamedTuple):
    """It writes under another id or epoch from now on; both are -1 while it has none."""

    mono_ms: int
    wall_ms: int
    producer: str
    producer_id: int
    producer_epoch: int


ProducerEvent = (
    RecordSent
    | RecordBlocked
    | RecordUnblocked
    | RecordAppended
    | RecordRefused
    | RecordCalledBack
    | BatchDrained
    | BatchRetried
    | BatchSplit
    | BatchExpired
    | BatchResequenced
    | Connecting
    | Connected
    | RequestSent
    | AnswerReceived
    | ResponseHandled
    | Disconnected
    | MetadataUpdated
    | ProducerIdChanged
)

_KINDS: dict[str, type[ProducerEvent]] = {
    re.sub("(?<=.)([A-Z])", r"_\1", kind.__name__).lower(): kind for kind in ProducerEvent.__args__
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def name_of(event: ProducerEvent) -> str:
    """As JSON has it."""
    return _NAMES[type(event)]


def to_json(event: ProducerEvent) -> str:
    """One line, without its end."""
    return json.dumps({"event": name_of(event), **event._asdict()}, separators=(",", ":"))


def from_json(line: str) -> ProducerEvent:
    """The event of a line. Raises ValueError for a line that is none."""
    try:
        values = json.loads(line)
        kind = _KINDS[values.pop("event")]
        return kind(**{name: _frozen(value) for name, value in values.items()})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"this is no event of a producer's journal: {line.strip()!r}") from error


def to_lines(events: Iterable[ProducerEvent]) -> Iterator[str]:
    """Each event as a line of JSON, with its end."""
    return (to_json(event) + "\n" for event in events)


def from_lines(lines: Iterable[str]) -> Iterator[ProducerEvent]:
    """The events of what `to_lines` gave, as of an open file. Raises ValueError at a line that is none."""
    return map(from_json, lines)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if type(value) is list else value
