"""Driver and executors as separate processes on a standalone cluster, with a Python that lacks our packages."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spark_standalone import AHEAD_S, Standalone, own_clock, python_without, standalone
from support.controlled import Controlled
from support.watchdog import join, wait_until

from benchmarks.verdict.folder import make_folder
from fakebroker_load.job import CHECKPOINTS

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "load"))), "COLUMNS": "200"}
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
WAIT_S = 120  # a machine that is busy with other tests

SCENARIO = """
name: small
brokers: 3
followers: [{topic: t, behaviour: frozen}]
groups:
  - {name: all, topic: t, acks: -1, expect: REQUEST_TIMED_OUT, waits: true, connections: 4, requests_per_connection: 3,
     partitions: 2, timeout_ms: [100, 300]}
"""

# One driver for all of them: what is long is the start of its JVM and of the executors.
DRIVER = """
import json, sys
from fakebroker_load import cli
from fakebroker_load.session import spark_session
master, settings, *commands = json.loads(sys.argv[1])
with spark_session(master, settings):
    for command in commands:
        sys.argv = ["fakebroker-load", *command]
        try:
            cli.main()
        except SystemExit as ended:
            print(json.dumps([ended.code]), flush=True)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("standalone")) as cluster_:
        yield cluster_


def drive(
    cluster: Standalone, commands: list[list[str]], python: Path | None = None, folder: Path | None = None
) -> tuple[list[Any], str, str]:
    """Run the commands in one driver, in the folder: return the status of each, and what was printed."""
    settings = {"spark.executor.extraJavaOptions": QUICK, "spark.executor.memory": "512m"}
    answer = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps([cluster.master, settings, *commands])],
        check=False,
        capture_output=True,
        text=True,
        timeout=5 * WAIT_S,
        cwd=folder,
        env=ENVIRONMENT | {"PYSPARK_PYTHON": str(python or cluster.python)},
    )
    ended = [json.loads(line)[0] for line in answer.stdout.splitlines() if line.startswith("[")]
    assert len(ended) == len(commands), answer.stdout + answer.stderr
    return ended, answer.stdout, answer.stderr


# Every day: the session of tests/load/conftest.py, and test_load_shipping.py for what executors are sent.
@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.slow
def test_a_run_and_a_farm_on_executors_that_have_nothing_of_ours(cluster: Standalone, tmp_path: Path) -> None:
    scenario, out, farm = tmp_path / "small.yaml", tmp_path / "out", tmp_path / "farm"
    scenario.write_text(SCENARIO)
    wait = ["--tasks", "2", "--wait-for-slots", str(WAIT_S)]
    with Controlled() as controlled:
        run = ["run", str(scenario), "--bootstrap-server", controlled.kafka.bootstrap_servers]
        run += ["--control", controlled.control.url, "--lateness-limit-ms", "600000"]
        commands = [
            [*run, "--out", "out", *wait],  # the driver's working directory is not the executors'
            ["simulate", "--seeds", "4", "--steps", "20", "--out", str(farm), *wait],
            [*run, "--out", str(tmp_path / "none"), "--tasks", "3", "--wait-for-slots", "1"],
        ]
        ended, said, complained = drive(cluster, commands, folder=tmp_path)
        assert ended == [0, 0, 3], said + complained
        assert controlled.http.get("/v1/topics").json()["topics"] == []
    verdict = json.loads((out / "verdict.json").read_text())
    assert [way["ways"] for way in verdict["ways"]] == [3]
    assert "Confirmed: 12 of 12 requests" in said

    (entry,) = json.loads((out / "run.json").read_text())
    assert entry["slots"] == 2
    clocks = entry["clocks"]
    offsets = sorted(task["offset_us"] for task in clocks["tasks"])
    assert len(offsets) == 2
    if own_clock():  # two clocks, though on one machine: the second's is ahead
        assert offsets[1] == 0
        assert offsets[0] == pytest.approx(-AHEAD_S * 1e6, abs=1e6)
        assert 0 < clocks["error_us"] < 1_000_000
    else:
        assert (offsets, clocks["error_us"]) == ([0, 0], 0)

    assert json.loads((farm / "farm.json").read_text())["ok"]
    assert "has given 2 slots within 1 s, and --tasks 3 need 3 slots at the same time" in complained
    assert not (tmp_path / "none").exists()


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif("FAKEBROKER_STANDALONE" not in os.environ, reason="FAKEBROKER_STANDALONE=1 has it; takes 10 s")
def test_what_executors_lack_is_named(cluster: Standalone, tmp_path: Path) -> None:
    python = python_without(tmp_path / "python", "kio", "crc32c")
    command = ["simulate", "--seeds", "4", "--wait-for-slots", str(WAIT_S), "--out", str(tmp_path / "farm")]
    ended, _, complained = drive(cluster, [command], python)
    assert ended == [3], complained
    assert "lacks crc32c, kio: pip install '.[load]' in the checkout of fakebroker brings it there" in complained
    assert complained.count("\n") == 1
    assert not (tmp_path / "farm").exists()


# Every day: the session of tests/load/conftest.py, and test_load_shipping.py for what executors are sent.
@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.slow
def test_an_executor_that_is_killed_in_the_middle(cluster: Standalone, tmp_path: Path) -> None:
    """The load is not repeated, which would send all records again, and half of it gets no verdict."""
    scenario, out = tmp_path / "long.yaml", tmp_path / "out"
    scenario.write_text(
        "name: long\ngroups: [{name: g, topic: t, acks: -1, expect: NONE, connections: 4, "
        "requests_per_connection: 600, pause_ms: 500}]\n"
    )
    with Controlled() as controlled:
        run = ["run", str(scenario), "--bootstrap-server", controlled.kafka.bootstrap_servers, "--out", str(out)]
        run += ["--control", controlled.control.url, "--tasks", "2", "--wait-for-slots", str(WAIT_S)]

        def kill() -> None:
            journal = controlled.kafka.journal
            wait_until(lambda: len(journal.requests(api="Produce")) >= 8, "the middle of the run", 2 * WAIT_S)
            os.kill(cluster.executors()[0], signal.SIGKILL)

        thread = threading.Thread(target=kill)
        thread.start()
        ended, said, complained = drive(cluster, [run])
        join(thread)
        sent = len(controlled.kafka.journal.requests(api="Produce"))
        assert controlled.http.get("/v1/topics").json()["topics"] == []
    assert ended == [3], said + complained
    assert "fakebroker-load: Spark broke off while sending the load: an executor was lost.\n" in complained
    assert sent < 4 * 600  # it has not gone on to its end
    assert not out.exists()


# Judges a folder, and waits each time that rows are kept of which more is asked: of the journal, and beside requests.
JUDGES = """
import json, sys
from pathlib import Path
from fakebroker_load.job import judge_folder
from fakebroker_load.judging import by_journal
from fakebroker_load.session import spark_session
master, settings, folder = json.loads(sys.argv[1])
held = by_journal.held
def held_and_told(frame):
    rows = held(frame)
    print("held", flush=True)
    sys.stdin.readline()
    return rows
by_journal.held = held_and_told
with spark_session(master, settings) as spark:
    _, verdict = judge_folder(spark, Path(folder))
    print(json.dumps([verdict.word, verdict.confirmed, [way.count for way in verdict.ways]]), flush=True)
"""


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.slow
def test_a_verdict_survives_the_loss_of_all_executors(cluster: Standalone, tmp_path: Path) -> None:
    make_folder(tmp_path, 1_000)
    settings = {"spark.executor.extraJavaOptions": QUICK, "spark.executor.memory": "512m"}
    arguments = json.dumps([cluster.master, settings, str(tmp_path)])
    with subprocess.Popen(
        [sys.executable, "-c", JUDGES, arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as driver:
        assert driver.stdin is not None
        assert driver.stdout is not None
        for _ in range(2):
            assert driver.stdout.readline() == "held\n"
            for executor in cluster.executors():
                os.kill(executor, signal.SIGKILL)
            driver.stdin.write("\n")
            driver.stdin.flush()
        said, _ = driver.communicate(timeout=5 * WAIT_S)
    assert json.loads(said) == ["Confirmed", 1_000, [3]]
    assert not (tmp_path / CHECKPOINTS).exists()
