"""How long things took, and how many there were: the judged rows counted, in one pass over them.

Theory   As an HDR histogram does it: values are counted in buckets whose bounds grow by the same factor, here 120 to a
         decade, so that a value is known to within 2 %, whether it is of microseconds or of minutes. Each bucket also
         keeps its greatest value, so that the greatest of all is exact, and no percentile is told too small.
         COUNTED stays in Spark, for distributions here and for places.py. What leaves it is as much for ten million
         requests as for a thousand.
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

# A row for each bucket of each measure, by all that is asked for. Partitions are, of two measures: of all five there
# would be so many rows that this took twice as long. What was not answered has its last moment when it was sent.
# Rows of who reads are no requests.
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
    """Of one measure. `buckets`: number -> how many, and the greatest of them."""

    buckets: dict[int, tuple[int, float]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(rows for rows, _ in self.buckets.values())

    def add(self, bucket: int, rows: int, top_us: float) -> None:
        before, before_us = self.buckets.get(bucket, (0, top_us))
        self.buckets[bucket] = before + rows, max(before_us, top_us)

    def at(self, share: float) -> float:
        """So many of all are at most this. Of nothing it is 0."""
        wanted, seen = math.ceil(share * self.rows - 1e-9), 0
        for bucket in sorted(self.buckets):
            rows, top_us = self.buckets[bucket]
            seen += rows
            if seen >= wanted:
                return top_us
        return 0.0

    def curve(self) -> Iterator[tuple[float, float]]:
        """Points of (how many nines, value), up to the greatest value of all: that of n rows stands at log10(n)."""
        end = math.log10(max(1, self.rows))
        for step in range(math.ceil(end * STEPS_PER_NINE)):
            yield step / STEPS_PER_NINE, self.at(1 - 10 ** -(step / STEPS_PER_NINE))
        yield end, self.at(1.0)


@dataclass(frozen=True, slots=True)
class Kind:
    """Rows of a group that ended in the same way."""

    run: str
    group: str
    answer: str


@dataclass(frozen=True, slots=True)
class Distributions:
    """`last_us`: of each run, when the last of its requests was answered."""

    of: dict[tuple[Kind, int], Distribution]
    last_us: dict[str, int]

    def by_kind(self, measure: int) -> dict[Kind, Distribution]:
        return {kind: found for (kind, each), found in self.of.items() if each == measure}

    def by_group(self, measure: int) -> dict[tuple[str, str], Distribution]:
        """Whatever was answered."""
        merged: dict[tuple[str, str], Distribution] = {}
        for kind, found in self.by_kind(measure).items():
            into = merged.setdefault((kind.run, kind.group), Distribution())
            for bucket, (rows, top_us) in found.buckets.items():
                into.add(bucket, rows, top_us)
        return merged


def count_rows(spark: SparkSession, judged: DataFrame) -> DataFrame:
    """COUNTED, which is asked several times."""
    return held(spark.sql(COUNTED, judged=judged))


def distributions_of(spark: SparkSession, counted: DataFrame) -> Distributions:
    of: dict[tuple[Kind, int], Distribution] = {}
    last_us: dict[str, int] = {}
    for row in spark.sql(DISTRIBUTIONS, counted=counted).collect():
        if row["last_us"] is not None:
            last_us[row["run"]] = max(last_us.get(row["run"], 0), row["last_us"])
        if row["measure"] != ALL:
            key = Kind(row["run"], row["group"], answer_name(row)), row["measure"]
            of.setdefault(key, Distribution()).add(row["bucket"], row["rows"], row["top_us"])
    return Distributions(dict(sorted(of.items(), key=lambda item: str(item[0]))), last_us)


def answer_name(row: Any) -> str:
    """Of what has an error_code and an outcome."""
    return str(row["outcome"]) if row["error_code"] is None else kafka_name(row["error_code"])


def most(kinds: Iterable[tuple[Any, Distribution]], limit: int) -> tuple[list[tuple[Any, Distribution]], Sequence[Any]]:
    """So many of them at most, those with the most rows, in the order that they have; and those that are left out."""
    found = list(kinds)
    chosen = {name for name, _ in sorted(found, key=lambda item: -item[1].rows)[:limit]}
    return [item for item in found if item[0] in chosen], [name for name, _ in found if name not in chosen]
