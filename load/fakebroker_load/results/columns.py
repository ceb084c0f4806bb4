"""The meaning of each column of each Parquet file of a result folder. page.py makes docs/load-results.md of it.

Shape    SCHEMAS has the columns with their types, ROWS the meaning of a row. MEANINGS has a phrase for each column, and
         for each field of the struct `read`. Files of a run have their schema where they are written. The schema of a
         verdict's files follows from SQL (judging/) and is repeated here; tests compare it with Spark's output.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from fakebroker_load.results.folder import (
    JOURNAL_PARQUET,
    JUDGED_PARQUET,
    LOG_PARQUET,
    MISMATCH_PARQUET,
    PARQUET,
    PARTS_PARQUET,
    RECORDED,
)

_INT, _LONG, _TEXT, _YES_NO = pa.int32(), pa.int64(), pa.string(), pa.bool_()
# Columns from the responses and the log, then from the broker's journal. The latter exist only if a run has a journal.
_HIDDEN: Final = {
    "topic": _TEXT,
    "partition": _INT,
    "offset": _LONG,
    "value_crc": _LONG,
    "fingerprint": _TEXT,
}
_BY_ANSWERS: Final = {
    "is_raw": _YES_NO,
    "right_error": pa.int16(),
    "handled_us": _LONG,
    "lateness_us": _LONG,
    "early": _YES_NO,
    "copies": _LONG,
    "log_offset": _LONG,
    "log_topic": _TEXT,
    "log_partition": _INT,
    "readable_offset": _LONG,
    "end_offset": _LONG,
    "same_leader": _YES_NO,
    "stray_connection": _INT,
    "hidden": pa.list_(pa.struct(_HIDDEN.items())),
    "found_problem": _TEXT,
    "problem": _TEXT,
}
_ANSWER: Final = {
    "seq": _LONG,
    "connection": _LONG,
    "outcome": _TEXT,
    "error_code": pa.int16(),
    "base_offset": _LONG,
    "mono_ms": _LONG,
    "watermark": _LONG,
    "topic": _TEXT,
    "partition": _INT,
}
_APPEND: Final = {
    "seq": _LONG,
    "topic": _TEXT,
    "partition": _INT,
    "base_offset": _LONG,
    "last_offset": _LONG,
    "records": pa.list_(_TEXT),
}
BY_JOURNAL: Final = {
    "times": _LONG,
    "times_asked": _LONG,
    "request": _LONG,
    "broker_connection": _LONG,
    "handled_mono_ms": _LONG,
    "received_mono_ms": _LONG,
    "answer": pa.struct(_ANSWER.items()),
    "deadline_mono_ms": _LONG,
    "appends": _INT,
    "must_be_appended": _YES_NO,
    "own_appends": _INT,
    "append": pa.struct(_APPEND.items()),
    "recorded_offset": _LONG,
    "broker_lateness_us": _LONG,
    "journal_problem": _TEXT,
}
_MISMATCH: Final = {
    **dict.fromkeys(("run", "kind", "problem", "group"), _TEXT),
    **dict.fromkeys(("connection", "sequence", "correlation_id"), _INT),
    "topic": _TEXT,
    "partition": _INT,
    "offset": _LONG,
    "says": _TEXT,
}
SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    **RECORDED,
    JUDGED_PARQUET: pa.schema([*RECORDED[PARQUET], *pa.schema([*_BY_ANSWERS.items(), *BY_JOURNAL.items()])]),
    MISMATCH_PARQUET: pa.schema(_MISMATCH.items()),
}

ROWS: Final = {
    PARQUET: "One row for each record of each request, and for each thing that a reader was given.",
    LOG_PARQUET: "One row for each record that came into the logs during the run. A batch that cannot be decompressed "
    "has one row.",
    PARTS_PARQUET: "One row for each partition: where its log began and ended.",
    JOURNAL_PARQUET: "One row for each event of the broker's journal during the run, if there is a journal. A request "
    "or an answer of several partitions has a row for each.",
    JUDGED_PARQUET: "One row for each record of each request, with the columns of `requests.parquet` and what a "
    "verdict found.",
    MISMATCH_PARQUET: "One row for each mismatch, if there are any.",
}

_RUN = {"run": "name of the scenario"}
_PLACE = {"topic": "topic", "partition": "partition"}
_REQUESTS: Final = _RUN | {
    "group": "group of the scenario",
    "connection": "number of the connection in the run",
    "sequence": "number of the record on its connection, from 0",
    "correlation_id": "correlation id, unique in the run",
    "topic": "topic that the record was sent to",
    "partition": "partition that the record was sent to",
    "acks": "acks of the request: -1, 0 or 1",
    "timeout_ms": "timeout of the request",
    "intended_us": "time at which the scenario has it sent",
    "sent_us": "time at which it was sent; null: not sent",
    "answered_us": "time at which its response was read; null: no response",
    "error_code": "error code in the response; null without one",
    "base_offset": "offset of the record by the response; null without one",
    "outcome": "answered, silent (acks=0: the connection answered a later request), no answer, closed, out of order, "
    "garbled, not sent; of a producer also expired, expired in flight, refused",
    "expected_error": "error code that the scenario expects; null: there must be no response",
    "must_wait": "true: the response must not come before the timeout is over",
    "due_low_us": "earliest time at which an action of the scenario allows the response; null: none does",
    "due_high_us": "latest such time",
    "value_crc": "CRC-32 of the record's value as it was sent",
    "fingerprint": "digest of the whole record, as the broker's journal has it",
    "local": "own address of the connection, host:port",
    "stray_correlation_id": "correlation id of a response on this connection to a request that was not sent on it",
    "throttle_ms": "throttle time in the response",
    "also": "other right answers: error codes and outcomes",
    "client": "client of the group in the scenario; null: raw",
    "client_id": "client id",
    "ordered": "true: the log must have this connection's records in order; null: it must, too",
    "written": "once or never: what the log must have; null: what follows from the answer",
    "timestamp_ms": "timestamp of the record as it was sent; null: its producer chose it",
    "append_ms": "log append time in the response; null: the response has none",
    "load_late_us": "how long the load stood still between sending and response; null: no response",
    "place": "number of the record in its request, from 0; null: its producer batches",
    "compression": "compression of its batch as it was sent; null: its producer chose it",
    "producer_id": "producer id of its batch as it was sent; null: none, or its producer has its own",
    "machine_late_us": "how long something on this machine waited for a processor meanwhile; null: not known",
    "read": "what a reader was given; null: a request",
    "read.what": "record, owns (a partition in a generation of its group), commit, left, committed (in the end), done",
    "read.group_id": "group of the consumer; null: none",
    "read.member": "member id",
    "read.generation": "generation of the group",
    "read.offset": "offset of the record, or that was committed",
    "read.high_watermark": "high watermark in the same response",
    "read.of_connection": "connection of the request that sent the record, by its key; null: not of this run",
    "read.of_sequence": "sequence of that request",
}
MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {
    PARQUET: _REQUESTS,
    LOG_PARQUET: _RUN
    | _PLACE
    | {
        "offset": "offset of the record",
        "connection": "connection of the request that sent it, by its key; null: the key is not of this run",
        "sequence": "sequence of that request",
        "value_crc": "CRC-32 of the record's value",
        "fingerprint": "digest of the whole record",
        "visible": "true: shown to consumers that read committed transactions; null: the topic has none",
        "timestamp_ms": "timestamp of the record; null: the topic has log append times",
        "append_ms": "log append time of the record; null: the topic has the producers' times",
        "producer_id": "producer id of the batch; -1: none",
        "compression": "compression of the batch",
        "problem": "what is wrong with the batch, the partition from this offset on, or its metadata; null: nothing",
    },
    PARTS_PARQUET: _RUN
    | _PLACE
    | {
        "run_id": "id of the run, with which its topics and the keys of its records begin or end",
        "host": "host of the leader in the end",
        "port": "port of the leader in the end",
        "start_offset": "log end offset before the run",
        "readable_offset": "offset up to which the log could be read behind the run: its high watermark",
        "end_offset": "log end offset behind the run",
        "same_leader": "true: no leader was elected meanwhile",
        "first_epoch": "leader epoch before the run",
        "leader_epoch": "leader epoch behind the run",
        "followers": "addresses, host:port, of the followers that are in sync in the end",
        "metadata_problem": "what is wrong with the partition in a Metadata response; null: nothing",
        "transactional": "true: read as a consumer of committed transactions; null: not",
        "shown_offset": "high watermark that a Fetch was shown before stopped followers went on",
        "shown_local": "own address of the connection of that Fetch",
        "shown_correlation_id": "correlation id of that Fetch",
        "stood_still": "true: until then no follower had fetched, and none had left the ISR",
    },
    JOURNAL_PARQUET: _RUN
    | _PLACE
    | {
        "seq": "place of the event in the journal, the number of its first byte in a file: the order of events",
        "event": "kind of the event",
        "mono_ms": "broker's monotonic time of the event",
        "connection": "broker's number of the connection",
        "request": "broker's number of the request",
        "peer": "address of the client, host:port",
        "api": "API of the request: Produce, Fetch or ApiVersions",
        "correlation_id": "correlation id of the request",
        "client_id": "client id of the request",
        "received_mono_ms": "broker's monotonic time at which the request was received",
        "acks": "acks of the request",
        "timeout_ms": "timeout of the request",
        "error_code": "error code of the append, or in the response",
        "base_offset": "first offset of the append, or base offset in the response",
        "last_offset": "last offset of the append",
        "is_duplicate": "true: an idempotent producer's batch that was there already",
        "is_marker": "true: a transaction marker",
        "records": "digests of all records of the append, in the order of their offsets",
        "outcome": "how the request ended: sent, or why no response left",
        "deadline_mono_ms": "broker's monotonic time at which the parked request expires",
        "high_watermark": "high watermark from this event on",
        "log_end_offset": "log end offset of the leader at this event",
        "leader_epoch": "leader epoch of the partition at this event",
        "throttle_ms": "for how long a quota mutes the connection",
    },
    JUDGED_PARQUET: _REQUESTS
    | {
        "is_raw": "true: a record of a raw request; false: a record of a producer that batches",
        "right_error": "error code that is right for this row",
        "handled_us": "time at which the broker can have begun with it: sent, or the response before it was read",
        "lateness_us": "time from when the response was due to when it was read",
        "early": "true: answered before it may be",
        "copies": "number of its records in the log; null: none, or the log was not read",
        "log_offset": "offset at which it stands in the log",
        "log_topic": "topic of the log that has it",
        "log_partition": "partition of the log that has it",
        "readable_offset": "readable_offset of its partition",
        "end_offset": "end_offset of its partition; null: the log was not read",
        "same_leader": "same_leader of its partition",
        "stray_connection": "connection on which its response came, where it was not sent",
        "hidden": "its copies in the log that are not shown to consumers that read committed transactions; null: none",
        "found_problem": "problem that the log shows",
        "problem": "problem that counts; null: confirmed",
        "times": "number of appends of its record, of a producer",
        "recorded_offset": "offset at which the journal has it appended: of a producer, the first of these appends",
        "times_asked": "number of Produce requests in the journal that are this one",
        "request": "broker's number of the request; null: the journal does not have it",
        "answer": "the response by the journal, with the high watermark of its partition at that moment",
        "deadline_mono_ms": "broker's monotonic time at which the parked request expires",
        "broker_connection": "broker's number of the connection",
        "handled_mono_ms": "broker's monotonic time at which it began with the request",
        "received_mono_ms": "broker's monotonic time at which it received the request",
        "appends": "number of appends of the request to this partition",
        "must_be_appended": "true: by its answer, or by the scenario, it was appended",
        "own_appends": "number of these appends that are of its record",
        "append": "the first append of its record, by the journal",
        "broker_lateness_us": "lateness by the broker's clock alone",
        "journal_problem": "problem that the journal shows",
    },
    MISMATCH_PARQUET: _RUN
    | _PLACE
    | {
        "kind": "kind of mismatch, such as lost, early, altered",
        "problem": "what is wrong, as in the tables of [the load](../load/README.md#findings-from-the-log)",
        "group": "group of the request; null: it is of no request, as are the next three",
        "connection": "connection of the request",
        "sequence": "sequence of the request",
        "correlation_id": "correlation id of the request",
        "offset": "offset that it is about",
        "says": "what client, log and journal say of it",
    },
}
