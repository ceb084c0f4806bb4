"""Peers start, report their leaders, and are reported as missing if they cannot be started."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from benchmarks import produce, start
from benchmarks.drivers import driver as driving
from benchmarks.drivers.driver import Effort, drive
from benchmarks.drivers.frames import error_at
from benchmarks.machine import programs
from benchmarks.machine.programs import Missing, built
from benchmarks.peers import brokers
from benchmarks.peers.brokers import KAFKA, KFAKE, MOCK, OURS, Broker, Fleet, fleet, start_mock, start_ours
from benchmarks.reporting.report import missing
from benchmarks.reporting.rows import compare
from conformance.targets.kafka_box import Unavailable


@contextmanager
def running(broker: Broker) -> Iterator[Broker]:
    try:
        yield broker
    finally:
        broker.stop()


@pytest.mark.parametrize("starter", [start_ours, start_mock])
def test_a_broker_makes_topics_takes_records_and_tells_how_many(starter: type) -> None:
    with running(starter()) as broker:
        work = produce.Work("w", 100, topics=2)
        targets, names = produce.targets_on(broker, work, "w07")
        assert names == ["w07-000", "w07-001"]
        assert sum(len(target.frames) for target in targets) == 8, "a frame for each partition"
        answers = sum(
            drive([target], 1, Effort(0, 60_000, 20), error_at("w07-000"))["all_answers"] for target in targets
        )
        assert sum(broker.end_offset(name) for name in names) == answers
        assert broker.resident_bytes() > 1_000_000
        assert broker.cpu_s() > 0


def test_a_peer_that_cannot_be_had_is_missing_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_go(*arguments: object) -> Path:
        raise Missing("no `go` on this machine")

    def no_maven(*arguments: object, **_: object) -> None:
        raise Unavailable("`mvn` is not installed\nand more")

    monkeypatch.setattr(brokers, "kfake_program", no_go)
    monkeypatch.setattr(brokers, "KafkaBox", no_maven)
    stopped: list[str] = []

    def ours() -> Broker:
        return Broker(OURS, "1", ("127.0.0.1", 1), [], lambda: stopped.append(OURS))

    monkeypatch.setitem(brokers.STARTERS, OURS, ours)
    with fleet((KFAKE, KAFKA)) as started:
        assert list(started.renew()) == [OURS]
        assert list(started.renew()) == [OURS]
        assert stopped == [OURS], "a fresh process each time"
    assert stopped == [OURS, OURS]
    assert started.reasons == {KFAKE: "no `go` on this machine", KAFKA: "`mvn` is not installed"}
    assert started.versions == {OURS: "1"}
    row = compare("w", KFAKE, "requests/s", [1.0], [], note=missing(started.reasons, KFAKE))
    assert row.note == "missing: no `go` on this machine"


def test_kafka_is_started_once(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    def starter(name: str) -> Broker:
        started.append(name)
        return Broker(name, "1", ("127.0.0.1", 1), [], lambda: None)

    for name in (OURS, KAFKA):
        monkeypatch.setitem(brokers.STARTERS, name, partial(starter, name))
    peers = Fleet((KAFKA,))
    peers.renew()
    assert set(peers.renew()) == {OURS, KAFKA}
    assert sorted(started) == [KAFKA, OURS, OURS]
    peers.stop()


def test_a_program_is_built_once_for_each_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAKEBROKER_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "source"
    source.write_text("one")
    # "Building" is copying: the last argument is where to.
    first = built("thing", "cp", [source], [str(source)])
    assert first.read_text() == "one"
    first.write_text("kept")
    assert built("thing", "cp", [source], [str(source)]).read_text() == "kept"
    source.write_text("two")
    second = built("thing", "cp", [source], [str(source)])
    assert second.read_text() == "two"
    assert second != first


def test_a_program_that_cannot_be_built_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAKEBROKER_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "source"
    source.write_text("one")
    with pytest.raises(Missing, match="no `no-such-tool` on this machine"):
        built("thing", "no-such-tool", [source], [])
    with pytest.raises(Missing, match=r"could not build thing: .*source that is not there"):
        built("thing", "cp", [source], [str(tmp_path / "source that is not there")])
    assert not list((tmp_path / "cache" / "benchmarks").iterdir())


def test_without_a_compiler_the_driver_is_in_python_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    monkeypatch.setenv("CC", "a-compiler-that-is-not-there")
    monkeypatch.setenv("FAKEBROKER_CACHE", "/nonexistent")
    command, what = driving.command.__wrapped__()
    assert command == [sys.executable, str(programs.HERE / "drivers" / "python_driver.py")]
    assert what == "Python (no `a-compiler-that-is-not-there` on this machine): it may be the bottleneck"


def test_the_starts_of_the_available_peers_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_go() -> Path:
        raise Missing("no go")

    def no_box(*arguments: object) -> None:
        raise Unavailable("no java\nat all")

    monkeypatch.setattr(start, "kfake_program", no_go)
    monkeypatch.setattr(start, "KafkaBox", no_box)
    samples_, reasons = start.samples(1, lambda what: None)
    assert set(samples_) == {"ours", MOCK}
    assert all(len(taken) == 1 and taken[0].ms > 0 and taken[0].cpu_ms > 0 for taken in samples_.values())
    assert reasons == {KFAKE: "no go", KAFKA: "no java"}
    assert len(start.further_clusters(2)) == 2
