"""A missing Kafka is reported with its reason."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from conformance.__main__ import app
from conformance.targets import kafka_box
from conformance.targets.kafka_box import Unavailable, fetch_kafka, kafka_version


def test_the_version_is_a_stable_4() -> None:
    assert kafka_version().split(".")[0] == "4"


def test_without_java_or_maven_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Unavailable, match="`java` is not installed"):
        fetch_kafka()


def test_an_unreachable_repository_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for tool, script in {"java": "exit 0", "mvn": 'echo "[ERROR] Could not transfer artifact"; exit 1'}.items():
        (tmp_path / tool).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("FAKEBROKER_CACHE", str(tmp_path / "cache"))
    with pytest.raises(Unavailable, match=r"Maven could not fetch Apache Kafka 4.*: Could not transfer artifact"):
        fetch_kafka()
    assert not list((tmp_path / "cache" / "conformance").iterdir()), "a half-fetched folder stays"


def test_two_that_fetch_at_once_get_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "cache" / "conformance" / f"kafka-{kafka_version()}"
    another = f"mkdir -p {home}; touch {home}/theirs.jar"  # while this one fetches
    ours = "for each; do case $each in -DoutputDirectory=*) mkdir -p ${each#*=}; touch ${each#*=}/a.jar;; esac; done"
    for tool, script in {"java": "exit 0", "mvn": f"{another}; {ours}"}.items():
        (tmp_path / tool).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("FAKEBROKER_CACHE", str(tmp_path / "cache"))
    assert fetch_kafka() == home
    assert [jar.name for jar in home.iterdir()] == ["theirs.jar"]


def test_a_failed_start_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kafka_box, "fetch_kafka", lambda: tmp_path)
    (tmp_path / "java").write_text(
        '#!/bin/sh\ncase "$*" in *StorageTool*) exit 0;; esac\necho "no such class"; exit 1\n'
    )
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    box = kafka_box.KafkaBox(1, {})
    with pytest.raises(Unavailable, match=r"(?s)broker 1 of Kafka did not start.*no such class"):
        box.start()
    assert not list(scratch.iterdir())


@pytest.mark.skipif(not kafka_box.dying_with_us(), reason="on Linux only a process dies with its parent")
def test_brokers_outlive_the_thread_that_started_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Linux takes the thread for the parent."""
    monkeypatch.setattr(kafka_box, "fetch_kafka", lambda: tmp_path)
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    (tmp_path / "java").write_text(f"#!/bin/sh\ntrap 'exit 7' TERM\necho >{ready}\nwhile :; do sleep 0.05; done\n")
    (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    box = kafka_box.KafkaBox(1, {})

    def start() -> None:
        box.start_broker(1)
        ready.read_text()  # it has asked by now to die with this thread

    try:
        thread = Thread(target=start)
        thread.start()
        thread.join()
        while Path(f"/proc/self/task/{thread.native_id}").exists():
            os.sched_yield()
        assert box.stop_broker(1) == 7, "it was killed before it was asked to end"
    finally:
        box.stop()


def test_ci_says_that_it_was_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    result = CliRunner().invoke(app, ["run", "--if-reachable"])
    assert result.exit_code == 0
    assert "not run" in result.output
    assert "`java` is not installed" in " ".join(result.output.split())


def test_what_a_killed_harness_left_is_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    for name in (f"fakebroker-kafka-{ended.pid}-x", f"fakebroker-kafka-{os.getpid()}-x", "fakebroker-kafka-own"):
        (tmp_path / name).mkdir()

    kafka_box.remove_leftovers()

    assert {path.name for path in tmp_path.iterdir()} == {f"fakebroker-kafka-{os.getpid()}-x", "fakebroker-kafka-own"}
