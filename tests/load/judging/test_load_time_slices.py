"""Windows over a partition's events, in slices of time: the values are those of one window over all its events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.judging import beside, by_journal, readers
from fakebroker_load.judging.time_slices import REQUESTS_OF_A_SLICE, in_slices, slices_of

EVENTS = "run string, topic string, partition int, seq long, number int, watermark long, epoch int"
# The frames that the verdict uses. Within rows of one `seq` the order is open, so `before` is not compared there.
WINDOWS = """
SELECT run, topic, partition, seq, number, last_value(watermark, true) OVER so_far AS watermark,
    max(epoch) OVER so_far AS epoch,
    if(count(*) OVER same > 1, NULL, struct(last_value(watermark, true) OVER before, max(epoch) OVER before)) AS earlier
FROM {events}
WINDOW so_far AS (PARTITION BY run, topic, partition, slice ORDER BY seq),
    before AS (PARTITION BY run, topic, partition, slice ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
    same AS (PARTITION BY run, topic, partition, slice, seq)
"""
Event = tuple[str, str | None, int | None, int, int, int | None, int | None]


def histories(seed: int, count: int) -> Iterator[Event]:
    """Runs with few events or none of a partition, far apart and close together. Some have no place. A second event of
    a partition at one `seq` has no values: an order between two values would be open."""
    draw, number = Random(seed), 0
    for run in range(count):
        seq, last = draw.choice((0, 1, 10**12)), draw.choice((1, 2, 1_000, 10**9))
        for _ in range(draw.randrange(14)):
            seq += draw.choice((0, 1, 1, draw.randint(1, last)))
            taken = set()
            for _ in range(draw.choice((1, 1, 1, 2, 3))):
                topic, partition = draw.choice((("t", 0), ("t", 0), ("t", 1), ("u", 0), (None, None)))
                is_first = (topic, partition) not in taken
                taken.add((topic, partition))
                watermark, epoch = (draw.choice((None, draw.randint(low, 50))) if topic else None for low in (-3, 0))
                yield f"r{run}", topic, partition, seq, number, watermark if is_first else None, epoch
                number += 1
            seq += 1


def found(spark: SparkSession, events: DataFrame, slices: int) -> set[Any]:
    sliced = in_slices(spark, events, slices, last=("watermark",), greatest=("epoch",))
    rows = spark.sql(WINDOWS, events=sliced).where("number IS NOT NULL").collect()
    return set(rows)


@pytest.mark.spark
def test_slices_give_the_values_of_one_window(spark: SparkSession) -> None:
    """Some runs have one slice with events, some have slices of one event."""
    drawn = list(histories(1, 150))
    events = spark.createDataFrame(drawn, EVENTS)
    whole = found(spark, events, 1)
    assert len(whole) == len(drawn)
    assert found(spark, events, 7) == whole


@pytest.mark.spark
def test_a_hot_partition_is_many_windows(spark: SparkSession) -> None:
    rows = [("r", "t", 0, 3 * at, at, None if at % 7 else at, 1) for at in range(1_000)]
    sliced = in_slices(spark, spark.createDataFrame(rows, EVENTS), 10, last=("watermark",), greatest=("epoch",))
    sizes = [row["count"] for row in sliced.groupBy("run", "topic", "partition", "slice").count().collect()]
    assert sorted(sizes) == [101] * 10  # a tenth, and the values from before


def test_few_requests_are_one_slice() -> None:
    assert [slices_of(requests) for requests in (0, 1, REQUESTS_OF_A_SLICE)] == [1, 1, 1]
    assert slices_of(10 * REQUESTS_OF_A_SLICE) == 10


@pytest.mark.parametrize("text", [by_journal.EXCHANGES, by_journal.JUDGED, beside.BESIDE, readers.WATERMARKS])
def test_no_window_has_all_events_of_a_partition(text: str) -> None:
    """A window that is ordered by the place in the journal is in a slice."""
    for window in re.findall(r"PARTITION BY ([^()]*(?:\([^()]*\))?[^()]*?)\s+ORDER BY seq", text):
        assert "slice" in window, window
