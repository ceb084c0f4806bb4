"""The columns of each Parquet file of a result folder. page.py makes docs/load-results.md of them.

Shape    A column is one entry: name, type and meaning (column.py). COLUMNS has them by file, SCHEMAS has their schemas,
         ROWS has the meaning of a row. Files of a run have their columns where they are written. Those of a verdict
         follow from SQL (judging/), and are declared here. Tests compare them with Spark's output.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from fakebroker_load.journal.lines import JOURNAL_COLUMNS
from fakebroker_load.log import LOG_COLUMNS, PART_COLUMNS
from fakebroker_load.results.column import INT, LONG, PARTITION, RUN, SHORT, TEXT, TOPIC, YES_NO, Column, schema_of
from fakebroker_load.results.folder import (
    JOURNAL_PARQUET,
    JUDGED_PARQUET,
    LOG_PARQUET,
    MISMATCH_PARQUET,
    PARQUET,
    PARTS_PARQUET,
)
from fakebroker_load.traffic.rows import RESULT_COLUMNS

# Columns from the responses and the log, then from the broker's journal. The latter exist only if a run has a journal.
_HIDDEN: Final = {
    "topic": TEXT,
    "partition": INT,
    "offset": LONG,
    "value_crc": LONG,
    "fingerprint": TEXT,
    "timestamp_ms": LONG,
}
BY_ANSWERS: Final = (
    Column("is_raw", YES_NO, "true: a record of a raw request; false: a record of a producer that batches"),
    Column("right_error", SHORT, "error code that is right for this row"),
    Column(
        "handled_us",
        LONG,
        "time at which the broker can have begun with it: sent, or the response before it was read",
    ),
    Column("lateness_us", LONG, "time from when the response was due to when it was read"),
    Column("early", YES_NO, "true: answered before it may be"),
    Column("copies", LONG, "number of its records in the log; null: none, or the log was not read"),
    Column("log_offset", LONG, "offset at which it stands in the log"),
    Column("log_topic", TEXT, "topic of the log that has it"),
    Column("log_partition", INT, "partition of the log that has it"),
    Column("readable_offset", LONG, "readable_offset of its partition"),
    Column("end_offset", LONG, "end_offset of its partition; null: the log was not read"),
    Column("same_leader", YES_NO, "same_leader of its partition"),
    Column("stray_connection", INT, "connection on which its response came, where it was not sent"),
    Column(
        "hidden",
        pa.list_(pa.struct(_HIDDEN.items())),
        "its copies in the log that are not shown to consumers that read committed transactions; null: none",
    ),
    Column("found_problem", TEXT, "problem that the log shows"),
    Column("problem", TEXT, "problem that counts; null: confirmed"),
)
_ANSWER: Final = {
    "seq": LONG,
    "connection": LONG,
    "outcome": TEXT,
    "error_code": SHORT,
    "base_offset": LONG,
    "mono_ms": LONG,
    "watermark": LONG,
    "topic": TEXT,
    "partition": INT,
}
_APPEND: Final = {
    "seq": LONG,
    "topic": TEXT,
    "partition": INT,
    "base_offset": LONG,
    "last_offset": LONG,
    "records": pa.list_(TEXT),
}
BY_JOURNAL: Final = (
    Column("times", LONG, "number of appends of its record, of a producer"),
    Column("times_asked", LONG, "number of Produce requests in the journal that are this one"),
    Column("request", LONG, "broker's number of the request; null: the journal does not have it"),
    Column("broker_connection", LONG, "broker's number of the connection"),
    Column("handled_mono_ms", LONG, "broker's monotonic time at which it began with the request"),
    Column("received_mono_ms", LONG, "broker's monotonic time at which it received the request"),
    Column(
        "answer",
        pa.struct(_ANSWER.items()),
        "the response by the journal, with the high watermark of its partition at that moment",
    ),
    Column("deadline_mono_ms", LONG, "broker's monotonic time at which the parked request expires"),
    Column("appends", INT, "number of appends of the request to this partition"),
    Column("must_be_appended", YES_NO, "true: by its answer, or by the scenario, it was appended"),
    Column("own_appends", INT, "number of these appends that are of its record"),
    Column("append", pa.struct(_APPEND.items()), "the first append of its record, by the journal"),
    Column(
        "recorded_offset",
        LONG,
        "offset at which the journal has it appended: of a producer, the first of these appends",
    ),
    Column("broker_lateness_us", LONG, "lateness by the broker's clock alone"),
    Column("journal_problem", TEXT, "problem that the journal shows"),
)
_MISMATCH: Final = (
    RUN,
    Column("kind", TEXT, "kind of mismatch, such as lost, early, altered"),
    Column("problem", TEXT, "what is wrong, as in the tables of [the load](../load/README.md#findings-from-the-log)"),
    Column("group", TEXT, "group of the request; null: it is of no request, as are the next three"),
    Column("connection", INT, "connection of the request"),
    Column("sequence", INT, "sequence of the request"),
    Column("correlation_id", INT, "correlation id of the request"),
    TOPIC,
    PARTITION,
    Column("offset", LONG, "offset that it is about"),
    Column("says", TEXT, "what client, log and journal say of it"),
)
COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    PARQUET: RESULT_COLUMNS,
    LOG_PARQUET: LOG_COLUMNS,
    PARTS_PARQUET: PART_COLUMNS,
    JOURNAL_PARQUET: JOURNAL_COLUMNS,
    JUDGED_PARQUET: (*RESULT_COLUMNS, *BY_ANSWERS, *BY_JOURNAL),
    MISMATCH_PARQUET: _MISMATCH,
}
SCHEMAS: Final[Mapping[str, pa.Schema]] = {name: schema_of(columns) for name, columns in COLUMNS.items()}

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
