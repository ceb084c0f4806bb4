"""The events of a producer's journal: one class per kind of event, and each event as a line of JSON.

Theory   The format is that of the broker's journal (fakebroker/core/journal/events.py), so that both can be read as
         one. Requests connect the two: `client_id`, `node` and `correlation_id` here equal `client_id`, `broker` and
         `correlation_id` there, if all client ids differ. Records, batches and connections of a producer are numbered
         from 1. `producer` is the name of the journal. A record has one `RecordSent`, and finally one
         `RecordCalledBack`, or one `RecordRefused` with `is_thrown`. The same calls give the same events.
Units    milliseconds: `mono_ms` is the time passed to the producer's calls, and `wall_ms` the same since 1970. `error`
         is Kafka's name, "NONE" for none, or the class name of a producer error. Offsets, epochs, sequences and
         producer ids are -1 if there is none.
JSON     {"event": "record_sent", "mono_ms": ..., ...}: the fields of the class in their order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

NO_ERROR = "NONE"


class RecordSent(NamedTuple):
    """A call of `send`. `partition` is -1 if the producer chooses it. `key` is text, with \\x.. for other bytes."""

    mono_ms: int
    wall_ms: int
    producer: str
    record: int
    topic: str
    partition: int
    key: str | None
    size: int


class RecordBlocked(NamedTuple):
    """The start of a wait of the caller of `send`, for "memory" or "metadata"."""

    mono_ms: int
    wall_ms: int
    producer: str
    record: int
    waits_for: str


class RecordUnblocked(NamedTuple):
    """The end of a wait of the caller of `send`, after `waited_ms`."""

    mono_ms: int
    wall_ms: int
    producer: str
    record: int
    waits_for: str
    waited_ms: int


class RecordAppended(NamedTuple):
    """The append of a record to a batch, at index `place` from 0. `is_new_batch`: the record is its first."""

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
    """The refusal of a record, which gets into no batch. If `is_thrown`, there is no callback."""

    mono_ms: int
    wall_ms: int
    producer: str
    record: int
    error: str
    message: str
    is_thrown: bool


class RecordCalledBack(NamedTuple):
    """The callback of a record, its end. The partition is -1 if it failed before it had one."""

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
    """The drain of a batch for sending. `attempts` counts earlier failures; `created_mono_ms` is its creation time."""

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
    """A failed attempt to send a batch, which is in its queue again."""

    mono_ms: int
    wall_ms: int
    producer: str
    batch: int
    topic: str
    partition: int
    error: str
    attempts: int


class BatchSplit(NamedTuple):
    """The split of a batch that was too large. `pieces` are (batch, records) of the batches that replace it, in
    order."""

    mono_ms: int
    wall_ms: int
    producer: str
    batch: int
    topic: str
    partition: int
    pieces: tuple[tuple[int, int], ...]


class BatchExpired(NamedTuple):
    """The expiry of a batch. `since` is "last append", "batch creation plus linger time" or "last attempt plus backoff
    time" (2.0), or "batch creation" (KIP-91)."""

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
    """A change of a batch that will be sent again: it has another sequence, producer id or epoch."""

    mono_ms: int
    wall_ms: int
    producer: str
    batch: int
    old_base_sequence: int
    base_sequence: int


class Connecting(NamedTuple):
    """The start of an attempt to connect. Nodes below 0 are those of `bootstrap.servers`."""

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
    """A request that was sent. `batches` are those of a Produce request; for others acks and timeout are -1."""

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
    """The complete arrival of a response."""

    mono_ms: int
    wall_ms: int
    producer: str
    connection: int
    node: int
    correlation_id: int


class ResponseHandled(NamedTuple):
    """The outcome of a request. `outcome` is "answered", "none" (acks=0), "disconnected", "timed out" or "no version".
    `partitions` are (topic, partition, error, base offset) of a Produce response."""

    mono_ms: int
    wall_ms: int
    producer: str
    node: int
    correlation_id: int
    outcome: str
    partitions: tuple[tuple[str, int, str, int], ...]


class Disconnected(NamedTuple):
    """The end of a connection; its requests failed. `reason` is "lost", or why the producer closed it: "no answer in
    time", "not connected in time", "idle" (`connections.max.idle.ms`), "closed"."""

    mono_ms: int
    wall_ms: int
    producer: str
    connection: int
    node: int
    reason: str
    correlation_ids: tuple[int, ...]


class MetadataUpdated(NamedTuple):
    """A metadata response that was applied. `version` counts them; `nodes` are the known brokers."""

    mono_ms: int
    wall_ms: int
    producer: str
    version: int
    nodes: tuple[int, ...]


class ProducerIdChanged(NamedTuple):
    """A change of the producer's id or epoch; both are -1 while it has none."""

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
    """Return the name of the event in JSON."""
    return _NAMES[type(event)]


def to_json(event: ProducerEvent) -> str:
    """Return the event as one line, without the line end."""
    return json.dumps({"event": name_of(event), **event._asdict()}, separators=(",", ":"))


def from_json(line: str) -> ProducerEvent:
    """Return the event of a line. Raises ValueError if the line is not an event."""
    try:
        values = json.loads(line)
        kind = _KINDS[values.pop("event")]
        return kind(**{name: _frozen(value) for name, value in values.items()})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"this is not an event of a producer's journal: {line.strip()!r}") from error


def to_lines(events: Iterable[ProducerEvent]) -> Iterator[str]:
    """Return each event as a line of JSON, with its line end."""
    return (to_json(event) + "\n" for event in events)


def from_lines(lines: Iterable[str]) -> Iterator[ProducerEvent]:
    """Return the events of lines such as an open file. Raises ValueError at a line that is not an event."""
    return map(from_json, lines)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if type(value) is list else value
