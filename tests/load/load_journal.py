"""Rows of a journal that tests write by hand, as Spark reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from fakebroker_load.journal.lines import COLUMNS, JOURNAL_SCHEMA


def journal_frame(spark: SparkSession, rows: Sequence[dict[str, Any]]) -> DataFrame:
    """Return the rows without columns that are empty for a real journal. Raises AssertionError otherwise."""
    for row in rows:
        unknown = {name for name, value in row.items() if value is not None} - {"run", "event", *COLUMNS[row["event"]]}
        assert not unknown, f"nothing fills these columns of a {row['event']}: {', '.join(sorted(unknown))}"
    return spark.createDataFrame(pa.Table.from_pylist(list(rows), schema=JOURNAL_SCHEMA))
