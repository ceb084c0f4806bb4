"""A partition's events in slices of time, so that a window over them is never one task with all of a hot partition.

Theory   Some windows ask for the last value before an event: the high watermark at a response, the log end at a move.
         Such a window has all events of a partition in the order of the journal. Here each run is cut into slices of
         equal length of `seq`, the place in the journal. Each slice of a partition gets one more row in front of its
         events, with the values before the slice. So a window over the slice gives what a window over the partition
         gives. The values before a slice are known in two steps: the last value of each slice, then the last value of
         the slices before it.
         A slice has as many events as its share of the journal, so its size varies as the length of a journal's lines.
Shape    `in_slices` adds the columns `slice` and those of `last` and `greatest`. Windows are over run, topic, partition
         and slice. An added row has null in all other columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

REQUESTS_OF_A_SLICE = 100_000  # of all partitions together; each has one to three events in these windows

CUT = """
SELECT /*+ BROADCAST(spans) */ events.*, (seq - first_seq) DIV width AS slice,
    first_seq + (seq - first_seq) DIV width * width - 1 AS before_seq
FROM {events} AS events JOIN (
    SELECT run, min(seq) AS first_seq, (max(seq) - min(seq)) DIV {slices} + 1 AS width FROM {events} GROUP BY run
) AS spans USING (run)
"""
# Events without a partition have no values from before.
CARRIED = """
SELECT run, topic, partition, slice, before_seq AS seq, {before}
FROM (
    SELECT run, topic, partition, slice, before_seq, {ends} FROM {cut} WHERE topic IS NOT NULL
    GROUP BY run, topic, partition, slice, before_seq
)
WINDOW earlier AS (PARTITION BY run, topic, partition ORDER BY slice ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
"""


def slices_of(requests: int) -> int:
    """Return the number of slices for a run with this many requests."""
    return max(1, requests // REQUESTS_OF_A_SLICE)


def in_slices(
    spark: SparkSession, events: DataFrame, slices: int, *, last: Sequence[str] = (), greatest: Sequence[str] = ()
) -> DataFrame:
    """Return the events in slices. The rows in front have the last value of the columns `last` before the slice, and
    the greatest of the columns `greatest`; nulls do not count."""
    if slices <= 1:
        return events.selectExpr("*", "0L AS slice")
    ends = [f"max_by({name}, seq) FILTER (WHERE {name} IS NOT NULL) AS {name}" for name in last]
    before = [f"last_value({name}, true) OVER earlier AS {name}" for name in last]
    cut = spark.sql(CUT.format(events="{events}", slices=slices), events=events)
    text = CARRIED.format(
        cut="{cut}",
        ends=", ".join([*ends, *(f"max({name}) AS {name}" for name in greatest)]),
        before=", ".join([*before, *(f"max({name}) OVER earlier AS {name}" for name in greatest)]),
    )
    return cut.drop("before_seq").unionByName(spark.sql(text, cut=cut), allowMissingColumns=True)
