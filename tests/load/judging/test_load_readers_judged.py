"""Rules for readers, on hand-made rows: one case and one finding for each fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from load_journal import journal_frame
from pyspark.sql import SparkSession

from fakebroker_load.judging.mismatches import KINDS, mismatches
from fakebroker_load.judging.readers import judge_readers
from fakebroker_load.judging.requests import LogTables
from fakebroker_load.log import LOG_SCHEMA, PART_SCHEMA
from fakebroker_load.results.column import schema_of
from fakebroker_load.results.columns import BY_ANSWERS
from fakebroker_load.traffic.rows import RESULT_COLUMNS, RESULT_SCHEMA
from fakebroker_load.verdict import summarise

pytestmark = pytest.mark.spark

Row = dict[str, Any]
PLACE: Row = {"topic": "t", "partition": 0}
FIRST: Row = PLACE | {
    "group": "sent", "connection": 0, "sequence": 0, "acks": -1, "error_code": 0, "base_offset": 40,
    "outcome": "answered", "fingerprint": "f",
}  # fmt: skip
SECOND: Row = FIRST | {"sequence": 1, "base_offset": 41, "fingerprint": "g"}
TIMED_OUT: Row = SECOND | {"error_code": 7}
UNHEARD: Row = SECOND | {"error_code": None, "base_offset": None, "outcome": "no answer"}

DONE: Row = PLACE | {"group": "read", "connection": 1, "sequence": 9, "outcome": "done", "read": {"what": "done"}}
DAMAGED: Row = DONE | {
    "sequence": 8, "outcome": "read with a wrong CRC", "answered_us": 9, "read": {"what": "batch", "offset": 40},
}  # fmt: skip
GAVE_UP: Row = DONE | {"outcome": "gave up"}


def given(sequence: int, offset: int, of: Row, **read: Any) -> Row:
    """Return the reader's row of that number: the record of a request."""
    reading = {
        "what": "record",
        "offset": offset,
        "high_watermark": 50,
        "of_connection": 0,
        "of_sequence": of["sequence"],
    }
    row = {"group": "read", "connection": 1, "sequence": sequence, "local": "h:1", "correlation_id": sequence}
    return PLACE | row | {"answered_us": 9, "outcome": "read", "fingerprint": of["fingerprint"], "read": reading | read}


def fetched(number: int, seq: int, asked: int = 1) -> list[Row]:
    """Return the journal's rows of the reader's Fetch `number`, handled at `asked` and with its response at `seq`."""
    request = {"event": "request", "api": "Fetch", "peer": "h:1", "correlation_id": number, "request": 100 + number}
    return [request | {"seq": asked}, {"event": "answer", "request": 100 + number, "seq": seq}]


BOTH = [given(0, 40, FIRST), given(1, 41, SECOND)]
MOVED: Row = PLACE | {"event": "watermark_moved", "seq": 5, "high_watermark": 41}

# The rows, what is wrong with which offsets, and the journal, if there is one.
CASES: dict[str, tuple[list[Row], dict[str, list[int]], list[Row] | None]] = {
    "all": ([FIRST, SECOND, *BOTH, DONE], {}, None),
    "nothing to read": ([DONE], {}, None),
    "nothing acknowledged": ([TIMED_OUT, DONE], {}, None),
    "timed out, and shown later": ([FIRST, TIMED_OUT, *BOTH, DONE], {}, None),
    "unheard of, and there": ([FIRST, UNHEARD, *BOTH, DONE], {}, None),
    "acks=1 behind the watermark": ([FIRST, SECOND | {"acks": 1}, BOTH[0], DONE], {}, None),
    "nothing": ([FIRST, SECOND, DONE], {"not read": [40, 41]}, None),
    "not the first": ([FIRST, SECOND, BOTH[1], DONE], {"not read": [40]}, None),
    "acks=1, passed by": ([FIRST | {"acks": 1}, SECOND, BOTH[1], DONE], {"not read": [40]}, None),
    "once more": ([FIRST, SECOND, *BOTH, given(2, 41, SECOND), DONE], {"read twice": [41]}, None),
    "backwards": (
        [FIRST, SECOND, given(0, 41, SECOND), given(1, 40, FIRST), DONE], {"read out of order": [40]}, None
    ),
    "beyond, by its own answer": (
        [FIRST, TIMED_OUT, BOTH[0], given(1, 41, SECOND, high_watermark=41), DONE],
        {"read beyond the watermark": [41]},
        None,
    ),
    "beyond, by the journal": (
        [FIRST, TIMED_OUT, *BOTH, DONE],
        {"read beyond the watermark": [41]},
        [MOVED, MOVED | {"seq": 9, "high_watermark": 42}, *fetched(0, 6), *fetched(1, 8)],
    ),
    "when the watermark had passed it": (
        [FIRST, TIMED_OUT, *BOTH, DONE],
        {},
        [MOVED, MOVED | {"seq": 7, "high_watermark": 42}, *fetched(0, 6), *fetched(1, 8)],
    ),
    "shown less than there was": (
        [FIRST, given(0, 40, FIRST, high_watermark=41), DONE],
        {"watermark shown too late": [40]},
        [MOVED | {"high_watermark": 42}, *fetched(0, 8, asked=6)],
    ),
    "shown less than there was when it was answered": (
        [FIRST, given(0, 40, FIRST, high_watermark=41), DONE],
        {},
        [MOVED, MOVED | {"seq": 7, "high_watermark": 42}, *fetched(0, 8, asked=6)],
    ),
    "before it moved at all": ([FIRST, BOTH[0], DONE], {"read beyond the watermark": [40]}, [MOVED, *fetched(0, 4)]),
    "other bytes": ([FIRST, given(0, 40, FIRST | {"fingerprint": "x"}), DONE], {"read altered": [40]}, None),
    "another offset": ([FIRST, given(0, 42, FIRST), DONE], {"read at another offset than told": [42]}, None),
    "of no request": (
        [FIRST, BOTH[0], given(1, 41, SECOND, of_connection=None, of_sequence=None), DONE],
        {"read, and sent by nobody": [41]},
        None,
    ),
    "of no request, by its sequence": ([FIRST, *BOTH, DONE], {"read, and sent by nobody": [41]}, None),
    "of another partition": (
        [FIRST, SECOND | {"partition": 1}, *BOTH, DONE], {"read in another partition": [41]}, None
    ),
    "gave up": ([FIRST, BOTH[0], GAVE_UP], {"gave up": [-1]}, None),
    "a batch with a wrong CRC": ([FIRST, BOTH[0], DAMAGED, DONE], {"read with a wrong CRC": [40]}, None),
}  # fmt: skip
ENDLESS = [FIRST, BOTH[0]]  # no last row: it died


def run_of(name: str, **group: Any) -> Row:
    sent = {"name": "sent", "topic": "t", "expect": "NONE", "connections": 1, "partitions": 1, "client": "raw"}
    read = sent | {"name": "read", "client": "reader"} | group
    return {"scenario": {"name": name, "groups": [sent, read]}, "planned": {"sent": 1, "read": 1}}


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, dict[str, list[int]]]:
    rows = [row | {"run": case} for case, (given, _, _) in CASES.items() for row in given]
    journal = [row | {"run": case} for case, (_, _, events) in CASES.items() for row in events or ()]
    parts = [PLACE | {"run": case, "start_offset": 40, "same_leader": True} for case in CASES]
    log = LogTables(frame(spark, [], LOG_SCHEMA), frame(spark, parts, PART_SCHEMA))
    readings, journal_of = frame(spark, rows, RESULT_SCHEMA), journal_frame(spark, journal)
    judged = judge_readers(spark, readings, list(map(run_of, CASES)), log, journal_of, slices=3)
    assert judged is not None
    problems: dict[str, dict[str, list[int]]] = {case: {} for case in CASES}
    for row in judged.where("problem IS NOT NULL").orderBy("log_offset").collect():
        offset = -1 if row["log_offset"] is None else row["log_offset"]
        problems[row["run"]].setdefault(row["problem"], []).append(offset)
        assert row["said"]
        assert any(row["problem"] in problems for problems in KINDS.values())
    return problems


def frame(spark: SparkSession, rows: list[Row], schema: pa.Schema) -> Any:
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))


@pytest.mark.parametrize("case", CASES)
def test_a_reader(found: dict[str, dict[str, list[int]]], case: str) -> None:
    assert found[case] == CASES[case][1]


def test_a_reader_that_died_is_missed(spark: SparkSession) -> None:
    log = LogTables(frame(spark, [], LOG_SCHEMA), frame(spark, [], PART_SCHEMA))
    histories = {"done": [*ENDLESS, DONE], "died": ENDLESS}
    runs = list(map(run_of, histories))
    rows = frame(spark, [row | {"run": run} for run, given in histories.items() for row in given], RESULT_SCHEMA)
    judged = judge_readers(spark, rows, runs, log, None)
    assert judged is not None
    early = rows.where("read IS NULL").selectExpr(
        *("*", "false AS early", "CAST(NULL AS STRING) AS problem", "0L AS lateness_us")
    )
    whole = summarise(spark, early.unionByName(judged, allowMissingColumns=True), runs)
    for run, ok in (("done", True), ("died", False)):
        verdict = replace(whole, groups=tuple(group for group in whole.groups if group.run == run))
        read = verdict.groups[1]
        assert (read.expected, read.requests, read.rows, read.confirmed) == ("read", 2, 1 + ok, 1 + ok)
        assert (read.ok, verdict.ok) == (ok, ok)


def test_what_is_said_of_it(spark: SparkSession) -> None:
    log = LogTables(frame(spark, [], LOG_SCHEMA), frame(spark, [], PART_SCHEMA))
    rows = [row | {"run": "s"} for row in (FIRST, SECOND, given(0, 41, SECOND, high_watermark=41), DONE)]
    judged = judge_readers(spark, frame(spark, rows, RESULT_SCHEMA), [run_of("s")], log, None)
    assert judged is not None
    whole = frame(spark, [], schema_of((*RESULT_COLUMNS, *BY_ANSWERS)))
    explained = mismatches(spark, whole.unionByName(judged, allowMissingColumns=True), None, None).collect()
    assert {(row["kind"], row["problem"], row["connection"], row["offset"], row["says"]) for row in explained} == {
        (
            *("lost", "not read", 1, 40),
            "reader 1: not given, and it came to 41; client: request 0 of connection 0, error 0 at offset 40",
        ),
        (
            *("early", "read beyond the watermark", 1, 41),
            "reader 1: given offset 41, and told the watermark 41; "
            "client: request 1 of connection 0, error 0 at offset 41",
        ),
    }


def test_a_run_without_readers_has_no_readings(spark: SparkSession) -> None:
    log = LogTables(frame(spark, [], LOG_SCHEMA), frame(spark, [], PART_SCHEMA))
    runs = [run_of("s", client="raw")]
    assert judge_readers(spark, frame(spark, [FIRST | {"run": "s"}], RESULT_SCHEMA), runs, log, None) is None
