"""Spark's connector for Kafka, from Maven Central, and spark-submit with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from conformance.targets.kafka_box import Unavailable, fetch_jars
from fakebroker_load.java import JavaNotFound, find_java, make_java_home

POM = Path(__file__).parents[1] / "spark" / "pom.xml"
# The connector and its helper, of the Spark that runs; and, where that is not on Maven Central yet, the newest there
# is of either. 4.2.0 works with Spark 4.3.0.
VERSIONS = ((pyspark.__version__, pyspark.__version__), ("4.2.0", "4.0.0"))
LIMIT_S = 400  # of two cores that all tests use; alone it takes 40 s
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def connector_jars() -> list[Path]:
    """Return the jars of the connector; the test is skipped, with the reason, if they cannot be fetched."""
    reasons = []
    for connector, helper in VERSIONS:
        versions = {"connector": connector, "token-provider": helper}
        try:
            folder = fetch_jars(POM, f"spark-kafka-{connector}-{helper}", "Spark's connector for Kafka", versions)
        except Unavailable as reason:
            reasons.append(str(reason))
        else:
            return sorted(folder.glob("*.jar"))
    pytest.skip("; ".join(reasons))


def spark_submit(program: Path, *arguments: str, folder: Path) -> str:
    """Return the output of an unmodified PySpark program."""
    jars = connector_jars()
    try:
        java = make_java_home(find_java(), folder / "java")
    except JavaNotFound as reason:
        pytest.skip(str(reason))
    settings = _SETTINGS | {
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    command = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[2]",
        "--jars", ",".join(map(str, jars)), *(f"--conf={name}={value}" for name, value in settings.items()),
        str(program), *arguments,
    ]  # fmt: skip
    environment = {name: value for name, value in os.environ.items() if name not in ("SPARK_HOME", "SPARK_CONF_DIR")}
    environment |= {"JAVA_HOME": str(java), "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=environment, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4_000:]
    return done.stdout
