"""Spark's settings where it has a handful of rows: its time is that of making and compiling Java for each query, and
without that it takes a third of it."""

from __future__ import annotations

FOR_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}
