"""A row for each request or record that was sent, and what a record says.

Units    *_us is microseconds after the common start of the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from queue import SimpleQueue

import pyarrow as pa

from fakebroker_load.plan import Row

ROWS_AT_ONCE = 1_024
# Arrow makes a column of so many rows without letting the loop have its turn, and all columns in a quarter of a
# millisecond: of 1,024 at once the loop would be late for 10 ms and more, each second.
ROWS_OF_A_PIECE = 32
PAUSE_S = 0.002

# What a reader was told: a row of `what`: record (it was given one), owns (in a generation of its group), commit,
# left (its group), committed (what it was told is committed), done (its last row).
READ_FIELDS = [
    pa.field("what", pa.string()),
    pa.field("group_id", pa.string()),  # null: of no group
    pa.field("member", pa.string()),
    pa.field("generation", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("high_watermark", pa.int64()),  # as the answer tells it
    pa.field("of_connection", pa.int32()),  # the request whose record it is, by its key; null: of nobody
    pa.field("of_sequence", pa.int32()),
]

RESULT_SCHEMA = pa.schema(
    [
        pa.field("run", pa.string()),
        pa.field("group", pa.string()),
        pa.field("connection", pa.int32()),
        pa.field("sequence", pa.int32()),
        pa.field("correlation_id", pa.int32()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("acks", pa.int16()),
        pa.field("timeout_ms", pa.int32()),
        pa.field("intended_us", pa.int64()),
        pa.field("sent_us", pa.int64()),  # null: not sent
        pa.field("answered_us", pa.int64()),  # null: not answered
        pa.field("error_code", pa.int16()),
        pa.field("base_offset", pa.int64()),
        pa.field("outcome", pa.string()),
        pa.field("expected_error", pa.int16()),  # null: there must be no answer
        pa.field("must_wait", pa.bool_()),
        pa.field("due_low_us", pa.int64()),  # null: due when it is handled, or waits for its timeout
        pa.field("due_high_us", pa.int64()),
        pa.field("value_crc", pa.int64()),  # of the record's value, as it was sent
        pa.field("fingerprint", pa.string()),  # of the record, as the broker's journal has it
        pa.field("local", pa.string()),  # our address on this connection; null: there was none
        pa.field("stray_correlation_id", pa.int32()),  # of an answer on this connection to what was not asked on it
        pa.field("throttle_ms", pa.int32()),  # for so long the broker says that it does not read the connection
        pa.field("also", pa.list_(pa.string())),  # answers that are right as well: codes of errors, and outcomes
        pa.field("client", pa.string()),  # of the scenario; null: raw
        pa.field("client_id", pa.string()),
        pa.field("ordered", pa.bool_()),  # whether the log must have its records in order; null: it must
        pa.field("written", pa.string()),  # once or never: what the log must have; null: what follows from the answer
        pa.field("timestamp_ms", pa.int64()),  # of the record, as it was sent; null: its producer says
        pa.field("append_ms", pa.int64()),  # when it was appended, as the answer says; null: it does not say
        pa.field("load_late_us", pa.int64()),  # for so long the load stood still between sent_us and answered_us
        pa.field("machine_late_us", pa.int64()),  # for so long this machine, the broker's, had something wait
        pa.field("read", pa.struct(READ_FIELDS)),  # null: a request
    ]
)


class Results:
    """Rows on their way from the loop to Spark, some at a time."""

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
        """For the thread that hands them to Spark: it takes its time, as long as no more rows are waiting."""
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
    """A text that is like no other of the run, made up to the size that is asked for."""
    name = f"{row['run']}/{row['connection']}/{sequence}".encode()
    return name.ljust(row["record_bytes"], b".")[: row["record_bytes"]]


def after_start_us(time_ns: int | None, start_ns: int) -> int | None:
    return None if time_ns is None else (time_ns - start_ns) // 1000
