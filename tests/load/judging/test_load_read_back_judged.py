"""Records that were read back, compared with requests and responses: one row and one finding for each difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fakebroker_load.judging.mismatches import KINDS, mismatches
from fakebroker_load.judging.requests import LogTables, judge
from fakebroker_load.log import LOG_SCHEMA, PART_SCHEMA
from fakebroker_load.traffic.rows import RESULT_SCHEMA

pytestmark = pytest.mark.spark

Row = dict[str, Any]
PLACE: Row = {"topic": "t", "partition": 0}
REQUEST: Row = PLACE | {
    "group": "g", "connection": 0, "sequence": 0, "correlation_id": 1, "acks": -1, "timeout_ms": 100,
    "intended_us": 900, "sent_us": 1_000, "answered_us": 3_000, "error_code": 0, "base_offset": 40,
    "outcome": "answered", "expected_error": 0, "must_wait": False, "value_crc": 5, "fingerprint": "f",
    "timestamp_ms": 7_000,
}  # fmt: skip
RECORD: Row = PLACE | {
    "offset": 40, "connection": 0, "sequence": 0, "value_crc": 5, "fingerprint": "f", "timestamp_ms": 7_000,
    "producer_id": -1,
}  # fmt: skip
PART: Row = PLACE | {"start_offset": 40, "readable_offset": 50, "end_offset": 50, "same_leader": True}
MADE: Row = {"client": "transform", "timestamp_ms": None}
SHOWN, HIDDEN = RECORD | {"visible": True}, RECORD | {"offset": 39, "visible": False}
ABORTED: Row = {"written": "never"}
OF_NO_RECORD = PLACE | {"offset": 44, "problem": "records gone"}

# The request's differences, the records, the partition's row if there is one, and the problems.
CASES: dict[str, tuple[Row, Sequence[Row], Row | None, list[str]]] = {
    "all right": ({}, [RECORD], PART, []),
    "its log was not read": ({}, [], None, ["not read back"]),
    "appended, and there were too few": ({"error_code": 20, "expected_error": 20}, [RECORD], PART, []),
    "not appended, and told that it was": (
        {"error_code": 20, "expected_error": 20}, [], PART, ["refused after its append, not appended"]
    ),
    "told that it was appended, and another leader has come": (
        {"error_code": 20, "expected_error": 20, "base_offset": -1}, [], PART | {"same_leader": False}, []
    ),
    "timed out, and hidden": (
        {"error_code": 7, "expected_error": 7}, [HIDDEN | {"offset": 40}], PART, ["committed, and not shown"]
    ),
    "another time": ({}, [RECORD | {"timestamp_ms": 7_001}], PART, ["stored with another time"]),
    "the time is the broker's": (
        {"append_ms": 9_000}, [RECORD | {"timestamp_ms": None, "append_ms": 9_000}], PART, []
    ),
    "another append time": (
        {"append_ms": 9_001}, [RECORD | {"timestamp_ms": None, "append_ms": 9_000}], PART, ["told another append time"]
    ),
    "an append time that the log has not": ({"append_ms": 9_000}, [RECORD], PART, ["told another append time"]),
    "an append time that was not told": (
        {}, [RECORD | {"timestamp_ms": None, "append_ms": 9_000}], PART, ["told another append time"]
    ),
    "of a producer": ({}, [RECORD | {"producer_id": 3}], PART, ["stored as of a producer"]),
    "of a producer that cannot be": ({}, [RECORD | {"producer_id": -2}], PART, ["stored as of a producer"]),
    "above the watermark that was shown": (
        {}, [RECORD], PART | {"shown_offset": 40}, ["acknowledged before its watermark"]
    ),
    "below the watermark that was shown": ({}, [RECORD], PART | {"shown_offset": 41}, []),
    "above it, and another leader has come": ({}, [RECORD], PART | {"shown_offset": 40, "same_leader": False}, []),
    "above it, and it did not wait": ({"acks": 1}, [RECORD], PART | {"shown_offset": 40}, []),
    "of Kafka's producer": (
        {"client": "producer", "timestamp_ms": None}, [RECORD | {"producer_id": 3}], PART, []
    ),
    "of the producer that it has": ({"producer_id": 3}, [RECORD | {"producer_id": 3}], PART, []),
    "of no producer, and it has one": ({"producer_id": 3}, [RECORD], PART, ["stored as of a producer"]),
    "compressed as it was": ({"compression": "lz4"}, [RECORD | {"compression": "lz4"}], PART, []),
    "compressed otherwise": (
        {"compression": "lz4"}, [RECORD | {"compression": "none"}], PART, ["stored in another compression"]
    ),
    "without the rest of its request": ({"place": 1}, [RECORD], PART, ["rows of one request differ"]),
    "damaged": (
        {}, [RECORD | {"problem": "stored with a wrong CRC"}], PART, ["stored with a wrong CRC"]
    ),
    "gone": ({}, [RECORD, OF_NO_RECORD], PART, ["records gone"]),
    "aborted, and made once more": (MADE, [SHOWN, HIDDEN], PART, []),
    "aborted, and another record": (MADE, [SHOWN, HIDDEN | {"fingerprint": "e"}], PART, ["altered"]),
    "aborted, and another value": (MADE, [SHOWN, HIDDEN | {"value_crc": None}], PART, ["altered"]),
    "aborted, and elsewhere": (MADE, [SHOWN, HIDDEN | {"partition": 1}], PART, ["in another partition"]),
    "aborted behind the record that is shown": (MADE, [SHOWN, HIDDEN | {"offset": 41}], PART, ["reordered"]),
    "aborted, and given up": (
        MADE | {"fingerprint": "of nothing", "sent_us": None, "answered_us": None, "error_code": None,
                "base_offset": None, "outcome": "not sent"},
        [HIDDEN], PART, ["not sent"],
    ),
    "of a transaction that it aborted": (ABORTED, [HIDDEN | {"offset": 40}], PART, []),
    "aborted, and there twice": (
        ABORTED, [HIDDEN | {"offset": 40}, HIDDEN | {"offset": 41}], PART, ["duplicated"]
    ),
    "aborted, and read back twice": (ABORTED, [HIDDEN | {"offset": 40}] * 2, PART, ["duplicated"]),
    "aborted, and with another time": (
        ABORTED, [HIDDEN | {"offset": 40, "timestamp_ms": 7_001}], PART, ["stored with another time"]
    ),
    "committed, and there once more": ({}, [SHOWN, HIDDEN], PART, ["duplicated"]),
    "aborted, and shown": (ABORTED, [SHOWN], PART, ["written, and must not be"]),
    "aborted, and not there": (ABORTED, [], PART, ["lost"]),
    "aborted, and at another offset": (ABORTED, [HIDDEN], PART, ["told another offset"]),
    "aborted, against its own transaction": ({}, [HIDDEN | {"offset": 40}], PART, ["committed, and not shown"]),
    "sent before its time": ({"intended_us": 1_001}, [RECORD], PART, ["sent before its time"]),
    "sent at its time": ({"intended_us": 1_000}, [RECORD], PART, []),
}  # fmt: skip


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, list[Row]]:
    """Judge all cases at once, each as a separate run."""

    def frame(rows: list[Row], schema: pa.Schema) -> Any:
        return spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))

    requests = [REQUEST | case[0] | {"run": name} for name, case in CASES.items()]
    records = [row | {"run": name} for name, case in CASES.items() for row in case[1]]
    parts = [case[2] | {"run": name} for name, case in CASES.items() if case[2] is not None]
    log = LogTables(frame(records, LOG_SCHEMA), frame(parts, PART_SCHEMA))
    judged = judge(spark, frame(requests, RESULT_SCHEMA), 500, log, len(requests), read_back=list(CASES))
    by_run: dict[str, list[Row]] = {name: [] for name in CASES}
    for row in mismatches(spark, judged, log, None).collect():
        by_run[row["run"]].append(row.asDict())
    return by_run


@pytest.mark.parametrize("case", CASES)
def test_a_request_and_what_was_read_back(found: dict[str, list[Row]], case: str) -> None:
    assert [row["problem"] for row in found[case]] == CASES[case][3]
    assert all(row["problem"] in KINDS[row["kind"]] and row["says"] for row in found[case])
