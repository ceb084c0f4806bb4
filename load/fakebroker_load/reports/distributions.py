"""Distributions of times, and counts: the judged rows are counted in one pass.

Theory   Values are counted in buckets, as in an HDR histogram. The bounds of the buckets grow by a constant factor,
         here 120 buckets to a decade. So a value is known to within 2 %, whether microseconds or minutes. Each bucket
         also keeps its greatest value. So the maximum is exact, and no percentile is too small. COUNTED stays in Spark,
         for the distributions here and for places.py. The output is the same size for ten million requests as for a
         thousand.
Units    microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from fakebroker.protocol.error_code import kafka_name
from fakebroker_load.judging.partitions import held

BUCKETS_PER_DECADE = 120
STEPS_PER_NINE = 10  # of a curve

ALL, LATENESS, SEND_DELAY, FROM_SENT, FROM_INTENDED = range(5)  # measures; each row is in ALL

# A row for each bucket of each measure, by group, partition and answer. Only two measures are split by partition: with
# all five, the many rows would take twice as long. A request without a response ends when it was sent. Rows of readers
# are not requests.
COUNTED = f"""
SELECT run, `group`, if(measure IN ({ALL}, {FROM_INTENDED}), topic, NULL) AS topic,
    if(measure IN ({ALL}, {FROM_INTENDED}), partition, NULL) AS partition, is_request, error_code, outcome, measure,
    CAST(floor(log10(greatest(us, 1)) * {BUCKETS_PER_DECADE}) AS INT) AS bucket,
    count(*) AS rows, count_if(is_confirmed) AS confirmed, max(us) AS top_us, max(last_us) AS last_us
FROM (
    SELECT run, `group`, topic, partition, sequence IS NOT NULL AS is_request, error_code, outcome,
        problem IS NULL AS is_confirmed, coalesce(answered_us, sent_us) AS last_us, stack(5,
        {ALL}, 0L,
        {LATENESS}, if(must_wait, lateness_us, NULL),
        {SEND_DELAY}, sent_us - intended_us,
        {FROM_SENT}, answered_us - sent_us,
        {FROM_INTENDED}, answered_us - intended_us) AS (measure, us)
    FROM {{judged}}
)
WHERE us IS NOT NULL GROUP BY ALL
"""
DISTRIBUTIONS = """
SELECT run, `group`, error_code, outcome, measure, bucket, sum(rows) AS rows, max(top_us) AS top_us,
    max(last_us) AS last_us
FROM {counted} GROUP BY ALL
"""


@dataclass(slots=True)
class Distribution:
    """The distribution of one measure. `buckets`: number -> count and greatest value."""

    buckets: dict[int, tuple[int, float]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(rows for rows, _ in self.buckets.values())

    def add(self, bucket: int, rows: int, top_us: float) -> None:
        before, before_us = self.buckets.get(bucket, (0, top_us))
        self.buckets[bucket] = before + rows, max(before_us, top_us)

    def at(self, share: float) -> float:
        """Return the value that this share of all values does not exceed; 0 without values."""
        wanted, seen = math.ceil(share * self.rows - 1e-9), 0
        for bucket in sorted(self.buckets):
            rows, top_us = self.buckets[bucket]
            seen += rows
            if seen >= wanted:
                return top_us
        return 0.0

    def curve(self) -> Iterator[tuple[float, float]]:
        """Yield points of (how many nines, value), up to the greatest value: with n rows it is at log10(n)."""
        end = math.log10(max(1, self.rows))
        for step in range(math.ceil(end * STEPS_PER_NINE)):
            yield step / STEPS_PER_NINE, self.at(1 - 10 ** -(step / STEPS_PER_NINE))
        yield end, self.at(1.0)


@dataclass(frozen=True, slots=True)
class AnswerKind:
    """Rows of a group with the same answer."""

    run: str
    group: str
    answer: str


@dataclass(frozen=True, slots=True)
class Distributions:
    """The distributions of all runs. `last_us` is the time of each run's last response."""

    of: dict[tuple[AnswerKind, int], Distribution]
    last_us: dict[str, int]

    def by_kind(self, measure: int) -> dict[AnswerKind, Distribution]:
        return {kind: distribution for (kind, of_measure), distribution in self.of.items() if of_measure == measure}

    def by_group(self, measure: int) -> dict[tuple[str, str], Distribution]:
        """Return the distributions with all answers merged."""
        merged: dict[tuple[str, str], Distribution] = {}
        for kind, distribution in self.by_kind(measure).items():
            into = merged.setdefault((kind.run, kind.group), Distribution())
            for bucket, (rows, top_us) in distribution.buckets.items():
                into.add(bucket, rows, top_us)
        return merged


def count_rows(spark: SparkSession, judged: DataFrame) -> DataFrame:
    """Return the rows of COUNTED, kept for several queries."""
    return held(spark.sql(COUNTED, judged=judged))


def distributions_of(spark: SparkSession, counted: DataFrame) -> Distributions:
    of: dict[tuple[AnswerKind, int], Distribution] = {}
    last_us: dict[str, int] = {}
    for row in spark.sql(DISTRIBUTIONS, counted=counted).collect():
        if row["last_us"] is not None:
            last_us[row["run"]] = max(last_us.get(row["run"], 0), row["last_us"])
        if row["measure"] != ALL:
            key = AnswerKind(row["run"], row["group"], answer_name(row)), row["measure"]
            of.setdefault(key, Distribution()).add(row["bucket"], row["rows"], row["top_us"])
    return Distributions(dict(sorted(of.items(), key=lambda item: str(item[0]))), last_us)


def answer_name(row: Any) -> str:
    """Return the name of the answer in a row with error_code and outcome."""
    return str(row["outcome"]) if row["error_code"] is None else kafka_name(row["error_code"])


def most(kinds: Iterable[tuple[Any, Distribution]], limit: int) -> tuple[list[tuple[Any, Distribution]], Sequence[Any]]:
    """Return the distributions with the most rows, at most `limit`, in their present order. Also return the names of
    the others."""
    pairs = list(kinds)
    chosen = {name for name, _ in sorted(pairs, key=lambda item: -item[1].rows)[:limit]}
    return [item for item in pairs if item[0] in chosen], [name for name, _ in pairs if name not in chosen]
