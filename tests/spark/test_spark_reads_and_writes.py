"""An unmodified PySpark program with Spark's connector for Kafka, against `fakebroker serve`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.serving import Serving
from support.spark_kafka import connector_jars, spark_submit

# A JVM of its own. Every day: Spark's session in tests/load, and the clients of tests/clients.
pytestmark = [pytest.mark.spark, pytest.mark.nightly]

ROOT = Path(__file__).resolve().parents[2]
TOPICS = ("batch:3:3", "headers", "files:3:3", "crash:3:3", "in:3:3", "out:3:3", "counts:1:3")


@pytest.fixture(scope="module")
def jars() -> list[Path]:
    """Asked for first, so that nothing is started in vain."""
    return connector_jars()


@pytest.fixture(scope="module")
def told(jars: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the program's report, by job. It runs once: starting Spark takes most of the time."""
    folder = tmp_path_factory.mktemp("spark")
    topics = [f"--topic={topic}" for topic in TOPICS]
    with Serving("--port", "0", "--no-auto-create-topics", *topics) as serving:
        said = spark_submit(
            ROOT / "tests" / "spark" / "program.py", serving.facts["bootstrap_servers"], str(folder), folder=folder
        )
    reports = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    return {report.pop("job"): report for report in reports}


ALL = [[partition, 100, 0, 99] for partition in range(3)]  # partition, records, first offset, last offset


def test_a_batch_is_written_and_read(told: dict[str, dict[str, Any]]) -> None:
    assert told["batch"] == {"places": ALL, "values": 300}
    assert told["since"]["places"] == ALL  # by timestamps
    assert told["pattern"]["places"] == ALL
    assert told["assigned"]["places"] == [[1, 100, 0, 99]]
    assert told["several"] == {"slices": 9, "records": 300}  # partitions of Spark that share one of Kafka


def test_starting_and_ending_offsets(told: dict[str, dict[str, Any]]) -> None:
    assert told["part"]["places"] == [[0, 10, 10, 19], [1, 5, 0, 4], [2, 100, 0, 99]]


def test_headers_and_a_codec(told: dict[str, dict[str, Any]]) -> None:
    assert told["headers"] == {"headers": [["h", "1"]], "value": "v"}


def test_a_topic_that_is_not_there_is_said(told: dict[str, dict[str, Any]]) -> None:
    assert told["missing"] == {"said": True}


def test_a_stream_goes_on_from_its_checkpoint(told: dict[str, dict[str, Any]]) -> None:
    """Several batches, none when there is nothing new, and then only what is new; in the table each record once."""
    assert told["files"] == {"batches": [True, 0, True], "rows": 200, "values": 200}


def test_a_batch_that_comes_again_is_the_same_batch(told: dict[str, dict[str, Any]]) -> None:
    """The program died between table and checkpoint: the batch came twice, of the same records; each is there once."""
    crash = told["crash"]
    assert crash["died"]
    assert crash["twice"] == [60, 60]
    assert (crash["rows"], crash["values"]) == (180, 180)


def test_a_stream_writes_to_a_topic(told: dict[str, dict[str, Any]]) -> None:
    assert told["through"] == {"records": 90, "values": 90, "upper": True}


def test_a_stream_keeps_counts_over_a_restart(told: dict[str, dict[str, Any]]) -> None:
    assert told["counts"] == {"total": 120, "keys": 7}


def test_the_example(jars: list[Path], tmp_path: Path) -> None:
    with Serving("--port", "0", "--topic", "orders:2", "--topic", "totals") as serving:
        said = spark_submit(
            ROOT / "examples" / "spark_streaming.py", serving.facts["bootstrap_servers"], folder=tmp_path
        )
    assert said.splitlines() == [
        "rows in the table: 100",
        "rows in the table: 150 of them different: 150",
        f"customer-0 {sum(range(0, 150, 3))}",
        f"customer-1 {sum(range(1, 150, 3))}",
        f"customer-2 {sum(range(2, 150, 3))}",
    ]
