from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from support.few_rows import FOR_FEW_ROWS

from fakebroker_load.session import start_spark, stop_spark


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = start_spark("local[2]", "fakebroker-tests", FOR_FEW_ROWS)
    yield session
    stop_spark(session)
