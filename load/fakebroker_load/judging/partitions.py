"""How many partitions the tables of a verdict have, by the number of requests that were planned."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

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
