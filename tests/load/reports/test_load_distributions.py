"""Distributions: counts in buckets, compared with the values themselves."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from fakebroker_load.judging.requests import judge
from fakebroker_load.reports.distributions import (
    BUCKETS_PER_DECADE,
    FROM_INTENDED,
    FROM_SENT,
    LATENESS,
    SEND_DELAY,
    AnswerKind,
    Distribution,
    count_rows,
    distributions_of,
    most,
)
from fakebroker_load.reports.places import SHOWN, places_of
from fakebroker_load.traffic.rows import RESULT_SCHEMA

SENT = {
    "run": "r",
    "group": "g",
    "topic": "t",
    "acks": -1,
    "timeout_ms": 100,
    "intended_us": 0,
    "error_code": 0,
    "outcome": "answered",
    "expected_error": 0,
    "must_wait": False,
}
PARTITIONS = SHOWN + 3


def rows() -> list[dict[str, Any]]:
    """Return rows with a latency that grows with the partition; the last one has an error, and one request has no
    response."""
    draw = random.Random(7)
    rows_ = []
    for number in range(40 * PARTITIONS):
        partition = number % PARTITIONS
        sent_us = draw.randint(0, 5_000)
        own: dict[str, Any] = {"answered_us": sent_us + int(1_000 * (partition + 1) * draw.uniform(1, 2))}
        if partition == PARTITIONS - 1:
            own["error_code"] = 3
            if number < PARTITIONS:
                own = {"answered_us": None, "error_code": None, "outcome": "no answer"}
        request = {"connection": number, "sequence": 0, "correlation_id": number, "partition": partition}
        rows_.append(SENT | request | {"sent_us": sent_us, "base_offset": number} | own)
    return rows_


@pytest.mark.spark
def test_what_is_counted_is_what_there_is(spark: SparkSession) -> None:
    given = rows()
    frame = spark.createDataFrame(pa.Table.from_pylist(given, schema=RESULT_SCHEMA))
    judged = judge(spark, frame, expected_rows=len(given))
    counted = count_rows(spark, judged)
    distributions = distributions_of(spark, counted)

    answers = {kind.answer for kind in distributions.by_kind(FROM_SENT)}
    assert answers == {"NONE", "UNKNOWN_TOPIC_OR_PARTITION"}
    assert distributions.by_kind(LATENESS) == {}
    assert distributions.by_group(SEND_DELAY)["r", "g"].rows == len(given)
    assert distributions.last_us == {"r": max(row["answered_us"] or 0 for row in given)}
    for measure, start in ((FROM_SENT, "sent_us"), (FROM_INTENDED, "intended_us")):
        values = sorted(row["answered_us"] - row[start] for row in given if row["error_code"] == 0)
        of = distributions.by_kind(measure)[AnswerKind("r", "g", "NONE")]
        assert of.rows == len(values)
        assert of.at(1.0) == values[-1]
        for share in (0.01, 0.25, 0.5, 0.99):
            exact = values[math.ceil(share * len(values)) - 1]
            assert exact <= of.at(share) <= exact * 1.02

    runs = [
        {"scenario": {"name": "r"}, "leaders": {"one:1": {"t": [0, 2]}, "two:2": {"t": list(range(3, PARTITIONS))}}}
    ]
    places = places_of(spark, counted, runs)
    brokers = [place for place in places if place.is_broker]
    assert {place.broker: place.rows for place in brokers} == {"one:1": 80, "two:2": 40 * (PARTITIONS - 3), None: 40}
    *shown, others = [place for place in places if not place.is_broker]
    assert [place.partition for place in shown] == [*reversed(range(PARTITIONS - SHOWN, PARTITIONS))]
    worst = shown[0]
    assert (worst.rows, worst.confirmed, worst.done, worst.failed, worst.unanswered) == (40, 0, 0, 39, 1)
    assert (others.places, others.rows, others.confirmed) == (3, 120, 120)
    slowest = sorted(row["answered_us"] for row in given if row["partition"] == PARTITIONS - 2)
    assert shown[1].p99_us == pytest.approx(slowest[-1], rel=0.05)
    assert others.p99_us is not None
    assert shown[-1].p99_us is not None
    assert others.p99_us < shown[-1].p99_us


def test_a_curve_goes_to_the_greatest_value_and_no_further() -> None:
    of = Distribution()
    for value in range(1, 1_001):
        of.add(value // 10, 1, value)
    points = list(of.curve())
    assert points[0][0] == 0
    assert points[-1][0] == pytest.approx(3)
    assert points[-1][1] == 1_000
    assert [x for x, _ in points] == sorted({x for x, _ in points})
    assert [y for _, y in points] == sorted(y for _, y in points)
    assert list(Distribution().curve()) == [(0.0, 0.0)]


def test_the_curves_of_most_requests_are_shown() -> None:
    few, many = Distribution({0: (1, 1.0)}), Distribution({0: (9, 1.0)})
    assert most([("a", few), ("b", many), ("c", many)], 2) == ([("b", many), ("c", many)], ["a"])


def test_a_bucket_is_known_to_within_two_percent() -> None:
    assert 10 ** (1 / BUCKETS_PER_DECADE) < 1.02
