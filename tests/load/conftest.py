from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from fakebroker_load.session import start_spark, stop_spark


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = start_spark("local[2]", "fakebroker-tests")
    yield session
    stop_spark(session)
