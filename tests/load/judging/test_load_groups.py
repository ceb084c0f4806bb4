"""Findings about whole groups: for each phrase, rows with and without the finding."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fakebroker_load.judging.groups import amiss_in_groups
from fakebroker_load.traffic.rows import RESULT_SCHEMA

pytestmark = pytest.mark.spark

Row = dict[str, Any]
NONE: Row = {"error_code": 0, "outcome": "answered", "sent_us": 0, "answered_us": 1_000_000, "throttle_ms": 0}
MOVED = NONE | {"error_code": 6}
CLOSED: Row = {"outcome": "closed", "sent_us": 0}
THROTTLED = NONE | {"throttle_ms": 5}

# What the group says, its rows, and what is amiss.
CASES: dict[str, tuple[Row, list[Row], list[str]]] = {
    "nothing is said": ({}, [MOVED], []),
    "few enough": ({"also": {"NOT_LEADER_OR_FOLLOWER": 50}}, [NONE, MOVED], []),
    "one is never too many": ({"also": {"NOT_LEADER_OR_FOLLOWER": 1}}, [NONE, MOVED], []),
    "but where none may": (
        {"also": {"NOT_LEADER_OR_FOLLOWER": 0}},
        [NONE, MOVED],
        ["NOT_LEADER_OR_FOLLOWER: 1 of 2 requests, and at most 0 of 100 are right"],
    ),
    "too many": (
        {"also": {"unknown": 25, "NOT_LEADER_OR_FOLLOWER": 25}},
        [NONE, CLOSED, CLOSED, MOVED],
        ["unknown: 2 of 4 requests, and at most 25 of 100 are right"],
    ),
    "throttled": ({"throttled": True}, [NONE, THROTTLED], []),
    "not throttled": ({"throttled": True}, [NONE], ["no answer says that the client is throttled"]),
    "none may be throttled": (
        {"throttled": False},
        [THROTTLED, THROTTLED],
        ["2 answers say that the client is throttled, and none may"],
    ),
    "as fast as it should be": ({"bytes_per_s": [10, 10], "record_bytes": 5}, [NONE, NONE, CLOSED], []),
    "too fast": (
        {"bytes_per_s": [1, 9], "record_bytes": 5},
        [NONE, NONE],
        ["10 bytes a second were acknowledged, and 1 to 9 are right"],
    ),
    "nothing at all": (
        {"bytes_per_s": [1, 9], "record_bytes": 5},
        [CLOSED],
        ["0 bytes a second were acknowledged, and 1 to 9 are right"],
    ),
}


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[tuple[str, str], tuple[str, ...]]:
    rows = [row | {"run": case, "group": "g"} for case, (_, given, _) in CASES.items() for row in given]
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA))
    runs = [
        {"scenario": {"name": case, "groups": [{"name": "g", "also": {}, "throttled": None} | says]}}
        for case, (says, _, _) in CASES.items()
    ]
    return amiss_in_groups(spark, frame, runs)


@pytest.mark.parametrize("case", CASES)
def test_a_group(found: dict[tuple[str, str], tuple[str, ...]], case: str) -> None:
    assert list(found.get((case, "g"), ())) == CASES[case][2]
