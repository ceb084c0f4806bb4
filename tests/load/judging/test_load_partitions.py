"""Storage of the rows of a verdict: in a folder if executors can be lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from fakebroker_load.judging import partitions
from fakebroker_load.judging.partitions import held, keep_in


@pytest.mark.spark
def test_rows_lie_in_the_folder_where_executors_can_be_lost(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_in(spark, tmp_path)  # on one machine nothing is lost without all else
    assert spark.sparkContext.getCheckpointDir() is None
    monkeypatch.setattr(partitions, "is_local", lambda master: False)
    monkeypatch.setattr("atexit.register", lambda *call, **named: None)
    keep_in(spark, tmp_path)
    try:
        assert sorted(row["id"] for row in held(spark.range(3)).collect()) == [0, 1, 2]
        assert list(tmp_path.rglob("part-*"))
    finally:
        jvm: Any = spark.sparkContext._jvm
        getattr(spark.sparkContext._jsc.sc(), "checkpointDir_$eq")(jvm.scala.Option.empty())
