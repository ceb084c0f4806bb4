"""The journal of the time between two marks; and why there is none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.ports import free_ports
from support.raw_client import RawClient
from support.requests import produce
from support.watchdog import LIMIT_S

from fakebroker import FakeCluster
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker_load.control import ControlError
from fakebroker_load.journal import window as windows
from fakebroker_load.journal.taps import Event, FileTap
from fakebroker_load.journal.window import JournalWindow

RECORDS = encode_batch([Record(b"k", b"v")], base_timestamp_ms=0)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[FakeCluster, Path]]:
    journal = tmp_path / "journal"
    with FakeCluster(brokers=1, journal=0, journal_file=journal) as kafka:
        kafka.create_topic("t", 1, 1)
        yield kafka, journal


def send(kafka: FakeCluster) -> None:
    with RawClient(kafka.endpoints[0]) as client:
        client.ask(produce("t", records=RECORDS, acks=1))


def place(kafka: FakeCluster) -> tuple[str, int]:
    return kafka.endpoints[0].host, kafka.endpoints[0].port


def test_what_lies_between_the_marks(served: tuple[FakeCluster, Path], tmp_path: Path) -> None:
    kafka, journal = served
    path = tmp_path / "out" / "run.parquet"
    window = JournalWindow(FileTap(journal), place(kafka), "r", path)
    send(kafka)  # after the tap was made, and yet before the run
    with window.open():
        send(kafka)
    send(kafka)
    assert window.found.why_not is None
    rows = pq.read_table(path).to_pylist()
    assert len(rows) == window.found.rows
    assert {row["run"] for row in rows} == {"r"}
    assert [row["api"] for row in rows if row["event"] == "request"] == ["ApiVersions", "Produce", "ApiVersions"]
    assert [row["base_offset"] for row in rows if row["event"] == "append"] == [1]
    assert all(row["peer"] for row in rows if row["event"] == "request")
    assert len({row["seq"] for row in rows}) == len(rows)  # of each event one partition
    assert window.found.ahead_us is not None
    least_us, most_us = window.found.ahead_us
    # One machine, one clock.
    assert least_us <= 1_000
    assert most_us >= -1_000
    assert most_us - least_us < 1e6


def test_a_journal_of_another_cluster(served: tuple[FakeCluster, Path], tmp_path: Path) -> None:
    kafka, _ = served
    other = tmp_path / "other"
    other.touch()
    path = tmp_path / "run.parquet"
    window = JournalWindow(FileTap(other), place(kafka), "r", path, seen_within_s=0.0)
    with window.open():
        send(kafka)
    assert window.found.why_not == f"the journal in {other} tells nothing of what this run sent"
    assert not path.exists()


class Fails:
    name = "it"

    def waiting(self) -> int:
        return 0

    def take(self, pages: int | None = None) -> Iterator[Event]:
        raise ControlError("gone")


def test_a_journal_that_cannot_be_had_any_more(served: tuple[FakeCluster, Path], tmp_path: Path) -> None:
    window = JournalWindow(Fails(), place(served[0]), "r", tmp_path / "run.parquet")
    with window.open():
        pass
    assert window.found.why_not == "it fails: gone"


def test_a_broker_that_does_not_answer(tmp_path: Path) -> None:
    window = JournalWindow(Fails(), ("127.0.0.1", free_ports(1)), "r", tmp_path / "run.parquet")
    with window.open():
        pass
    assert "does not answer" in (window.found.why_not or "")


def test_a_run_that_breaks_off_leaves_nothing(served: tuple[FakeCluster, Path], tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    window = JournalWindow(FileTap(served[1]), place(served[0]), "r", path)
    with pytest.raises(ZeroDivisionError), window.open():
        raise ZeroDivisionError
    assert window.found.why_not == "the run did not get to its end"
    assert not path.exists()


@pytest.mark.parametrize("waiting", [windows.KEPT_FOR_LATER + 1, windows.HURRY + 1])
def test_a_full_tap_is_emptied_while_the_load_runs(
    served: tuple[FakeCluster, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waiting: int
) -> None:
    monkeypatch.setattr(windows, "LOOK_EVERY_S", 0.001)
    monkeypatch.setattr(windows, "ROWS_AT_ONCE", 1)
    kafka, journal = served
    tap = FileTap(journal)
    taken = threading.Event()

    class Full:
        name = "it"

        def waiting(self) -> int:
            return waiting

        def take(self, pages: int | None = None) -> Iterator[Event]:
            if pages is not None:
                assert pages == 1
                taken.set()
            return tap.take()

    window = JournalWindow(Full(), place(kafka), "r", tmp_path / "run.parquet")
    with window.open():
        assert taken.wait(LIMIT_S)
        send(kafka)
    assert window.found.why_not is None
    assert window.found.rows == pq.read_metadata(tmp_path / "run.parquet").num_rows > 0
