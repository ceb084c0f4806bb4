"""The verdict on hand-made rows: one failing row for each kind of failure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Row as Judged

from fakebroker_load.judging import requests
from fakebroker_load.judging.findings import NOT_MEASURED, WRONG
from fakebroker_load.judging.requests import judge
from fakebroker_load.traffic.rows import RESULT_SCHEMA
from fakebroker_load.verdict import Verdict, summarise

pytestmark = pytest.mark.spark

Row = dict[str, Any]

# Sent at 1 ms, due at 101 ms, answered 0.4 ms after that.
LATER_THAN_IT_MAY: Row = {"answered_us": 101_000 + 500_001}
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


class History(NamedTuple):
    """Rows, and the problem of each, in the order of their connections and sequences."""

    rows: Sequence[Row]
    problems: Problems


# What stands in a row, and the problem that the verdict must find in it.
CASES: dict[str, tuple[Row, str | None]] = {
    "timed out": (TIMED_OUT, None),
    "none": (NONE, None),
    "refused": (REFUSED, None),
    "not answered": (SILENT, None),
    "a microsecond early": (TIMED_OUT | {"answered_us": 100_999}, "early"),
    "not early": (TIMED_OUT | {"answered_us": 101_000}, None),
    "late": (TIMED_OUT | LATER_THAN_IT_MAY, "late"),
    "not late": (TIMED_OUT | {"answered_us": 101_000 + 500_000}, None),
    "late, and the load stood still": (TIMED_OUT | LATER_THAN_IT_MAY | {"load_late_us": 1}, "late, undecided"),
    "late by more than the load stood still": (
        TIMED_OUT | {"answered_us": 101_000 + 500_002, "load_late_us": 1},
        "late",
    ),
    "wrong goes before late by the load": (
        NONE | {"answered_us": 601_000, "load_late_us": 600_000, "base_offset": -1},
        "no base offset",
    ),
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
    "a throttle below 0": (NONE | {"throttle_ms": -1}, "wrong answer"),
    "answered before it was sent": (NONE | {"answered_us": 999}, "answered before it was sent"),
    "out of order": (TIMED_OUT | {"outcome": "out of order"}, "out of order"),
    "garbled": (TIMED_OUT | {"outcome": "garbled"}, "garbled"),
    "silent": (TIMED_OUT | {"outcome": "silent"}, "silent"),
    "no outcome": (TIMED_OUT | {"outcome": None}, "no outcome"),
    "not answered, and yet it says so": (TIMED_OUT | {"answered_us": None}, "no time"),
    "never sent": (TIMED_OUT | {"sent_us": None}, "no time"),
    "closed, with the error of an answer": (NONE | UNHEARD | {"outcome": "closed", "error_code": 0}, "wrong answer"),
    "closed, and never sent": (NONE | UNHEARD | {"outcome": "closed", "sent_us": None}, "no time"),
    "closed, with the time of an answer": (NONE | UNHEARD | {"outcome": "closed", "answered_us": 1_200}, "no time"),
    "not sent, which is right too": (
        NONE | UNHEARD | {"outcome": "not sent", "also": ["not sent"], "sent_us": None},
        None,
    ),
    "not sent, with a time": (NONE | UNHEARD | {"outcome": "not sent", "also": ["not sent"]}, "no time"),
    "expired, and never sent": (NONE | EXPIRED | {"sent_us": None}, "no time"),
    "expired without a time of the answer": (NONE | EXPIRED | {"answered_us": None}, "no time"),
    "acks=0, sent before its time": (SILENT | {"intended_us": 1_001}, "sent before its time"),
    "acks=0, and never sent": (SILENT | {"sent_us": None}, "silent"),
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
    "expired too late, and the load stood still": (
        NONE | EXPIRED | {"answered_us": 601_000, "load_late_us": 500_000},
        "late, undecided",
    ),
    "what its producer was told last tells no offset": (NONE | BY_PRODUCER | {"error_code": 7, "also": ["7"]}, None),
    "unknown, and silent": (NONE | UNHEARD | {"expected_error": None, "outcome": "silent"}, "silent"),
}


ALSO = TIMED_OUT | ELSEWHERE
STRAY: Row = {"stray_correlation_id": TIMED_OUT["correlation_id"]}
THROTTLED = NONE | {"throttle_ms": 50}  # of which the broker may have counted one that was not whole
FOLLOWS = NONE | NEXT | {"sent_us": 1_400, "answered_us": 52_000}
THIRD = FOLLOWS | {"sequence": 2, "correlation_id": 3, "sent_us": 52_100, "base_offset": 42}
LONG_THROTTLED, LATER = THROTTLED | {"throttle_ms": 2_000}, FOLLOWS | {"answered_us": 2_002_000}
AFTER = TIMED_OUT | NEXT | {"sent_us": 102_000, "answered_us": 202_000}
PIPELINED = TIMED_OUT | NEXT | {"answered_us": 201_500}  # sent at once, answered after twice the timeout
SEEN_LATE = TIMED_OUT | {"answered_us": 121_000}  # the next one, 80.5 ms after it, is not early
HEALED = TIMED_OUT | {"answered_us": 2_000, "error_code": 0}

HISTORIES: dict[str, History] = {
    "two answers name one offset": History((TIMED_OUT, ALSO), ["base offset given twice"] * 2),
    "of two partitions": History((TIMED_OUT, ALSO | {"partition": 1}), [None, None]),
    "of two runs": History((TIMED_OUT, ALSO | {"run": "other"}), [None, None]),
    "its answer came once more": History((TIMED_OUT | STRAY,), ["answered twice"]),
    "an answer to nothing that was ever sent": History(
        (TIMED_OUT | {"stray_correlation_id": 99},), ["an answer that it had not asked for"]
    ),
    "throttled": History((THROTTLED, FOLLOWS), [None, None]),
    "throttled for 49 ms": History((THROTTLED, FOLLOWS | {"answered_us": 50_001}), [None, None]),
    "not throttled so long": History(
        (THROTTLED, FOLLOWS | {"answered_us": 49_999}), [None, "answered while throttled"]
    ),
    "not throttled": History((NONE, FOLLOWS | {"answered_us": 1_500}), [None, None]),
    "throttled twice": History(
        (THROTTLED, FOLLOWS | {"throttle_ms": 50}, THIRD | {"answered_us": 103_000}), [None, None, None]
    ),
    "not throttled twice": History(
        (THROTTLED, FOLLOWS | {"throttle_ms": 50}, THIRD | {"answered_us": 98_000}),
        [None, None, "answered while throttled"],
    ),
    "what waits for the throttle is not late": History((LONG_THROTTLED, LATER), [None, None]),
    "late behind the throttle": History((LONG_THROTTLED, LATER | {"answered_us": 2_600_000}), [None, "late"]),
    "offsets of a connection rise": History((TIMED_OUT, AFTER | {"base_offset": 39}), [None, "base offset went back"]),
    "correlation ids of a connection rise": History(
        (TIMED_OUT, AFTER | {"correlation_id": 1}), [None, "correlation id went back"]
    ),
    "a request with two rows": History((TIMED_OUT, TIMED_OUT), ["counted twice"] * 2),
    "a pipelined request is handled when the one before is answered": History((TIMED_OUT, PIPELINED), [None, None]),
    "pipelined, early": History((TIMED_OUT, PIPELINED | {"answered_us": 102_000}), [None, "early"]),
    "pipelined, out of order": History((TIMED_OUT, PIPELINED | {"answered_us": 101_300}), [None, "out of order"]),
    "pipelined, late": History((TIMED_OUT, PIPELINED | {"answered_us": 101_400 + 100_000 + 500_001}), [None, "late"]),
    "in time behind one that was early": History(
        (TIMED_OUT | {"answered_us": 51_000}, PIPELINED | {"answered_us": 151_000}), ["early", None]
    ),
    "early behind one that was early": History(
        (TIMED_OUT | {"answered_us": 51_000}, PIPELINED | {"answered_us": 150_999}), ["early", "early"]
    ),
    "seeing an answer late does not make the next one early": History((SEEN_LATE, PIPELINED), [None, None]),
    "early behind one that was seen late": History((SEEN_LATE, PIPELINED | {"answered_us": 200_999}), [None, "early"]),
    "an answer that did not wait gives no time to the next": History(
        (HEALED, TIMED_OUT | NEXT | {"answered_us": 102_000}), ["wrong answer", None]
    ),
}
HISTORIES |= {name: History((row,), [problem]) for name, (row, problem) in CASES.items()}

# What waits for what happens is due then: how the answer differs, its problem, and how late it is in microseconds.
DUE = NONE | {"answered_us": 45_000, "due_low_us": 40_000, "due_high_us": 50_000}
DUE_CASES: dict[str, tuple[Row, str | None, int]] = {
    "due": ({}, None, 0),
    "as soon as it is due": ({"answered_us": 40_000}, None, 0),
    "before it is due": ({"answered_us": 39_999}, "early", 0),
    "so long after it was due": ({"answered_us": 550_000}, None, 500_000),
    "late after it was due": ({"answered_us": 550_001}, "late", 500_001),
    "it came behind it": ({"sent_us": 60_000, "answered_us": 60_300}, None, 300),
    "appended, and then answered with its offset": ({"error_code": 6, "expected_error": 6}, None, 0),
    "due, error without offset": ({"error_code": 6, "expected_error": 6, "base_offset": -1}, None, 0),
    "due, error with offset": ({"error_code": 19, "expected_error": 19}, "base offset with an error", 0),
}
HISTORIES |= {name: History((DUE | row,), [problem]) for name, (row, problem, _) in DUE_CASES.items()}


# Of brokers that are not known to be exact.
ROUNDED = {
    "a millisecond early": History((TIMED_OUT | {"answered_us": 100_000},), [None]),
    "more than a millisecond early": History((TIMED_OUT | {"answered_us": 99_999},), ["early"]),
    "pipelined, each a millisecond early": History(
        (TIMED_OUT | {"answered_us": 100_000}, PIPELINED | {"answered_us": 199_000}), [None, None]
    ),
    "pipelined, and more than that": History(
        (TIMED_OUT | {"answered_us": 100_000}, PIPELINED | {"answered_us": 198_999}), [None, "early"]
    ),
}
HISTORIES |= ROUNDED

# Runs with actions that came 10 ms late.
ACTED_LATE = {
    "due, and late as the action was": History((DUE | {"answered_us": 560_000},), ["late, undecided"]),
    "due, and later than the action": History((DUE | {"answered_us": 560_001},), ["late"]),
    "late beside the action": History((NONE | {"answered_us": 501_001},), ["late"]),
}
HISTORIES |= ACTED_LATE


def judged_histories(spark: SparkSession) -> dict[str, list[Judged]]:
    """Return the judged rows of each history. All are judged at once, each as a separate run: planning takes most of
    the time."""
    names = list(HISTORIES)
    rows = [
        row | {"run": f"{number} {row['run']}"} for number, name in enumerate(names) for row in HISTORIES[name].rows
    ]
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA))
    histories: dict[str, list[Judged]] = {name: [] for name in names}
    exact = {row["run"] for row in rows if names[int(row["run"].split()[0])] not in ROUNDED}
    acted_late_ms = {row["run"]: 10 for row in rows if names[int(row["run"].split()[0])] in ACTED_LATE}
    for row in (
        judge(spark, frame, exact=exact, acted_late_ms=acted_late_ms).orderBy("connection", "sequence").collect()
    ):
        histories[names[int(row["run"].split()[0])]].append(row)
    return histories


@pytest.fixture(scope="module")
def found_in_histories(spark: SparkSession) -> dict[str, list[Judged]]:
    return judged_histories(spark)


def problems(rows: list[Judged]) -> Problems:
    return [row["problem"] for row in rows]


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history(found_in_histories: dict[str, list[Judged]], name: str) -> None:
    assert problems(found_in_histories[name]) == HISTORIES[name].problems


@pytest.mark.parametrize("name", DUE_CASES)
def test_what_waits_for_what_happens_is_due_then(found_in_histories: dict[str, list[Judged]], name: str) -> None:
    (row,) = found_in_histories[name]
    assert row["lateness_us"] == DUE_CASES[name][2]


def test_what_is_rare_is_found_when_there_is_a_lot_of_it(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that is too large for a broadcast is joined in another way."""
    monkeypatch.setattr(requests, "FEW", 0)
    histories = judged_histories(spark)
    assert {name: problems(rows) for name, rows in histories.items()} == {
        name: history.problems for name, history in HISTORIES.items()
    }


class Run(NamedTuple):
    """A run: its rows, and the plan of its one group."""

    rows: Sequence[Row]
    requests: int
    expect: str = "REQUEST_TIMED_OUT"
    group: str = "g"
    lateness_limit_ms: int = 500
    send_delay_limit_ms: int | None = None
    connections: int = 2

    def entry(self, name: str) -> dict[str, Any]:
        """Return what run.json has of it."""
        group = {"name": self.group, "expect": self.expect, "connections": self.connections}
        scenario: dict[str, Any] = {"name": name, "groups": [group]}
        if self.send_delay_limit_ms is not None:
            scenario["send_delay_limit_ms"] = self.send_delay_limit_ms
        return {"scenario": scenario, "planned": {self.group: self.requests}}


LATER_ON = TIMED_OUT | NEXT | {"sent_us": 150_000, "answered_us": 252_400, "intended_us": 120_000}
SENT_LATE = (TIMED_OUT, LATER_ON | {"sent_us": 3_000_000, "answered_us": 3_101_000})
TWO_ROWS = (TIMED_OUT, TIMED_OUT | ELSEWHERE | {"base_offset": 50})
ANSWERED_LATE = TIMED_OUT | {"answered_us": 106_001}
UNREPLICATED = TIMED_OUT | {"expected_error": 0, "must_wait": False}

RUNS: dict[str, Run] = {
    "two requests": Run((TIMED_OUT, LATER_ON), 2),
    "sent late": Run(SENT_LATE, 2),
    "sent late, which is right": Run(SENT_LATE, 2, send_delay_limit_ms=2_900),
    "sent too late": Run(SENT_LATE, 2, send_delay_limit_ms=2_800),  # the 99th percentile is 2,851
    "two connections": Run(TWO_ROWS, 2),
    "another group's connection": Run(TWO_ROWS, 2, connections=1),
    "one wrong answer": Run(
        [
            TIMED_OUT
            | {"connection": number, "correlation_id": number, "base_offset": number, "error_code": 7 * (number != 3)}
            for number in range(20)
        ],
        20,
        connections=20,
    ),
    "2 rows of 0": Run(TWO_ROWS, 0),
    "2 rows of 1": Run(TWO_ROWS, 1),
    "2 rows of 2": Run(TWO_ROWS, 2),
    "2 rows of 3": Run(TWO_ROWS, 3),
    "another group": Run([TIMED_OUT], 1, group="other"),
    "limit 6": Run([ANSWERED_LATE], 1, lateness_limit_ms=6),
    "limit 5": Run([ANSWERED_LATE], 1, lateness_limit_ms=5),
    "silent": Run([SILENT], 1, "no answer"),
    "slow followers": Run([UNREPLICATED | {"machine_late_us": 50_000}], 1),
    "slow followers of its own": Run([UNREPLICATED | {"machine_late_us": 49_999}], 1),
    "late by the machine": Run([TIMED_OUT | LATER_THAN_IT_MAY | {"machine_late_us": 1}], 1),
    "late by itself": Run([TIMED_OUT | LATER_THAN_IT_MAY | {"machine_late_us": 0}], 1),
}
# What the machine explains makes the run not measured.
OF_THE_MACHINE = {
    "slow followers": NOT_MEASURED,
    "slow followers of its own": WRONG,
    "late by the machine": NOT_MEASURED,
    "late by itself": WRONG,
}


@pytest.fixture(scope="module")
def judged_runs(spark: SparkSession) -> DataFrame:
    rows = [row | {"run": name} for name, run in RUNS.items() for row in run.rows]
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA))
    return judge(spark, frame, {name: run.lateness_limit_ms for name, run in RUNS.items()}).localCheckpoint()


@pytest.fixture(scope="module")
def whole(spark: SparkSession, judged_runs: DataFrame) -> Verdict:
    """Return the verdict on all runs."""
    return summarise(spark, judged_runs, [run.entry(name) for name, run in RUNS.items()])


def of_run(whole: Verdict, name: str) -> Verdict:
    """Return the verdict on one run of it."""
    return replace(whole, groups=tuple(group for group in whole.groups if group.run == name))


def test_the_figures_of_a_group(whole: Verdict) -> None:
    verdict = of_run(whole, "two requests")
    (group,) = verdict.groups
    assert verdict.ok
    assert (group.requests, group.rows, group.confirmed, group.early) == (2, 2, 2, 0)
    assert group.answers == {"REQUEST_TIMED_OUT": 2}
    assert group.problems == {}
    assert (group.lateness_p50_us, group.lateness_max_us) == (1_400, 2_400)
    assert group.send_delay_us == (15_050, 29_701, 30_000)
    assert group.from_sent_us == (101_400, 102_380, 102_400)
    assert group.from_intended_us == (116_450, 132_081, 132_400)


def test_a_load_that_was_sent_late_proves_nothing_of_the_one_that_was_asked_for(whole: Verdict) -> None:
    verdict = of_run(whole, "sent late")
    (group,) = verdict.groups
    assert (group.confirmed, group.problems) == (2, {})
    assert group.sent_late
    assert not group.ok
    assert not verdict.ok
    assert of_run(whole, "sent late, which is right").ok
    assert not of_run(whole, "sent too late").ok


def test_a_group_that_has_a_row_of_another_ones_connection_is_not_confirmed(whole: Verdict) -> None:
    assert of_run(whole, "two connections").ok
    (group,) = of_run(whole, "another group's connection").groups
    assert group.confirmed == 2
    assert group.amiss == ("it has rows of other groups' connections",)
    assert not group.ok


def test_one_wrong_answer_among_many_fails_the_whole(whole: Verdict) -> None:
    verdict = of_run(whole, "one wrong answer")
    assert not verdict.ok
    assert not whole.ok
    assert (verdict.requests, verdict.confirmed) == (20, 19)
    assert verdict.groups[0].answers == {"REQUEST_TIMED_OUT": 19, "NONE": 1}
    assert verdict.groups[0].problems == {"wrong answer": 1}


@pytest.mark.parametrize("planned", [0, 1, 2, 3])
def test_rows_that_are_missing_or_too_many_fail(whole: Verdict, planned: int) -> None:
    assert of_run(whole, f"2 rows of {planned}").ok == (planned == 2)


def test_a_group_without_a_plan_and_a_plan_without_rows_fail(whole: Verdict) -> None:
    assert [(group.group, group.requests, group.rows, group.ok) for group in of_run(whole, "another group").groups] == [
        ("other", 1, 0, False),
        ("g", 0, 1, False),
    ]


def test_nothing_confirms_nothing(spark: SparkSession, judged_runs: DataFrame) -> None:
    verdict = summarise(spark, judged_runs.where("run = 'nobody'"), [])
    assert verdict.groups == ()
    assert not verdict.ok


def test_the_lateness_limit_is_a_parameter(whole: Verdict) -> None:
    assert of_run(whole, "limit 6").ok
    assert of_run(whole, "limit 5").groups[0].problems == {"late": 1}


def test_the_verdict_is_written_as_json(whole: Verdict, tmp_path: Path) -> None:
    of_run(whole, "silent").write(tmp_path / "verdict.json")
    data = json.loads((tmp_path / "verdict.json").read_text())
    assert data["ok"] is True
    assert data["groups"][0]["answers"] == {"silent": 1}
    assert data["groups"][0]["lateness_p99_us"] is None


@pytest.mark.parametrize("name", OF_THE_MACHINE)
def test_what_the_machine_explains_accuses_no_broker(whole: Verdict, name: str) -> None:
    assert of_run(whole, name).finding.kind == OF_THE_MACHINE[name]
