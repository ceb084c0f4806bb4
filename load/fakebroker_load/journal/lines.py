"""The journal's events as rows: of the JSON of each, what the judging asks.

Shape    JOURNAL_SCHEMA has a row for each event of KINDS; a `produce` and an `answer` have one for each of their
         partitions. `seq` is the place in the journal: the order in which things happened.
         The JSON is that of `fakebroker serve --journal`, and of the HTTP control; its fields are described in
         fakebroker's core/journal/events.py.
Units    *_mono_ms is milliseconds of the broker's monotonic clock: where it begins is the broker's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from fakebroker.protocol.error_code import ErrorCode, kafka_name

KINDS = frozenset(("request", "produce", "append", "parked", "answer", "watermark_moved", "leader_changed"))
DROPPED = "dropped"
APIS = frozenset(("Produce", "Fetch", "ApiVersions"))  # requests of others are left out

JOURNAL_SCHEMA = pa.schema(
    [
        pa.field("run", pa.string()),
        pa.field("seq", pa.int64()),
        pa.field("event", pa.string()),
        pa.field("mono_ms", pa.int64()),
        pa.field("connection", pa.int64()),
        pa.field("request", pa.int64()),
        pa.field("peer", pa.string()),  # of a request: who is at the other end of its connection
        pa.field("api", pa.string()),
        pa.field("correlation_id", pa.int32()),
        pa.field("client_id", pa.string()),
        pa.field("received_mono_ms", pa.int64()),
        pa.field("acks", pa.int16()),
        pa.field("timeout_ms", pa.int32()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("error_code", pa.int16()),
        pa.field("base_offset", pa.int64()),
        pa.field("last_offset", pa.int64()),
        pa.field("is_duplicate", pa.bool_()),
        pa.field("fingerprint", pa.string()),  # of an append of one record; null: of more, or it has none
        pa.field("is_marker", pa.bool_()),  # of an append: it ends a transaction, and has no record of anybody
        pa.field("records", pa.list_(pa.string())),  # the fingerprints of an append, in the order of its offsets
        pa.field("outcome", pa.string()),
        pa.field("deadline_mono_ms", pa.int64()),
        pa.field("high_watermark", pa.int64()),
        pa.field("log_end_offset", pa.int64()),  # of the leader, where a watermark moved or a leader came
    ]
)

_CODES: dict[str | None, int] = {kafka_name(code): int(code) for code in ErrorCode}
Row = dict[str, Any]


def rows_of(run: str, seq: int, event: Mapping[str, Any], peer: str | None) -> Iterator[Row]:
    """The rows of an event, which may be a request of this peer; none if nobody asks for its kind. Raises KeyError for
    one that lacks a field."""
    kind = event["event"]
    if kind not in KINDS or (kind == "request" and event["api"] not in APIS):
        return
    row: Row = {"run": run, "seq": seq, **event}
    match kind:
        case "produce":
            for topic, partition in event["partitions"]:
                yield row | {"topic": topic, "partition": partition}
        case "answer":
            for part in event["partitions"] or ({"error": None, "base_offset": None},):
                yield row | part | {"error_code": _CODES.get(part["error"])}
        case "append":
            (only,) = event["records"] if len(event["records"]) == 1 else (None,)
            is_marker = event["producer_id"] >= 0 and event["base_sequence"] < 0
            yield row | {"error_code": _CODES.get(event["error"]), "fingerprint": only, "is_marker": is_marker}
        case "request":
            yield row | {"peer": peer}
        case _:
            yield row
