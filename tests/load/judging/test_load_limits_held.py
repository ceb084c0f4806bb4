"""Limits of groups, with rows that keep and rows that break them, and separate lateness limits of each run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fakebroker_load.judging import percentiles
from fakebroker_load.judging.group_verdict import GroupVerdict
from fakebroker_load.judging.limits import LimitResult
from fakebroker_load.judging.requests import judge
from fakebroker_load.reports.junit import as_junit
from fakebroker_load.reports.markdown import as_markdown
from fakebroker_load.traffic.rows import RESULT_SCHEMA
from fakebroker_load.verdict import Verdict, summarise

ROW: dict[str, Any] = {
    "topic": "t",
    "partition": 0,
    "acks": -1,
    "timeout_ms": 5_000,
    "intended_us": 0,
    "sent_us": 9_000,
    "error_code": 0,
    "outcome": "answered",
    "expected_error": 0,
    "must_wait": False,
    "group": "g",
}
GROUP = {"name": "g", "expect": "NONE", "connections": 12}
RUNS: dict[str, dict[str, Any]] = {  # the run's group
    "no limit": {},
    "kept": {"latency_limit_ms": {"p50": 10, "max": 110}, "min_answers_per_s": 90},
    "too slow": {"latency_limit_ms": {"p50": 10, "p99": 100, "max": 500}},
    "too few": {"min_answers_per_s": 110},
    "silent": {"latency_limit_ms": {"p50": 10}, "min_answers_per_s": 1},
    "many rows": {"latency_limit_ms": {"p50": 10, "max": 100}},
}
MANY = 12
COUNTS = dict.fromkeys(RUNS, 10) | {"many rows": MANY}


@pytest.fixture(scope="module")
def groups(spark: SparkSession) -> dict[str, GroupVerdict]:
    """Return groups of ten responses within 101 ms, nine of them after 10 ms, except for "silent". One group has more
    rows, and percentiles of a sketch."""
    rows = []
    for run in RUNS:
        for number in range(COUNTS[run]):
            own = {"run": run, "connection": number, "sequence": 0, "correlation_id": number, "base_offset": number}
            answer: dict[str, Any] = {"answered_us": 109_000 if number == 9 else 10_000}
            if run == "silent":
                answer = {"answered_us": None, "error_code": None, "outcome": "no answer", "also": ["no answer"]}
            rows.append(ROW | own | answer)
    judged = judge(
        spark,
        spark.createDataFrame(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA)),
        dict.fromkeys(RUNS, 500) | {"no limit": 99},
        expected_rows=len(rows),
    ).localCheckpoint()
    runs = [
        {"scenario": {"name": run, "groups": [GROUP | given]}, "planned": {"g": COUNTS[run]}}
        for run, given in RUNS.items()
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(percentiles, "EXACT_ROWS", MANY - 1)
        return {group.run: group for group in summarise(spark, judged, runs, dict.fromkeys(RUNS, 500)).groups}


@pytest.mark.spark
def test_a_limit_is_kept_or_the_group_is_not_confirmed(groups: dict[str, GroupVerdict]) -> None:
    assert [(held.limit, held.found, held.ok) for held in groups["kept"].limits] == [
        (10, 10.0, True),
        (110, 109.0, True),
        (90, 100.0, True),
    ]
    assert groups["kept"].ok
    assert not groups["too slow"].ok
    assert [held.ok for held in groups["too slow"].limits] == [True, False, True]
    (said,) = groups["too slow"].amiss
    assert said == "from intended p99: 100.1 ms, limit at most 100 ms"
    assert groups["too few"].amiss == ("answers: 100.0 a second, limit at least 110 a second",)
    assert len(groups["silent"].amiss) == 2
    assert groups["no limit"].limits == ()


@pytest.mark.spark
def test_percentiles_of_many_rows_come_from_a_sketch(groups: dict[str, GroupVerdict]) -> None:
    assert [run for run, group in groups.items() if group.is_sketched] == ["many rows"]
    many = groups["many rows"]
    assert [(held.found, held.ok) for held in many.limits] == [(10.0, True), (109.0, False)]
    assert many.send_delay_us == (9_000, 9_000, 9_000) == groups["kept"].send_delay_us
    assert many.from_intended_us == (10_000, 109_000, 109_000)
    assert groups["kept"].from_intended_us == (10_000, 100_090, 109_000)  # between the last two


@pytest.mark.spark
def test_each_run_has_a_lateness_limit_of_its_own(groups: dict[str, GroupVerdict]) -> None:
    assert groups["no limit"].problems == {"late": 1}
    assert groups["kept"].problems == {}


def test_limits_are_told_where_the_verdict_is() -> None:
    kept, broken = (
        LimitResult("from intended p99", "ms", 50, 12.34),
        LimitResult("answers", "a second", 900, 850, is_least=True),
    )
    group = GroupVerdict("r", "g", "NONE", 1, 1, 1, 0, {"NONE": 1}, {}, None, None, None, limits=(kept,))
    runs = [{"scenario": {"name": "r"}, "took_s": 1}]
    text = as_markdown(Verdict((group,), 500))
    assert "- r: g: from intended p99: 12.3 ms, limit at most 50 ms" in text
    assert "failure " not in as_junit(Verdict((group,), 500), runs)
    slow = replace(group, limits=(kept, broken), amiss=(broken.sentence(),))
    assert not slow.ok
    assert "- ✗ r: g: answers: 850.0 a second, limit at least 900 a second" in as_markdown(Verdict((slow,), 500))
    assert "answers: 850.0 a second, limit at least 900" in as_junit(Verdict((slow,), 500), runs)
