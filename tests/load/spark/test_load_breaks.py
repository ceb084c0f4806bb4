"""Runs that break in the middle: a sentence and status 3, no wrong verdict, and earlier results are kept."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession
from support import doses
from support.controlled import Controlled
from support.watchdog import LIMIT_S, join, wait_for, wait_until

from fakebroker_load.cli import main

# 200 s long, and so in its middle whatever is done to it.
SCENARIO = """
name: long
groups:
  - {name: all, topic: t, acks: -1, expect: NONE, connections: 4, requests_per_connection: 400, pause_ms: 500}
"""
SHORT = SCENARIO.replace("400", "8")  # for what shows at the end only


class Run:
    """A run with a control, over earlier results."""

    def __init__(self, folder: Path, servers: str, control: str) -> None:
        """`servers` are the brokers', `control` is the URL of their control."""
        self.out = folder / "out"
        (self.out / "requests.parquet").mkdir(parents=True)
        (self.out / "requests.parquet" / "old").touch()
        (self.out / "run.json").write_text("old")
        self.scenario = folder / "long.yaml"
        self.scenario.write_text(SCENARIO)
        self._words = ["run", str(self.scenario), "--bootstrap-server", servers, "--control", control]
        self._control = control
        whole = f"Nothing of this run is kept; earlier results in {self.out} are whole."
        self.taken_back = f"what it had set up is taken back. {whole}"

    def broken_by(self, breaks: Callable[[], None], *more: str) -> int:
        """Start the run, break it when requests have responses, and return the exit status."""
        ended = threading.Event()
        wrong: list[BaseException] = []

        def then() -> None:
            try:
                self.wait_for_answers(8)
                breaks()
                wait_for(ended, "the end of the run that is broken")
            except BaseException as error:
                wrong.append(error)
                os.kill(os.getpid(), signal.SIGTERM)  # which ends the run

        thread = threading.Thread(target=then)
        thread.start()
        try:
            return self.status(*more)
        finally:
            ended.set()
            join(thread)
            assert not wrong, wrong

    def status(self, *more: str) -> int:
        before = sys.argv
        sys.argv = ["fakebroker-load", *self._words, "--out", str(self.out), "--overwrite", *more]
        try:
            with pytest.raises(SystemExit) as ended:
                main()
        finally:
            sys.argv = before
        return int(ended.value.code or 0)

    def wait_for_answers(self, count: int) -> None:
        limit_ms = int(LIMIT_S * 1000)
        body = {"error": "NONE", "count": count, "timeout_ms": limit_ms, "timeout_wall_ms": limit_ms}
        with httpx.Client(trust_env=False, timeout=2 * LIMIT_S) as client:
            matches = client.post(f"{self._control}/v1/journal/expect", json=body).json()
        assert matches.get("matches"), matches

    def answered(self) -> int:
        ends = httpx.get(f"{self._control}/v1/journal?limit=1000", trust_env=False).json()["events"]
        return sum(event["event"] == "append" for event in ends)

    def check_old_is_whole(self) -> None:
        assert sorted(path.name for path in self.out.rglob("*")) == ["old", "requests.parquet", "run.json"]
        assert (self.out / "run.json").read_text() == "old"


@pytest.fixture
def controlled() -> Iterator[Controlled]:
    with Controlled() as cluster_:
        yield cluster_


@pytest.fixture
def run(controlled: Controlled, tmp_path: Path) -> Run:
    return Run(tmp_path, controlled.kafka.bootstrap_servers, controlled.control.url)


@pytest.fixture(autouse=True)
def session(spark: SparkSession) -> Iterator[None]:
    """A signal breaks off a call into the JVM and ends the JVM's thread with the active session. Set a new one."""
    yield
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    jvm.SparkSession.setActiveSession(spark._jsparkSession)


def check_taken_back(run: Run, controlled: Controlled) -> None:
    run.check_old_is_whole()
    assert controlled.http.get("/v1/topics").json()["topics"] == []


def python_workers(jvm: int) -> list[int]:
    """Return the Python processes that run tasks, which are grandchildren of Spark's JVM."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    below = {jvm}
    for _ in range(4):
        below |= {child for child, parent in parents.items() if parent in below}
    lines = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in below - {jvm} if Path(f"/proc/{pid}").exists()}
    daemons = {pid for pid, line in lines.items() if b"pyspark.daemon" in line and parents[pid] not in lines}
    return [pid for pid, line in lines.items() if b"pyspark.daemon" in line and pid not in daemons]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "sentence"),
    doses.nightly_after(
        1, [(signal.SIGTERM, "it was stopped by SIGTERM"), (signal.SIGINT, "it was stopped by SIGINT")]
    ),
)
def test_a_signal(
    run: Run,
    controlled: Controlled,
    number: signal.Signals,
    sentence: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run.broken_by(lambda: os.kill(os.getpid(), number)) == 3
    assert f"fakebroker-load: {sentence}; {run.taken_back}\n" in capfd.readouterr().err
    check_taken_back(run, controlled)


@pytest.mark.spark
def test_a_maximum_run_time(run: Run, controlled: Controlled, capfd: pytest.CaptureFixture[str]) -> None:
    assert run.status("--max-time", "4") == 3
    assert run.answered() < 4 * 400  # it has not gone on to its end
    assert f"fakebroker-load: --max-time 4 s is over; {run.taken_back}\n" in capfd.readouterr().err
    check_taken_back(run, controlled)


@pytest.mark.spark
@pytest.mark.slow
def test_a_worker_that_is_killed(run: Run, controlled: Controlled, capfd: pytest.CaptureFixture[str]) -> None:
    gateway = SparkContext._gateway
    assert gateway is not None

    def breaks() -> None:
        workers = python_workers(gateway.proc.pid)
        assert workers
        for worker in workers:  # Spark keeps those of earlier tasks for a minute: the first may have nothing to do
            os.kill(worker, signal.SIGKILL)

    assert run.broken_by(breaks) == 3
    said = capfd.readouterr().err
    assert "fakebroker-load: Spark broke off while sending the load: a Python process of Spark's ended" in said
    check_taken_back(run, controlled)


def limit_files(process: int, limits: tuple[int, int]) -> None:
    resource.prlimit(process, resource.RLIMIT_FSIZE, limits)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.nightly
def test_a_disk_that_is_full(
    spark: SparkSession, tmp_path: Path, run: Run, controlled: Controlled, capfd: pytest.CaptureFixture[str]
) -> None:
    """No file may exceed 100 bytes: Spark's writes fail like on a full disk."""
    # Compression unpacks its library when it is first used, which would fail then, and in this JVM for ever.
    spark.range(1).write.parquet(str(tmp_path / "before"))
    gateway = SparkContext._gateway
    assert gateway is not None
    run.scenario.write_text(SHORT)
    jvm = gateway.proc.pid
    before = resource.prlimit(jvm, resource.RLIMIT_FSIZE)
    try:
        assert run.broken_by(partial(limit_files, jvm, (100, before[1]))) == 3
    finally:
        limit_files(jvm, before)
    said = capfd.readouterr().err
    assert "fakebroker-load: Spark broke off while sending the load: there is no room left where Spark writes" in said
    check_taken_back(run, controlled)


@pytest.mark.spark
@pytest.mark.slow
def test_a_broker_that_is_killed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ready = tmp_path / "ready.json"
    words = ["serve", "--port", "0", "--control-port", "0", "--ready-file", str(ready)]
    with subprocess.Popen([sys.executable, "-m", "fakebroker", *words], stdout=subprocess.DEVNULL) as serving:
        try:
            wait_until(lambda: ready.exists() or serving.poll() is not None, "the ready file")
            assert serving.poll() is None
            document = json.loads(ready.read_text())
            run = Run(tmp_path, document["bootstrap_servers"], document["control_url"])
            assert run.broken_by(serving.kill) == 3
        finally:
            serving.kill()
    said = capfd.readouterr()
    assert "fakebroker-load: " in said.err
    assert "Confirmed" not in said.out
    run.check_old_is_whole()
