"""Timeouts must follow those of their requests (judging/groups.py)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fakebroker_load.judging.groups import LEAST_IN_A_BAND, _own_times, own_times
from fakebroker_load.judging.requests import TIMED_OUT

Row = dict[str, Any]


def answers(late_ms: dict[int, float], rows: int = 10) -> list[Row]:
    """Return rows with the least lateness for each requested timeout."""
    return [{"timeout_ms": timeout_ms, "rows": rows, "least_us": late * 1000} for timeout_ms, late in late_ms.items()]


def always_after(ms: int, *asked: int) -> list[Row]:
    return answers({timeout_ms: ms - timeout_ms for timeout_ms in asked})


@pytest.mark.parametrize(
    "rows",
    [
        [],
        answers({100: 0.3}),
        answers({50: 1, 150: 0.5, 300: 2, 400: 0}),
        answers({50: 19, 400: 0}),  # too little to prove anything
        answers({50: 100, 150: 99, 300: 101, 400: 100}),  # all alike: the limit of lateness judges that
        answers({50: 0, 400: 300}),  # a longer timeout expires too late: late
        always_after(400, *range(380, 400)),
        [*answers({50: 350}, rows=4), *answers({400: 0})],  # too few
        answers({64: -63, 112: -109}),  # pipelined, and the load stood still when the answer before came
    ],
)
def test_these_may_be_honest(rows: list[Row]) -> None:
    assert own_times(rows, 0) is None


@pytest.mark.parametrize("rows", [always_after(400, 50, 150, 300, 400), always_after(1_000, 900, 1_000)])
def test_a_time_of_its_own_is_found(rows: list[Row]) -> None:
    assert own_times(rows, 0)


def test_a_phrase_says_what_was_asked_and_what_came() -> None:
    assert own_times(always_after(400, 50, 400), 0) == (
        "time-outs do not follow their requests: where some 94 ms were asked for, each was at least 350 ms late, "
        "where 356 ms were, 0 ms"
    )


def test_what_the_machine_explains_proves_nothing() -> None:
    assert own_times(always_after(400, 50, 400), 350) is None


@pytest.mark.spark
def test_a_load_that_was_paused_accuses_no_broker(spark: SparkSession) -> None:
    """The pause is longer than the timeout. Without the pause each response would be early, which proves nothing."""
    rows = [
        {"timeout_ms": 300 if is_short else 700, "lateness_us": 2_000, "load_late_us": 500_000 if is_short else 900_000}
        for is_short in (True, False)
        for _ in range(LEAST_IN_A_BAND)
    ]
    same = {"run": "r", "group": "g", "error_code": TIMED_OUT, "must_wait": True, "client": "raw"}
    judged = spark.createDataFrame(pa.Table.from_pylist([row | same for row in rows]))
    groups = [{"name": "g", "waits": True, "timeout_ms": (300, 700)}]
    assert _own_times(spark, judged, [{"scenario": {"name": "r", "groups": groups}}]) == {}
