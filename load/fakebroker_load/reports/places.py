"""Figures by broker and by partition: the worst of them, and the sum of the rest.

Theory   A broker has the requests to partitions that it led when the run began. The worst are those with the most
         requests that are not confirmed, then those with the highest 99th percentile. Only these leave Spark, however
         many partitions there are.
Units    microseconds, from intended to answered, to within 2 % (distributions.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.reports.distributions import ALL, FROM_INTENDED

SHOWN = 12  # of each kind, for each run
LEADERS_SCHEMA = "run string, topic string, partition int, broker string"

PLACES = f"""
WITH placed AS (
    SELECT /*+ BROADCAST(leaders) */ counted.*, broker
    FROM {{counted}} AS counted LEFT JOIN {{leaders}} AS leaders USING (run, topic, partition)
    WHERE is_request AND measure IN ({ALL}, {FROM_INTENDED})
),
summed AS (
    SELECT run, broker, topic, partition, grouping(topic) = 1 AS is_broker,
        sum(rows) FILTER (WHERE measure = {ALL}) AS rows, sum(confirmed) FILTER (WHERE measure = {ALL}) AS confirmed,
        coalesce(sum(rows) FILTER (WHERE measure = {ALL} AND error_code = 0), 0) AS done,
        coalesce(sum(rows) FILTER (WHERE measure = {ALL} AND error_code <> 0), 0) AS failed,
        percentile(if(measure = {FROM_INTENDED}, top_us, NULL), array(0.5, 0.99), rows) AS latency_us
    FROM placed GROUP BY GROUPING SETS ((run, broker), (run, broker, topic, partition))
),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY run, is_broker
        ORDER BY rows - confirmed DESC, latency_us[1] DESC NULLS LAST, topic, partition, broker) AS place
    FROM summed
)
SELECT run, is_broker, least(place, {SHOWN + 1}) AS place, count(*) AS places, min(broker) AS broker,
    min(topic) AS topic, min(partition) AS partition, sum(rows) AS rows, sum(confirmed) AS confirmed,
    sum(done) AS done, sum(failed) AS failed, max(latency_us[0]) AS p50_us, max(latency_us[1]) AS p99_us
FROM ranked GROUP BY run, is_broker, least(place, {SHOWN + 1}) ORDER BY run, is_broker DESC, place
"""


@dataclass(frozen=True, slots=True)
class PlaceSummary:
    """A broker or a partition. If `places` is above 1, it is the rest of them, with the greatest percentiles."""

    run: str
    is_broker: bool
    places: int
    broker: str | None  # None: the leader is not known
    topic: str | None
    partition: int | None
    rows: int
    confirmed: int
    done: int  # answered without an error
    failed: int  # answered with an error
    p50_us: float | None
    p99_us: float | None

    @property
    def unanswered(self) -> int:
        return self.rows - self.done - self.failed


def places_of(spark: SparkSession, counted: DataFrame, runs: Sequence[Mapping[str, Any]]) -> list[PlaceSummary]:
    """Return the places of all runs, brokers first, the worst first. `counted` is that of distributions.py, `runs` as
    in run.json."""
    leaders = spark.createDataFrame(list(_leaders(runs)), LEADERS_SCHEMA)
    rows = spark.sql(PLACES, counted=counted, leaders=leaders).collect()
    return [PlaceSummary(**{column.name: row[column.name] for column in fields(PlaceSummary)}) for row in rows]


def _leaders(runs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, int, str]]:
    for run in runs:
        for broker, topics in (run.get("leaders") or {}).items():
            for topic, partitions in topics.items():
                for partition in partitions:
                    yield run["scenario"]["name"], topic, partition, broker
