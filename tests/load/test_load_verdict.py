"""The verdict on hand-made rows. For each way to fail there is a row that fails, and by that way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fakebroker_load.judging import requests
from fakebroker_load.judging.requests import judge
from fakebroker_load.traffic.rows import RESULT_SCHEMA
from fakebroker_load.verdict import Verdict, summarise

pytestmark = pytest.mark.spark

Row = dict[str, Any]

# Sent at 1 ms, due at 101 ms, answered 0.4 ms after that.
TIMED_OUT: Row = {
    "run": "r",
    "group": "g",
    "connection": 0,
    "sequence": 0,
    "correlation_id": 1,
    "topic": "t",
    "partition": 0,
    "acks": -1,
    "timeout_ms": 100,
    "intended_us": 900,
    "sent_us": 1_000,
    "answered_us": 101_400,
    "error_code": 7,
    "base_offset": 40,
    "outcome": "answered",
    "expected_error": 7,
    "must_wait": True,
}
NONE = TIMED_OUT | {"answered_us": 1_300, "error_code": 0, "expected_error": 0, "must_wait": False}
REFUSED = NONE | {"error_code": 19, "expected_error": 19, "base_offset": -1}
SILENT = TIMED_OUT | {
    "acks": 0,
    "answered_us": None,
    "error_code": None,
    "base_offset": None,
    "outcome": "silent",
    "expected_error": None,
    "must_wait": False,
}
UNHEARD: Row = {"outcome": "no answer", "answered_us": None, "error_code": None, "also": ["no answer", "closed"]}
BY_PRODUCER: Row = {"client": "producer", "base_offset": None}
EXPIRED = (
    UNHEARD
    | BY_PRODUCER
    | {
        "outcome": "expired",
        "also": ["expired"],
        "answered_us": 100_200,
        "due_low_us": 100_000,
        "due_high_us": 100_000,
    }
)
NEXT: Row = {"sequence": 1, "correlation_id": 2, "base_offset": 41}
ELSEWHERE: Row = {"connection": 1, "correlation_id": 2}


Problems = list[str | None]


def problems_of(spark: SparkSession, *histories: Sequence[Row]) -> list[Problems]:
    """The problems of each history. All are judged at once, each as a run of its own: what takes long is the plan."""
    rows = [{**row, "run": f"{number} {row['run']}"} for number, history in enumerate(histories) for row in history]
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA))
    found: list[Problems] = [[] for _ in histories]
    for row in judge(spark, frame).orderBy("connection", "sequence").collect():
        found[int(row["run"].split()[0])].append(row["problem"])
    return found


def problems(spark: SparkSession, *rows: Row) -> Problems:
    return problems_of(spark, rows)[0]


# What stands in a row, and the problem that the verdict must find in it.
CASES: dict[str, tuple[Row, str | None]] = {
    "timed out": (TIMED_OUT, None),
    "none": (NONE, None),
    "refused": (REFUSED, None),
    "not answered": (SILENT, None),
    "a microsecond early": (TIMED_OUT | {"answered_us": 100_999}, "early"),
    "not early": (TIMED_OUT | {"answered_us": 101_000}, None),
    "late": (TIMED_OUT | {"answered_us": 101_000 + 500_001}, "late"),
    "not late": (TIMED_OUT | {"answered_us": 101_000 + 500_000}, None),
    "late without having to wait": (NONE | {"answered_us": 1_000 + 500_001}, "late"),
    "acknowledged": (TIMED_OUT | {"error_code": 0}, "wrong answer"),
    "another error": (TIMED_OUT | {"error_code": 19, "base_offset": -1}, "wrong answer"),
    "no error code": (TIMED_OUT | {"error_code": None}, "wrong answer"),
    "timed out, not acknowledged": (NONE | {"error_code": 7}, "wrong answer"),
    "timed out, no offset": (TIMED_OUT | {"base_offset": -1}, "no base offset"),
    "timed out, offset missing": (TIMED_OUT | {"base_offset": None}, "no base offset"),
    "none, no offset": (NONE | {"base_offset": -1}, "no base offset"),
    "refused with an offset": (REFUSED | {"base_offset": 4}, "base offset with an error"),
    "refused, offset missing": (REFUSED | {"base_offset": None}, "base offset with an error"),
    "missing": (TIMED_OUT | {"outcome": "no answer", "answered_us": None, "error_code": None}, "no answer"),
    "closed": (TIMED_OUT | {"outcome": "closed"}, "closed"),
    "not sent": (TIMED_OUT | {"outcome": "not sent", "sent_us": None}, "not sent"),
    "out of order": (TIMED_OUT | {"outcome": "out of order"}, "out of order"),
    "garbled": (TIMED_OUT | {"outcome": "garbled"}, "garbled"),
    "silent": (TIMED_OUT | {"outcome": "silent"}, "silent"),
    "no outcome": (TIMED_OUT | {"outcome": None}, "no outcome"),
    "not answered, and yet it says so": (TIMED_OUT | {"answered_us": None}, "no time"),
    "never sent": (TIMED_OUT | {"sent_us": None}, "no time"),
    "acks=0 answered": (
        SILENT | {"outcome": "answered", "answered_us": 1_200, "error_code": 0},
        "answered, against acks=0",
    ),
    "acks=0 closed": (SILENT | {"outcome": "closed"}, "closed"),
    "acks=0 with a time": (SILENT | {"answered_us": 1_200}, "silent"),
    "answered otherwise, which is right too": (NONE | {"error_code": 6, "base_offset": -1, "also": ["6"]}, None),
    "answered otherwise, and that is not": (NONE | {"error_code": 3, "base_offset": -1, "also": ["6"]}, "wrong answer"),
    "right too, and late": (NONE | {"answered_us": 900_000, "error_code": 6, "also": ["6"]}, "late"),
    "closed, which is right too": (NONE | UNHEARD | {"outcome": "closed"}, None),
    "no answer, and it may only be closed": (NONE | UNHEARD | {"also": ["closed"]}, "no answer"),
    "unknown": (NONE | UNHEARD | {"expected_error": None}, None),
    "unknown, and answered": (NONE | {"expected_error": None, "also": ["no answer", "closed"]}, "wrong answer"),
    "expired, which is right": (NONE | EXPIRED, None),
    "expired, and it must be acknowledged": (NONE | EXPIRED | {"also": None}, "expired"),
    "expired too soon": (NONE | EXPIRED | {"answered_us": 99_999}, "early"),
    "expired too late": (NONE | EXPIRED | {"answered_us": 601_000}, "late"),
    "what its producer was told last tells no offset": (NONE | BY_PRODUCER | {"error_code": 7, "also": ["7"]}, None),
    "unknown, and silent": (NONE | UNHEARD | {"expected_error": None, "outcome": "silent"}, "silent"),
}


@pytest.fixture(scope="module")
def found_in_cases(spark: SparkSession) -> dict[str, str | None]:
    """All cases judged at once, each as a run of its own."""
    rows = [row | {"run": case} for case, (row, _) in CASES.items()]
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA))
    return {row["run"]: row["problem"] for row in judge(spark, frame).collect()}


@pytest.mark.parametrize("case", CASES)
def test_one_row(found_in_cases: dict[str, str | None], case: str) -> None:
    assert found_in_cases[case] == CASES[case][1]


def test_two_answers_that_name_one_offset_of_one_partition(spark: SparkSession) -> None:
    also = TIMED_OUT | ELSEWHERE
    one, other_partition, other_run = problems_of(
        spark, (TIMED_OUT, also), (TIMED_OUT, also | {"partition": 1}), (TIMED_OUT, also | {"run": "other"})
    )
    assert one == ["base offset given twice"] * 2
    assert other_partition == other_run == [None, None]


@pytest.mark.parametrize("few", [requests.FEW, 0], ids=["of few", "of many"])
def test_what_is_rare_is_found_when_there_is_a_lot_of_it(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """What there is too much of to have all of it everywhere is joined in another way."""
    monkeypatch.setattr(requests, "FEW", few)
    stray = {"run": "stray", "stray_correlation_id": TIMED_OUT["correlation_id"]}
    twice, strayed = problems_of(spark, (TIMED_OUT, TIMED_OUT | ELSEWHERE), (TIMED_OUT | stray,))
    assert twice == ["base offset given twice"] * 2
    assert strayed == ["answered twice"]


def test_who_is_throttled_is_not_read(spark: SparkSession) -> None:
    """For 50 ms, of which the broker may have counted one that was not whole."""
    throttled = NONE | {"throttle_ms": 50}
    follows = NONE | NEXT | {"sent_us": 1_400, "answered_us": 52_000}
    third = follows | {"sequence": 2, "correlation_id": 3, "sent_us": 52_100, "base_offset": 42}
    twice = (throttled, follows | {"throttle_ms": 50})
    assert problems_of(
        spark,
        (throttled, follows),
        (throttled, follows | {"answered_us": 50_001}),
        (throttled, follows | {"answered_us": 49_999}),
        (NONE, follows | {"answered_us": 1_500}),
        (*twice, third | {"answered_us": 103_000}),
        (*twice, third | {"answered_us": 98_000}),
    ) == [
        [None, None],
        [None, None],
        [None, "answered while throttled"],
        [None, None],
        [None, None, None],
        [None, None, "answered while throttled"],
    ]


def test_what_waits_for_the_throttle_is_not_late(spark: SparkSession) -> None:
    throttled, follows = NONE | {"throttle_ms": 2_000}, NONE | NEXT | {"sent_us": 1_400, "answered_us": 2_002_000}
    on_time, late = problems_of(spark, (throttled, follows), (throttled, follows | {"answered_us": 2_600_000}))
    assert (on_time, late) == ([None, None], [None, "late"])


def test_offsets_of_a_connection_rise(spark: SparkSession) -> None:
    back = TIMED_OUT | NEXT | {"sent_us": 102_000, "answered_us": 202_000, "base_offset": 39}
    assert problems(spark, TIMED_OUT, back) == [None, "base offset went back"]


def test_correlation_ids_of_a_connection_rise(spark: SparkSession) -> None:
    same = TIMED_OUT | NEXT | {"sent_us": 102_000, "answered_us": 202_000, "correlation_id": 1}
    assert problems(spark, TIMED_OUT, same) == [None, "correlation id went back"]


def test_a_request_with_two_rows_is_not_confirmed(spark: SparkSession) -> None:
    assert problems(spark, TIMED_OUT, TIMED_OUT) == ["counted twice"] * 2


def test_a_pipelined_request_is_handled_when_the_one_before_is_answered(spark: SparkSession) -> None:
    on_time = TIMED_OUT | NEXT | {"answered_us": 201_500}  # sent at once, answered after twice the timeout
    assert problems_of(
        spark,
        (TIMED_OUT, on_time),
        (TIMED_OUT, on_time | {"answered_us": 102_000}),
        (TIMED_OUT, on_time | {"answered_us": 101_300}),
        (TIMED_OUT, on_time | {"answered_us": 101_400 + 100_000 + 500_001}),
    ) == [[None, None], [None, "early"], [None, "out of order"], [None, "late"]]


def test_seeing_an_answer_late_does_not_make_the_next_one_early(spark: SparkSession) -> None:
    seen_late = TIMED_OUT | {"answered_us": 121_000}
    on_time = TIMED_OUT | NEXT | {"answered_us": 201_500}  # 80.5 ms after the one before, and yet not early
    found = problems_of(spark, (seen_late, on_time), (seen_late, on_time | {"answered_us": 200_999}))
    assert found == [[None, None], [None, "early"]]


def test_an_answer_that_did_not_wait_gives_no_time_to_the_next(spark: SparkSession) -> None:
    healed = TIMED_OUT | {"answered_us": 2_000, "error_code": 0}
    assert problems(spark, healed, TIMED_OUT | NEXT | {"answered_us": 102_000}) == ["wrong answer", None]


def plan(requests: int, expect: str = "REQUEST_TIMED_OUT", group: str = "g") -> list[dict[str, Any]]:
    return [{"scenario": {"name": "r", "groups": [{"name": group, "expect": expect}]}, "planned": {group: requests}}]


def verdict(spark: SparkSession, rows: list[Row], runs: list[dict[str, Any]], limit_ms: int = 500) -> Verdict:
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA))
    return summarise(spark, judge(spark, frame, limit_ms), runs, limit_ms)


def test_the_figures_of_a_group(spark: SparkSession) -> None:
    later = TIMED_OUT | NEXT | {"sent_us": 150_000, "answered_us": 252_400, "intended_us": 120_000}
    found = verdict(spark, [TIMED_OUT, later], plan(2))
    (group,) = found.groups
    assert found.ok
    assert (group.requests, group.rows, group.confirmed, group.early) == (2, 2, 2, 0)
    assert group.answers == {"REQUEST_TIMED_OUT": 2}
    assert group.problems == {}
    assert (group.lateness_p50_us, group.lateness_max_us) == (1_400, 2_400)
    assert group.send_delay_us == (15_050, 29_701, 30_000)
    assert group.from_sent_us == (101_400, 102_380, 102_400)
    assert group.from_intended_us == (116_450, 132_081, 132_400)


def test_a_load_that_was_sent_late_proves_nothing_of_the_one_that_was_asked_for(spark: SparkSession) -> None:
    rows = [TIMED_OUT, TIMED_OUT | NEXT | {"sent_us": 3_000_000, "answered_us": 3_101_000, "intended_us": 120_000}]
    found = verdict(spark, rows, plan(2))
    (group,) = found.groups
    assert (group.confirmed, group.problems) == (2, {})
    assert group.sent_late
    assert not group.ok
    assert not found.ok
    patient = plan(2)
    patient[0]["scenario"]["send_delay_limit_ms"] = 2_900
    assert verdict(spark, rows, patient).ok
    patient[0]["scenario"]["send_delay_limit_ms"] = 2_800  # the 99th percentile is 2,851
    assert not verdict(spark, rows, patient).ok


def test_one_wrong_answer_among_many_fails_the_whole(spark: SparkSession) -> None:
    rows = [
        TIMED_OUT
        | {"connection": number, "correlation_id": number, "base_offset": number, "error_code": 7 * (number != 3)}
        for number in range(20)
    ]
    found = verdict(spark, rows, plan(20))
    assert not found.ok
    assert (found.requests, found.confirmed) == (20, 19)
    assert found.groups[0].answers == {"REQUEST_TIMED_OUT": 19, "NONE": 1}
    assert found.groups[0].problems == {"wrong answer": 1}


@pytest.mark.parametrize("planned", [0, 1, 3])
def test_rows_that_are_missing_or_too_many_fail(spark: SparkSession, planned: int) -> None:
    rows = [TIMED_OUT, TIMED_OUT | ELSEWHERE | {"base_offset": 50}]
    assert verdict(spark, rows, plan(2)).ok
    assert not verdict(spark, rows, plan(planned)).ok


def test_a_group_without_a_plan_and_a_plan_without_rows_fail(spark: SparkSession) -> None:
    found = verdict(spark, [TIMED_OUT], plan(1, group="other"))
    assert [(group.group, group.requests, group.rows, group.ok) for group in found.groups] == [
        ("other", 1, 0, False),
        ("g", 0, 1, False),
    ]
    assert not verdict(spark, [], []).ok


def test_the_lateness_limit_is_a_parameter(spark: SparkSession) -> None:
    row = TIMED_OUT | {"answered_us": 106_001}
    assert verdict(spark, [row], plan(1), limit_ms=6).ok
    assert verdict(spark, [row], plan(1), limit_ms=5).groups[0].problems == {"late": 1}


def test_the_verdict_is_written_as_json(spark: SparkSession, tmp_path: Path) -> None:
    verdict(spark, [SILENT], plan(1, "no answer")).write(tmp_path / "verdict.json")
    data = json.loads((tmp_path / "verdict.json").read_text())
    assert data["ok"] is True
    assert data["groups"][0]["answers"] == {"silent": 1}
    assert data["groups"][0]["lateness_p99_us"] is None


DUE = NONE | {"answered_us": 45_000, "due_low_us": 40_000, "due_high_us": 50_000}


def test_what_waits_for_what_happens_is_due_then(spark: SparkSession) -> None:
    cases: list[tuple[Row, str | None, int]] = [
        ({}, None, 0),
        ({"answered_us": 40_000}, None, 0),
        ({"answered_us": 39_999}, "early", 0),
        ({"answered_us": 550_000}, None, 500_000),
        ({"answered_us": 550_001}, "late", 500_001),
        ({"sent_us": 60_000, "answered_us": 60_300}, None, 300),  # it came behind it
        ({"error_code": 6, "expected_error": 6}, None, 0),  # appended, and then answered with its offset
        ({"error_code": 6, "expected_error": 6, "base_offset": -1}, None, 0),
        ({"error_code": 19, "expected_error": 19}, "base offset with an error", 0),
    ]
    rows = [DUE | change | {"run": str(number)} for number, (change, _, _) in enumerate(cases)]
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA))
    found = {int(row["run"]): (row["problem"], row["lateness_us"]) for row in judge(spark, frame).collect()}
    assert found == {number: (problem, late) for number, (_, problem, late) in enumerate(cases)}
