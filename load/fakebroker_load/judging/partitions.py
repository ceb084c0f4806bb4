"""The number of partitions of a verdict's tables, by the number of requests, and the place where rows are kept."""

from __future__ import annotations

import atexit
import shutil
from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.spark.master import is_local

ROWS_OF_A_TASK = 500_000  # sorting them takes about 200 MB
# With so few requests, each table has one partition. Then Spark need not exchange rows between the steps of a query,
# which takes longer than the steps.
ROWS_OF_ONE_TASK = 5_000


def spread(spark: SparkSession, rows: int) -> None:
    """Let Spark sort in more partitions than usual if a verdict has many rows."""
    usual = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    spark.conf.set("spark.sql.shuffle.partitions", str(max(usual, rows // ROWS_OF_A_TASK)))


def gathered(frame: DataFrame, requests: int) -> DataFrame:
    """Return the rows of a run with this many requests: in one partition if they are few, and known."""
    return frame.coalesce(1) if 0 < requests <= ROWS_OF_ONE_TASK else frame


def keep_in(spark: SparkSession, folder: Path) -> None:
    """Keep rows that are `held` in this folder if executors can be lost. All executors share the folder. It is removed
    when Python ends."""
    if not is_local(spark.sparkContext.master or "local"):
        spark.sparkContext.setCheckpointDir(str(folder))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


def held(frame: DataFrame) -> DataFrame:
    """Return rows that several queries read. With a folder for them, they outlive their executor, but cost more time.
    On one machine an executor is not lost alone. They are on disk: the memory that they would take is that of sorts,
    and the JVM would move them with each collection."""
    if frame.sparkSession.sparkContext.getCheckpointDir():
        return frame.checkpoint()
    return frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
