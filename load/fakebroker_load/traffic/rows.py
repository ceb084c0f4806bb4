"""The rows of requests, records and readers, and the values of records.

Units    *_us is microseconds after the common start of the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from queue import SimpleQueue

import pyarrow as pa

from fakebroker_load.plan import Row
from fakebroker_load.results.column import INT, LONG, RUN, SHORT, TEXT, YES_NO, Column, schema_of, struct_of

ROWS_AT_ONCE = 1_024
# Arrow makes a column without giving the loop a turn. Rows are converted in small pieces, which take a quarter of a
# millisecond for all columns. With 1,024 rows at once the loop would be 10 ms late, each second.
ROWS_OF_A_PIECE = 32
PAUSE_S = 0.002

# The `read` column of a reader's row. Values of `what`:
# - record: it got a record
# - batch: it got a batch that contradicts itself
# - owns: it got a partition in a generation of its group
# - commit: it committed an offset
# - left: it left its group
# - committed: it read a committed offset
# - done: its last row
READ_FIELDS = (
    Column(
        "what",
        TEXT,
        "record, batch (one that contradicts itself), owns (a partition in a generation of its group), commit, left, "
        "committed (in the end), done",
    ),
    Column("group_id", TEXT, "group of the consumer; null: none"),
    Column("member", TEXT, "member id"),
    Column("generation", INT, "generation of the group"),
    Column("offset", LONG, "offset of the record, or that was committed"),
    Column("high_watermark", LONG, "high watermark in the same response"),
    Column("of_connection", INT, "connection of the request that sent the record, by its key; null: not of this run"),
    Column("of_sequence", INT, "sequence of that request"),
)

RESULT_COLUMNS = (
    RUN,
    Column("group", TEXT, "group of the scenario"),
    Column("connection", INT, "number of the connection in the run"),
    Column("sequence", INT, "number of the record on its connection, from 0"),
    Column("correlation_id", INT, "correlation id, unique in the run"),
    Column("topic", TEXT, "topic that the record was sent to"),
    Column("partition", INT, "partition that the record was sent to"),
    Column("acks", SHORT, "acks of the request: -1, 0 or 1"),
    Column("timeout_ms", INT, "timeout of the request"),
    Column("intended_us", LONG, "time at which the scenario has it sent"),
    Column("sent_us", LONG, "time at which it was sent; null: not sent"),
    Column("answered_us", LONG, "time at which its response was read; null: no response"),
    Column("error_code", SHORT, "error code in the response; null without one"),
    Column("base_offset", LONG, "offset of the record by the response; null without one"),
    Column(
        "outcome",
        TEXT,
        "answered, silent (acks=0: the connection answered a later request), no answer, closed, out of "
        "order, garbled, not sent; of a producer also expired, expired in flight, refused",
    ),
    Column("expected_error", SHORT, "error code that the scenario expects; null: there must be no response"),
    Column("must_wait", YES_NO, "true: the response must not come before the timeout is over"),
    Column("due_low_us", LONG, "earliest time at which an action of the scenario allows the response; null: none does"),
    Column(
        "due_high_us",
        LONG,
        "latest such time",
        unjudged="It is the scenario's: it says from when on an answer is late.",
    ),
    Column("value_crc", LONG, "CRC-32 of the record's value as it was sent"),
    Column("fingerprint", TEXT, "digest of the whole record, as the broker's journal has it"),
    Column("local", TEXT, "own address of the connection, host:port"),
    Column(
        "stray_correlation_id",
        INT,
        "correlation id of a response on this connection to a request that was not sent on it",
    ),
    Column("throttle_ms", INT, "throttle time in the response"),
    Column("also", pa.list_(TEXT), "other right answers: error codes and outcomes"),
    Column("client", TEXT, "client of the group in the scenario; null: raw"),
    Column("client_id", TEXT, "client id"),
    Column(
        "ordered",
        YES_NO,
        "true: the log must have this connection's records in order; null: it must, too",
        unjudged="It follows from the settings of the producer: what is right, and not what was found.",
    ),
    Column("written", TEXT, "once or never: what the log must have; null: what follows from the answer"),
    Column("timestamp_ms", LONG, "timestamp of the record as it was sent; null: its producer chose it"),
    Column("append_ms", LONG, "log append time in the response; null: the response has none"),
    Column(
        "load_late_us",
        LONG,
        "how long the load stood still between sending and response; null: no response",
        unjudged="The load's own control: it says what made a response late (`late`, `late by the load` or "
        "`late, undecided`).",
    ),
    Column(
        "machine_late_us",
        LONG,
        "how long something on this machine waited for a processor meanwhile; null: not known",
        unjudged="The machine's own figure: a late answer that it explains makes the run not measured.",
    ),
    Column("place", INT, "number of the record in its request, from 0; null: its producer batches"),
    Column("compression", TEXT, "compression of its batch as it was sent; null: its producer chose it"),
    Column("producer_id", LONG, "producer id of its batch as it was sent; null: none, or its producer has its own"),
    Column("read", struct_of(READ_FIELDS), "what a reader was given; null: a request", fields=READ_FIELDS),
)
RESULT_SCHEMA = schema_of(RESULT_COLUMNS)


class RowQueue:
    """A queue of rows from the loop to Spark, in portions."""

    def __init__(self) -> None:
        self._taken: SimpleQueue[list[Row] | None] = SimpleQueue()
        self._rows: list[Row] = []

    def add(self, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) == ROWS_AT_ONCE:
            self._hand_over()

    def _hand_over(self) -> None:
        self._taken.put(self._rows)
        self._rows = []

    def close(self) -> None:
        if self._rows:
            self._hand_over()
        self._taken.put(None)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield batches in the thread for Spark. While no more rows are waiting, it pauses between pieces."""
        while (rows := self._taken.get()) is not None:
            pieces = []
            for at in range(0, len(rows), ROWS_OF_A_PIECE):
                pieces.append(to_batch(rows[at : at + ROWS_OF_A_PIECE]))
                if self._taken.empty():
                    time.sleep(PAUSE_S)
            (whole,) = pa.Table.from_batches(pieces).combine_chunks().to_batches()
            yield whole


def to_batch(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=RESULT_SCHEMA)


def make_value(row: Row, sequence: int) -> bytes:
    """Return a value that is unique in the run, filled up to the size of the group's records."""
    name = f"{row['run']}/{row['connection']}/{sequence}".encode()
    return name.ljust(row["record_bytes"], b".")[: row["record_bytes"]]


def after_start_us(time_ns: int | None, start_ns: int) -> int | None:
    return None if time_ns is None else (time_ns - start_ns) // 1000
