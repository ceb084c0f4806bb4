"""The read-back of logs in Spark's tasks. Each takes ranges of offsets, so many tasks share a large partition.

Errors   WireError if a log cannot be read, SparkFailed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from fakebroker_load.log import LOG_SCHEMA, PART_SCHEMA, Row
from fakebroker_load.readback.parts import read_parts
from fakebroker_load.spark.failures import SparkFailed, cancelled_if_left, told
from fakebroker_load.wire.client import WireError

OFFSETS_AT_ONCE = 50_000  # in one range: a few seconds of work


def read_back(spark: SparkSession, parts: list[Row], records_to: Path, parts_to: Path) -> None:
    """Add all records of these partitions (rows of PART_SCHEMA) to `records_to`, and the partitions to `parts_to`."""
    frame, ranges = (
        spark.createDataFrame(pa.Table.from_pylist(rows, schema=PART_SCHEMA)) for rows in (parts, in_ranges(parts))
    )
    records = sum(part["readable_offset"] - part["start_offset"] for part in parts)
    # One task for each slot, and more for many records, so that all slots finish at about the same time.
    tasks = max(spark.sparkContext.defaultParallelism, records // OFFSETS_AT_ONCE)
    log_rows = ranges.repartition(tasks).mapInArrow(read_parts, from_arrow_schema(LOG_SCHEMA))
    try:
        with cancelled_if_left(spark), told("reading the log back"):
            log_rows.write.mode("append").parquet(str(records_to))
    except SparkFailed as error:
        said = [line for line in str(error.__cause__).splitlines() if "WireError: " in line]
        if not said:
            raise
        raise WireError(said[0].partition("WireError: ")[2]) from None
    # This step is last: the verdict uses the log only for partitions in this table.
    frame.write.mode("append").parquet(str(parts_to))


def in_ranges(parts: Iterable[Row], offsets: int = OFFSETS_AT_ONCE) -> list[Row]:
    """Return the partitions in ranges of at most `offsets`. A problem of the metadata stays with the first range."""
    return [
        part
        | {"start_offset": start, "readable_offset": min(start + offsets, part["readable_offset"])}
        | ({} if start == part["start_offset"] else {"metadata_problem": None})
        for part in parts
        for start in range(part["start_offset"], part["readable_offset"], offsets)
    ]
