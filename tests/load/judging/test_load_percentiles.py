"""Percentiles of groups: exact at most EXACT_ROWS rows, from a sketch above that, within the bound that is stated."""

from __future__ import annotations

import math
from random import Random

import pytest
from pyspark.sql import SparkSession

from fakebroker_load.judging import percentiles
from fakebroker_load.judging.percentiles import EXACT_ROWS, SKETCH, percentiles_of, sketched

SHARES = (0.5, 0.99, 0.999, 1.0)
RANKS = 100  # instead of SKETCH: then a sketch of few values loses some, too


def test_the_threshold_is_the_number_of_rows_of_one_group() -> None:
    counts = {("r", "few"): EXACT_ROWS, ("r", "many"): EXACT_ROWS + 1, ("s", "few"): 0}
    assert sketched(counts) == {("r", "many")}
    assert EXACT_ROWS >= 3 * SKETCH  # otherwise a sketch may be below the exact percentile (percentiles.py)


def test_without_a_large_group_there_is_no_sketch() -> None:
    assert percentiles_of("us", (0.5, 1.0), ()) == "percentile(us, array(0.5, 1.0))"


@pytest.mark.spark
def test_a_sketch_is_never_below_the_percentile_and_within_its_bound(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values that come in order, at random, and with many ties; and exact ones of small groups beside them."""
    monkeypatch.setattr(percentiles, "SKETCH", RANKS)
    draw = Random(1)
    values = {
        "sorted": list(range(2_000)),
        "random": [draw.randrange(10**9) for _ in range(2_000)],
        "ties": [draw.randrange(4) ** 9 for _ in range(2_000)],
        "it's small": [draw.randrange(10**9) for _ in range(101)],
    }
    rows = [("r", group, value) for group, values_of in values.items() for value in values_of]
    frame = spark.createDataFrame([*rows, ("r", "sorted", None)], "run string, `group` string, us long").repartition(3)
    large = [("r", group) for group in values if group != "it's small"]
    text = f"SELECT `group`, {percentiles_of('us', SHARES, large)} AS us FROM {{frame}} GROUP BY run, `group`"
    quantiles = {row["group"]: row["us"] for row in spark.sql(text, frame=frame).collect()}
    ranked = sorted(values["it's small"])
    assert quantiles["it's small"] == [
        ranked[50],
        ranked[99],
        pytest.approx(ranked[99] * 0.1 + ranked[100] * 0.9),
        ranked[100],
    ]
    for _, group in large:
        ranked = sorted(values[group])
        for share, value in zip(SHARES, quantiles[group], strict=True):
            most = min(math.ceil((share + 3 / RANKS) * len(ranked)), len(ranked)) - 1
            assert ranked[math.ceil(share * (len(ranked) - 1))] <= value <= ranked[most], (group, share)
        assert quantiles[group][-1] == ranked[-1]
