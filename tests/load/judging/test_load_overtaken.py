"""Requests that the load sends so late that an action of the scenario comes before them."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from fakebroker_load.judging.overtaken import overtaken

pytestmark = pytest.mark.spark
MS = 1_000
RUNS: list[dict[str, Any]] = [
    {"scenario": {"name": "killed"}, "actions": [{"begun_ms": 2_000}, {"begun_ms": 6_000}]},
    {"scenario": {"name": "quiet"}},
]
LIMIT_MS = 500

# The run, when it was intended and sent, how long it waits, and whether for an action; whether it is overtaken.
CASES: dict[str, tuple[str, int, int, int | None, bool, bool]] = {
    "in time": ("killed", 600, 620, None, False, False),
    "late, and answered before": ("killed", 600, 1_400, None, False, False),
    "late, and perhaps answered behind it": ("killed", 600, 1_600, None, False, True),
    "behind it": ("killed", 600, 2_100, None, False, True),
    "behind the second": ("killed", 5_400, 6_200, None, False, True),
    "intended behind it": ("killed", 2_100, 3_500, None, False, False),
    "sent when it was intended, just before": ("killed", 1_950, 1_990, None, False, False),
    "sent late by less than counts": ("killed", 1_880, 1_979, None, False, False),
    "waits across it": ("killed", 600, 800, 1_500, False, False),
    "would have waited until before": ("killed", 600, 1_200, 1_000, False, True),
    "waits for it, and was sent before": ("killed", 600, 1_900, None, True, False),
    "was to wait for it, and was sent behind": ("killed", 600, 2_000, None, True, True),
    "of a run without actions": ("quiet", 600, 2_100, None, False, False),
}


@pytest.fixture(scope="module")
def answers(spark: SparkSession) -> dict[str, bool]:
    rows: list[Any] = [
        (name, run, intended * MS, sent * MS, wait is not None, wait or 30_000, (9_000 * MS if is_due else None))
        for name, (run, intended, sent, wait, is_due, _) in CASES.items()
    ]
    columns = (
        "name string, run string, intended_us long, sent_us long, must_wait boolean, timeout_ms int, due_high_us long"
    )
    frame = spark.createDataFrame(rows, columns)
    return {row["name"]: row["it"] for row in frame.selectExpr("name", f"{overtaken(RUNS, LIMIT_MS)} AS it").collect()}


@pytest.mark.parametrize("case", CASES)
def test_a_request_is_overtaken_if_it_was_to_be_answered_before_an_action(answers: dict[str, bool], case: str) -> None:
    assert answers[case] is CASES[case][-1]


def test_without_actions_nothing_is_overtaken() -> None:
    assert overtaken(RUNS[1:], LIMIT_MS) == "false"
