"""Rules for a consumer group, on hand-made rows: one case and one finding for each fault."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.judging.members import judge_members
from fakebroker_load.judging.mismatches import KINDS
from fakebroker_load.judging.readers import UNITS_SCHEMA, judge_readers, units_of
from fakebroker_load.judging.requests import LogTables
from fakebroker_load.log import LOG_SCHEMA, PART_SCHEMA
from fakebroker_load.traffic.rows import RESULT_SCHEMA

pytestmark = pytest.mark.spark

Row = dict[str, Any]
PLACE: Row = {"topic": "t", "partition": 0}
SENT: Row = PLACE | {
    "group": "sent", "connection": 0, "sequence": 0, "acks": -1, "error_code": 0, "base_offset": 4,
    "outcome": "answered", "fingerprint": "f",
}  # fmt: skip
PART: Row = PLACE | {"start_offset": 4, "end_offset": 5}


def told(
    what: str, member: str | None, at_us: int, *, connection: int = 1, error: int | None = None, **read: Any
) -> Row:
    """Return the row of a request of member 1 or 2: sent at `at_us`, with a response 5 us later."""
    of = {"what": what, "group_id": "g", "member": member, "generation": 1 if member else None}
    row = {"group": "read", "connection": connection, "sequence": at_us, "sent_us": at_us, "answered_us": at_us + 5}
    return PLACE | row | {"outcome": what, "error_code": error, "read": of | read}


def read(at_us: int, **change: Any) -> Row:
    row = told("record", "a", at_us, offset=4, high_watermark=9, of_connection=0, of_sequence=0)
    return row | {"fingerprint": "f", "outcome": "read"} | change


OWNS = told("owns", "a", 10)
READ = read(20)
COMMIT = told("commit", "a", 30, error=0, offset=5)
END = told("committed", None, 90, offset=5)
DONE = [told("done", None, 99) | {"sent_us": None}, told("done", None, 99, connection=2) | {"sent_us": None}]
ALL = [SENT, OWNS, READ, COMMIT, END, *DONE]
LEFT = told("left", "a", 40)

CASES: dict[str, tuple[list[Row], set[str]]] = {
    "all": (ALL, set()),
    "read again by another one": (
        [*ALL, told("owns", "b", 50, connection=2, generation=2), read(60, connection=2)], set()
    ),
    "a partition that goes round": ([*ALL, told("owns", "b", 50, connection=2, generation=2)], set()),
    "the same one is told twice": ([*ALL, told("owns", "a", 14)], set()),
    "no partitions for the other one": ([*ALL, told("owns", "b", 11, connection=2) | {"partition": None}], set()),
    "two owners": ([*ALL, told("owns", "b", 11, connection=2)], {"given to two members"}),
    "an old generation is refused": (
        [*ALL, told("owns", "b", 50, connection=2, generation=2), told("commit", "a", 60, error=22, offset=5)], set()
    ),
    "an old generation, accepted": (
        [*ALL, told("owns", "b", 50, connection=2, generation=2), told("commit", "a", 60, error=0, offset=5)],
        {"committed by an old generation"},
    ),
    "its own old generation, accepted": (
        [*ALL, told("owns", "a", 50, generation=2), told("commit", "a", 60, error=0, offset=5)],
        {"committed by an old generation"},
    ),
    "sent before the new one was told": (
        [*ALL, told("owns", "b", 50, connection=2, generation=2), told("commit", "a", 55, error=0, offset=5)], set()
    ),
    "a generation goes back": (
        [*ALL, told("owns", "a", 50, generation=3), told("owns", "b", 60, connection=2, generation=2)],
        {"generation went back"},
    ),
    "joined before the newer one was told": (
        [*ALL, told("owns", "a", 50, generation=3), told("owns", "b", 54, connection=2, generation=2)], set()
    ),
    "refused after it had left": ([*ALL, LEFT, told("commit", "a", 50, error=25, offset=5)], set()),
    "accepted after it had left": (
        [*ALL, LEFT, told("commit", "a", 50, error=0, offset=5)], {"committed after it had left"}
    ),
    "committed before it was read": (
        [SENT, OWNS, read(40), COMMIT, END, *DONE], {"committed before it was read"}
    ),
    "committed up to it before it was read": (
        [SENT, OWNS, read(40), COMMIT | {"read": COMMIT["read"] | {"offset": 4}}, END, *DONE], set()
    ),
    "read by no member": ([SENT, OWNS, COMMIT, END, *DONE], {"not read"}),
    "the end is not committed": (
        [SENT, OWNS, READ, COMMIT, told("committed", None, 90, offset=4), *DONE],
        {"not committed to the end", "a commit is gone"},
    ),
    "no committed offset was fetched": ([SENT, OWNS, READ, COMMIT, *DONE], {"not committed to the end"}),
    "the last OffsetFetch counts": ([*ALL, told("committed", None, 20, offset=4)], set()),
    "less than was committed before": ([*ALL, told("committed", "a", 80, offset=4)], {"a commit is gone"}),
    "less than was committed meanwhile": ([*ALL, told("committed", "a", 35, offset=4)], set()),
    "more than the log has, until the next commit": (
        [*ALL, told("committed", "a", 80, offset=6)], {"committed beyond the log"}
    ),
    "a commit that was refused": (
        [*ALL, told("commit", "a", 40, error=22, offset=9), told("committed", "a", 80, offset=5)], set()
    ),
    "a commit beyond all records read": (
        [SENT, OWNS, told("committed", "a", 15, offset=5), READ, COMMIT, END, *DONE], {"committed before it was read"}
    ),
}  # fmt: skip


def run_of(name: str, error_us: int | None) -> Row:
    sent = {"name": "sent", "topic": "t", "connections": 1, "partitions": 1, "client": "raw"}
    members = sent | {"name": "read", "client": "member", "connections": 2}
    return {"scenario": {"name": name, "groups": [sent, members]}, "clocks": {"error_us": error_us}}


def judged(spark: SparkSession, cases: dict[str, list[Row]], error_us: int | None = 0) -> DataFrame:
    runs = [run_of(case, error_us) for case in cases]
    judged_ = judge_readers(spark, rows_of(spark, cases), runs, log_of(spark, cases), None)
    assert judged_ is not None
    return judged_


def rows_of(spark: SparkSession, cases: dict[str, list[Row]]) -> DataFrame:
    return frame(spark, [row | {"run": case} for case, given in cases.items() for row in given], RESULT_SCHEMA)


def log_of(spark: SparkSession, cases: dict[str, list[Row]]) -> LogTables:
    return LogTables(frame(spark, [], LOG_SCHEMA), frame(spark, [PART | {"run": case} for case in cases], PART_SCHEMA))


def frame(spark: SparkSession, rows: list[Row], schema: pa.Schema) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {case: [] for case in CASES}
    for row in judged(spark, {case: given for case, (given, _) in CASES.items()}).collect():
        rows[row["run"]].append(row.asDict())
    return rows


@pytest.mark.parametrize("case", CASES)
def test_a_group(found: dict[str, list[Row]], case: str) -> None:
    amiss = [row for row in found[case] if row["problem"] is not None]
    assert {row["problem"] for row in amiss} == CASES[case][1]
    assert all(row["said"] for row in amiss)
    assert all(any(row["problem"] in problems for problems in KINDS.values()) for row in amiss)


def test_what_is_read_again_is_counted_and_is_right(found: dict[str, list[Row]]) -> None:
    rows = found["read again by another one"]
    assert sorted((row["outcome"], row["problem"]) for row in rows) == [
        ("done", None),
        ("done", None),
        ("read again", None),
    ]


def test_clocks_that_may_be_apart_are_given_room(spark: SparkSession) -> None:
    name, own = "an old generation, accepted", "its own old generation, accepted"  # the first is of two connections
    cases = {case: CASES[case][0] for case in (name, own)}
    assert runs_amiss(judged(spark, cases, 3)) == [own]
    # The rules of groups alone take half the time of planning.
    rows, runs = rows_of(spark, cases), [run_of(case, 1) for case in cases]
    units = spark.createDataFrame(list(units_of(runs)), UNITS_SCHEMA)
    judged_members = judge_members(
        spark, rows.where("read IS NOT NULL"), rows.where("read IS NULL"), units, log_of(spark, cases), runs
    )
    assert runs_amiss(judged_members) == sorted((name, own))


def runs_amiss(found: DataFrame) -> list[str]:
    return sorted(row["run"] for row in found.collect() if row["problem"] is not None)
