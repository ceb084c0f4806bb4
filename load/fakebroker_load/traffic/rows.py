"""The rows of requests, records and readers, and the values of records.

Units    *_us is microseconds after the common start of the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from queue import SimpleQueue

import pyarrow as pa

from fakebroker_load.plan import Row

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
READ_FIELDS = [
    pa.field("what", pa.string()),
    pa.field("group_id", pa.string()),  # null: no group
    pa.field("member", pa.string()),
    pa.field("generation", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("high_watermark", pa.int64()),  # in the same response
    pa.field("of_connection", pa.int32()),  # of the request that sent it, by its key; null: unknown key
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
        pa.field("answered_us", pa.int64()),  # null: no response
        pa.field("error_code", pa.int16()),
        pa.field("base_offset", pa.int64()),
        pa.field("outcome", pa.string()),
        pa.field("expected_error", pa.int16()),  # null: there must be no response
        pa.field("must_wait", pa.bool_()),
        pa.field("due_low_us", pa.int64()),  # null: due when it is handled, or after its timeout
        pa.field("due_high_us", pa.int64()),
        pa.field("value_crc", pa.int64()),  # of the value as sent
        pa.field("fingerprint", pa.string()),  # of the record, as in the broker's journal
        pa.field("local", pa.string()),  # our address on this connection; null: no connection
        pa.field("stray_correlation_id", pa.int32()),  # of a foreign response: one without a request on this connection
        pa.field("throttle_ms", pa.int32()),  # how long the broker says that it does not read the connection
        pa.field("also", pa.list_(pa.string())),  # other right answers: error codes and outcomes
        pa.field("client", pa.string()),  # of the scenario; null: raw
        pa.field("client_id", pa.string()),
        pa.field("ordered", pa.bool_()),  # the log must have its records in order; null: it must, too
        pa.field("written", pa.string()),  # once or never: what the log must have; null: by the response
        pa.field("timestamp_ms", pa.int64()),  # of the record, as sent; null: set by its producer
        pa.field("append_ms", pa.int64()),  # log append time in the response; null: none
        pa.field("load_late_us", pa.int64()),  # how long the load stood still, from sent_us to answered_us
        pa.field("machine_late_us", pa.int64()),  # how long tasks waited for a processor; null: unknown
        pa.field("place", pa.int32()),  # of the record in its request, from 0; null: its producer batches
        pa.field("compression", pa.string()),  # of its batch, as sent; null: its producer chooses
        pa.field("producer_id", pa.int64()),  # of its batch, as sent; null: none, or its producer has its own
        pa.field("read", pa.struct(READ_FIELDS)),  # null: a request
    ]
)


class Results:
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
