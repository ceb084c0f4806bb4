"""The main job, small: a real cluster in its own process, a real load on Spark, and the report."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.serving import fakebroker
from support.watchdog import LIMIT_S

from fakebroker_load.demo import run_demo
from fakebroker_load.demo_cluster import cluster_process

BEFORE = """
name: before
groups:
  - name: acks=all
    topic: orders
    partitions: 3
    acks: -1
    expect: NONE
    connections: 6
    requests_per_connection: 3
"""

AFTER = """
name: after
groups:
  - name: acks=all
    topic: orders
    partitions: 3
    acks: -1
    expect: REQUEST_TIMED_OUT
    waits: true
    connections: 12
    requests_per_connection: 4
    timeout_ms: [50, 150]
  - name: "acks=all, 3 in flight"
    topic: orders
    partitions: 3
    acks: -1
    expect: REQUEST_TIMED_OUT
    waits: true
    connections: 3
    requests_per_connection: 6
    pipelined: 3
    timeout_ms: [50, 100]
  - name: acks=0
    topic: orders
    partitions: 3
    acks: 0
    expect: no answer
    connections: 3
    requests_per_connection: 5
  - name: acks=1
    topic: orders
    partitions: 3
    acks: 1
    expect: NONE
    connections: 3
    requests_per_connection: 5
  - name: "acks=all, healthy"
    topic: payments
    partitions: 3
    acks: -1
    expect: NONE
    connections: 3
    requests_per_connection: 5
"""


def write(folder: Path, before: str, after: str) -> tuple[str, str]:
    (folder / "before.yaml").write_text(before)
    (folder / "after.yaml").write_text(after)
    return str(folder / "before.yaml"), str(folder / "after.yaml")


@pytest.mark.nightly  # CI runs the main job itself: `make demo`
@pytest.mark.spark
def test_every_request_gets_what_it_should(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    # A busy machine may be late, and this test is not about that; early is early on any machine.
    assert run_demo(out, scenarios=write(tmp_path, BEFORE, AFTER), lateness_limit_ms=600_000) == 0
    said = capfd.readouterr()
    assert "Confirmed: 129 of 129 requests got what they should, 0 answered early" in said.out
    assert said.err == ""
    verdict = json.loads((out / "verdict.json").read_text())
    assert [(group["run"], group["group"], group["answers"]) for group in verdict["groups"]] == [
        ("before", "acks=all", {"NONE": 18}),
        ("after", "acks=all", {"REQUEST_TIMED_OUT": 48}),
        ("after", "acks=all, 3 in flight", {"REQUEST_TIMED_OUT": 18}),
        ("after", "acks=0", {"silent": 15}),
        ("after", "acks=1", {"NONE": 15}),
        ("after", "acks=all, healthy", {"NONE": 15}),
    ]
    assert [(way["run"], way["ways"], way["why_no_journal"]) for way in verdict["ways"]] == [
        ("before", 3, None),
        ("after", 3, None),
    ]
    assert all(way["clock_us"][0] <= way["clock_us"][1] for way in verdict["ways"])  # both are this machine's
    assert verdict["finding"] == {"kind": "right", "headline": "Every request got what it should", "sentences": []}
    is_counted = Path("/proc/self/schedstat").exists()
    assert all((late_ms is not None) == is_counted for late_ms in verdict["machine_late_ms"].values())
    assert verdict["machine_late_ms"].keys() == {"before", "after"}
    assert "before: Three ways: what the client saw, the log, the broker's journal" in said.out
    report = (out / "report.html").read_text()
    assert "Every request got what it should" in report
    assert "after: Three ways" in report


# Every day: test_load_job.py has a run that does not go well.
@pytest.mark.nightly
@pytest.mark.spark
def test_a_wrong_expectation_ends_with_status_1(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # payments stays healthy, so this expectation is one that the broker must not meet.
    wrong = AFTER[: AFTER.index('  - name: "acks=all, 3 in flight"')].replace("orders", "payments")
    assert run_demo(tmp_path / "out", scenarios=write(tmp_path, BEFORE, wrong)) == 1
    assert "after: acks=all: wrong answer: 48" in capfd.readouterr().out


def test_a_scenario_that_is_not_there_ends_with_status_2(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_demo(tmp_path / "out", scenarios=("healthy", "nope")) == 2
    assert capfd.readouterr().err.startswith("fakebroker demo: There is no scenario 'nope'")


def test_the_command_finds_the_demo(tmp_path: Path) -> None:
    """The command starts: without a writable folder it ends before it starts anything."""
    out = tmp_path / "a file"
    out.touch()
    done = fakebroker("demo", "--out", str(out))
    assert done.stderr == f"fakebroker demo: {out} cannot be written: File exists.\n"
    assert done.returncode == 2


def test_the_cluster_has_its_own_process_and_ends_with_the_block() -> None:

    with cluster_process({"t": 1}) as cluster:
        cluster.freeze("t")
        cluster.resume("t")
        late_ms = cluster.machine_late_ms()
        assert late_ms is None or late_ms >= 0
        for place in cluster.bootstrap:
            socket.create_connection(place, timeout=LIMIT_S).close()
    for place in cluster.bootstrap:
        with pytest.raises(OSError):
            socket.create_connection(place, timeout=LIMIT_S).close()
