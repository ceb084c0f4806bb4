"""acks=all that is acknowledged before followers can have its record, by the scenario."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fakebroker_load.judging.requests import judge
from fakebroker_load.traffic.rows import RESULT_SCHEMA

pytestmark = pytest.mark.spark
LAG_MS = 100
REQUEST: dict[str, Any] = {
    "run": "r", "group": "g", "connection": 0, "correlation_id": 1, "topic": "t", "partition": 0, "acks": -1,
    "timeout_ms": 5_000, "intended_us": 1_000, "sent_us": 1_000, "error_code": 0, "base_offset": 0,
    "outcome": "answered", "expected_error": 0, "must_wait": False,
}  # fmt: skip

# What differs, when it was answered after it was sent, and whether that is early.
CASES: dict[str, tuple[dict[str, Any], int, bool]] = {
    "too early": ({}, 98_999, True),
    "within what a clock of milliseconds rounds": ({}, 99_000, False),
    "when followers have it": ({}, 100_000, False),
    "acks=1": ({"acks": 1}, 500, False),
    "an error": ({"error_code": 7, "expected_error": 7}, 500, False),
    "another topic": ({"topic": "u"}, 500, False),
    "another run": ({"run": "s"}, 500, False),
}


@pytest.fixture(scope="module")
def early(spark: SparkSession) -> dict[str, bool]:
    rows = [
        REQUEST | {"connection": number, "sequence": number, "answered_us": 1_000 + after_us} | given
        for number, (given, after_us, _) in enumerate(CASES.values())
    ]
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA))
    judged = judge(spark, frame, expected_rows=len(rows), lags_ms={"r": {"t": LAG_MS}}).collect()
    return {
        name: row["early"] for name, row in zip(CASES, sorted(judged, key=lambda row: row["connection"]), strict=True)
    }


@pytest.mark.parametrize("case", CASES)
def test_acks_all_is_early_before_followers_have_its_record(early: dict[str, bool], case: str) -> None:
    assert early[case] is CASES[case][-1]
