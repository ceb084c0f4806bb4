"""How many partitions the tables of a verdict have, by the number of requests planned, and where rows are kept."""

from __future__ import annotations

import atexit
import shutil
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.spark.master import is_local

ROWS_OF_A_TASK = 500_000  # their sorting takes about 200 MB
# The tables of so few requests have one partition each. Then Spark need not exchange rows between the steps of a query,
# which takes longer than the steps.
ROWS_OF_ONE_TASK = 5_000


def spread(spark: SparkSession, rows: int) -> None:
    """Let Spark sort in more partitions than a laptop's usual load needs, if a verdict has many rows."""
    usual = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    spark.conf.set("spark.sql.shuffle.partitions", str(max(usual, rows // ROWS_OF_A_TASK)))


def gathered(frame: DataFrame, requests: int) -> DataFrame:
    """Return the rows of a run of so many requests: in one partition if these are few, and known."""
    return frame.coalesce(1) if 0 < requests <= ROWS_OF_ONE_TASK else frame


def keep_in(spark: SparkSession, folder: Path) -> None:
    """Let rows that are `held` lie in this folder if executors can be lost: it is one that all of them have. It goes
    when Python ends."""
    if not is_local(spark.sparkContext.master or "local"):
        spark.sparkContext.setCheckpointDir(str(folder))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


def held(frame: DataFrame) -> DataFrame:
    """Rows that are asked several times. Where there is a folder for them they outlive the executor that made them;
    they cost more time there: on one machine an executor is not lost without all else."""
    return frame.checkpoint() if frame.sparkSession.sparkContext.getCheckpointDir() else frame.localCheckpoint()
