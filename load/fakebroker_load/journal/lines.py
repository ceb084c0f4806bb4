"""The journal's events as rows, with the fields that the judging needs.

Shape    `read_event` and `event_of` return an event. `Rows` gathers events, and returns tables of JOURNAL_SCHEMA. Each
         event has a row; a `produce` and an `answer` have one for each partition. `seq` is the place in the journal:
         the order in which things happened. A table has rows of one kind of event.
         The JSON is that of `fakebroker serve --journal`, and of the HTTP control; fakebroker's core/journal/events.py
         describes its fields. A million requests have six million lines, so msgspec reads only the needed fields, and
         makes no dictionary.
Units    *_mono_ms is milliseconds of the broker's monotonic clock: where it begins is the broker's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Any, TypeAlias, TypeVar, cast, get_type_hints

import pyarrow as pa
from msgspec import Struct, ValidationError, convert, defstruct
from msgspec.json import Decoder

from fakebroker.core.journal import events
from fakebroker.core.journal.json_lines import NAMES
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker_load.results.column import INT, LONG, PARTITION, RUN, SHORT, TEXT, TOPIC, YES_NO, Column, schema_of

APIS = frozenset(("Produce", "Fetch", "ApiVersions"))  # other requests are left out

JOURNAL_COLUMNS = (
    RUN,
    Column(
        "seq",
        LONG,
        "place of the event in the journal, the number of its first byte in a file: the order of events",
    ),
    Column("event", TEXT, "kind of the event"),
    Column("mono_ms", LONG, "broker's monotonic time of the event"),
    Column("connection", LONG, "broker's number of the connection"),
    Column("request", LONG, "broker's number of the request"),
    Column("peer", TEXT, "address of the client, host:port"),
    Column("api", TEXT, "API of the request: Produce, Fetch or ApiVersions"),
    Column("correlation_id", INT, "correlation id of the request"),
    Column("client_id", TEXT, "client id of the request"),
    Column("received_mono_ms", LONG, "broker's monotonic time at which the request was received"),
    Column("acks", SHORT, "acks of the request"),
    Column("timeout_ms", INT, "timeout of the request"),
    TOPIC,
    PARTITION,
    Column("error_code", SHORT, "error code of the append, or in the response"),
    Column("base_offset", LONG, "first offset of the append, or base offset in the response"),
    Column("last_offset", LONG, "last offset of the append"),
    Column("is_duplicate", YES_NO, "true: an idempotent producer's batch that was there already"),
    Column("is_marker", YES_NO, "true: a transaction marker"),
    Column("records", pa.list_(TEXT), "digests of all records of the append, in the order of their offsets"),
    Column("outcome", TEXT, "how the request ended: sent, or why no response left"),
    Column("deadline_mono_ms", LONG, "broker's monotonic time at which the parked request expires"),
    Column("high_watermark", LONG, "high watermark from this event on"),
    Column("log_end_offset", LONG, "log end offset of the leader at this event"),
    Column("leader_epoch", INT, "leader epoch of the partition at this event"),
    Column("throttle_ms", INT, "for how long a quota mutes the connection"),
)
JOURNAL_SCHEMA = schema_of(JOURNAL_COLUMNS)

_CODES: dict[str | None, int] = {kafka_name(code): int(code) for code in ErrorCode}
Row = tuple[Any, ...]


E = TypeVar("E", bound=events.Event)


def _struct(kind: type[E], *fields: str, **types: object) -> type[E]:
    """Return how an event of this kind is read: as these fields of its class, and of no others. A field has the type of
    the class, or one of `types`."""
    own = get_type_hints(kind) | types
    needed = [(name, own[name]) for name in fields]
    made = defstruct(kind.__name__, needed, tag=NAMES[kind], tag_field="event", gc=False, module=__name__)
    return cast("type[E]", made)


class PartitionAnswerFields(Struct, gc=False):
    topic: str | None = None
    partition: int | None = None
    error: str | None = None
    base_offset: int | None = None


_NO_PARTITION = cast("events.PartitionAnswer", PartitionAnswerFields())
_MOVED = ("mono_ms", "topic", "partition", "high_watermark", "log_end_offset")
ConnectionOpened = _struct(events.ConnectionOpened, "connection", "peer")
ConnectionClosed = _struct(events.ConnectionClosed, "connection")
Request = _struct(
    events.Request,
    *("mono_ms", "request", "connection", "api", "correlation_id", "client_id", "received_mono_ms"),
)
Produce = _struct(events.Produce, "mono_ms", "request", "acks", "timeout_ms", "partitions")
Append = _struct(
    events.Append,
    *("mono_ms", "request", "topic", "partition", "error", "base_offset", "last_offset", "is_duplicate"),
    *("leader_epoch", "producer_id", "base_sequence", "records"),
)
Parked = _struct(events.Parked, "mono_ms", "request", "api", "deadline_mono_ms")
Answer = _struct(
    events.Answer,
    *("mono_ms", "request", "connection", "outcome", "partitions"),
    partitions=tuple[PartitionAnswerFields, ...],
)
WatermarkMoved = _struct(events.WatermarkMoved, *_MOVED)
LeaderChanged = _struct(events.LeaderChanged, *_MOVED, "leader_epoch")
Throttled = _struct(events.Throttled, "mono_ms", "connection", "throttle_time_ms")
Dropped = _struct(events.Dropped, "events")
# No field of these is needed. They are very frequent, and msgspec skips known kinds faster than unknown ones.
Expired = _struct(events.Expired)
TimerFired = _struct(events.TimerFired)

_READ: tuple[Any, ...] = (
    *(ConnectionOpened, ConnectionClosed, Request, Produce, Append, Parked, Answer, WatermarkMoved, LeaderChanged),
    *(Throttled, Dropped, Expired, TimerFired),
)
JournalEvent: TypeAlias = events.Event
"""An event that is read: one of the structs, with the fields above."""
_TAGS = {kind.__struct_config__.tag for kind in _READ}
_ANY: Any = reduce(or_, _READ)
_read: Callable[[bytes], JournalEvent] = Decoder(_ANY).decode


class _Kind(Struct, gc=False):
    event: str


_read_kind = Decoder(_Kind).decode


def read_event(line: bytes) -> JournalEvent | None:
    """Return the event of a line of the journal; None for a kind that is not needed. Raises msgspec.MsgspecError for a
    line that is no event."""
    try:
        return _read(line)
    except ValidationError:
        if _read_kind(line).event in _TAGS:
            raise
        return None


def event_of(content: Mapping[str, Any]) -> JournalEvent | None:
    """Return the event of the control's JSON; None for a kind that is not needed. Raises msgspec.MsgspecError for what
    is no event."""
    if content.get("event") in _TAGS:
        known: JournalEvent = convert(content, _ANY)
        return known
    convert(content, _Kind)
    return None


_COMMON = ("seq", "mono_ms")
_PLACE = ("topic", "partition")
_WATERMARK = (*_COMMON, *_PLACE, "high_watermark", "log_end_offset")
COLUMNS: dict[str, tuple[str, ...]] = {
    "request": (
        *_COMMON,
        *("request", "connection", "peer", "api", "correlation_id", "client_id", "received_mono_ms"),
    ),
    "produce": (*_COMMON, "request", "acks", "timeout_ms", *_PLACE),
    "append": (
        *(*_COMMON, "request", *_PLACE, "error_code", "base_offset", "last_offset"),
        *("is_duplicate", "is_marker", "records", "leader_epoch"),
    ),
    "parked": (*_COMMON, "request", "api", "deadline_mono_ms"),
    "answer": (*_COMMON, "request", "connection", "outcome", *_PLACE, "error_code", "base_offset"),
    "watermark_moved": _WATERMARK,
    "leader_changed": (*_WATERMARK, "leader_epoch"),
    "throttled": (*_COMMON, "connection", "throttle_ms"),
}


def _moved(event: events.WatermarkMoved | events.LeaderChanged) -> Row:
    return event.topic, event.partition, event.high_watermark, event.log_end_offset


class Rows:
    """The rows of one run, gathered by kind of event until they are taken as tables."""

    def __init__(self, run: str) -> None:
        self.added = 0
        self._run = run
        self._of: dict[str, list[Row]] = {kind: [] for kind in COLUMNS}

    def add(self, seq: int, event: JournalEvent, peer: str | None) -> None:
        """Add an event. If it is a request, `peer` is its peer."""
        self.added += 1
        match event:
            case Request():
                if event.api in APIS:
                    identity = event.api, event.correlation_id, event.client_id, event.received_mono_ms
                    row = (seq, event.mono_ms, event.request, event.connection, peer, *identity)
                    self._of["request"].append(row)
            case Produce():
                asking = seq, event.mono_ms, event.request, event.acks, event.timeout_ms
                self._of["produce"].extend([(*asking, *place) for place in event.partitions])
            case Append():
                records = event.records
                is_marker = event.producer_id >= 0 and event.base_sequence < 0
                place = event.topic, event.partition
                offsets = _CODES.get(event.error), event.base_offset, event.last_offset
                common = seq, event.mono_ms, event.request
                self._of["append"].append(
                    (*common, *place, *offsets, event.is_duplicate, is_marker, records, event.leader_epoch)
                )
            case Parked():
                self._of["parked"].append((seq, event.mono_ms, event.request, event.api, event.deadline_mono_ms))
            case Answer():
                answer = seq, event.mono_ms, event.request, event.connection, event.outcome
                for part in event.partitions or (_NO_PARTITION,):
                    part_row = part.topic, part.partition, _CODES.get(part.error), part.base_offset
                    self._of["answer"].append((*answer, *part_row))
            case WatermarkMoved():
                self._of["watermark_moved"].append((seq, event.mono_ms, *_moved(event)))
            case LeaderChanged():
                self._of["leader_changed"].append((seq, event.mono_ms, *_moved(event), event.leader_epoch))
            case Throttled():
                self._of["throttled"].append((seq, event.mono_ms, event.connection, event.throttle_time_ms))

    def tables(self, at_least: int = 1) -> Iterator[pa.Table]:
        """Take tables of the kinds that have at least so many rows."""
        for kind, rows in self._of.items():
            if len(rows) >= at_least:
                self._of[kind] = []
                yield self._table(kind, rows)

    def _table(self, kind: str, rows: list[Row]) -> pa.Table:
        columns: dict[str, Any] = dict(zip(COLUMNS[kind], zip(*rows, strict=True), strict=True))
        same = {"run": self._run, "event": kind}
        return pa.table(
            [
                pa.array(columns[field.name], field.type)
                if field.name in columns
                else pa.repeat(pa.scalar(same.get(field.name), field.type), len(rows))
                for field in JOURNAL_SCHEMA
            ],
            schema=JOURNAL_SCHEMA,
        )
