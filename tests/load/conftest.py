from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from fakebroker_load.session import start_spark, stop_spark

# Of a handful of rows Spark's time is that of making and compiling Java for each query: without it, a third.
FOR_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = start_spark("local[2]", "fakebroker-tests", FOR_FEW_ROWS)
    yield session
    stop_spark(session)
