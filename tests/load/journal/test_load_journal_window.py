"""The journal of the time between two marks, and the reasons why it may be missing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.ports import free_ports
from support.raw_client import RawClient
from support.requests import produce
from support.watchdog import LIMIT_S, wait_until

from fakebroker import FakeCluster
from fakebroker.core.journal import events
from fakebroker.core.journal.json_lines import to_json
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.server.writing import journal_file
from fakebroker_load.control import ControlCallError
from fakebroker_load.journal import window as windows
from fakebroker_load.journal.file_window import FileWindow, _if_here
from fakebroker_load.journal.slices import Slice, connections, cut
from fakebroker_load.journal.taps import Event, FileTap
from fakebroker_load.journal.window import JournalWindow

RECORDS = encode_batch([Record(b"k", b"v")], base_timestamp_ms=0)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[FakeCluster, Path]]:
    journal = tmp_path / "journal"
    with FakeCluster(brokers=1, journal=0, journal_file=journal) as kafka:
        kafka.create_topic("t", 1, 1)
        yield kafka, journal


Window = FileWindow | JournalWindow


def taken(tap: FileTap, broker: tuple[str, int], path: Path, seen_within_s: float = 10.0) -> Window:
    """Take the journal from the control."""
    return JournalWindow(tap, broker, "r", path, seen_within_s)


def in_pieces(tap: FileTap, broker: tuple[str, int], path: Path, seen_within_s: float = 10.0) -> Window:
    return FileWindow(tap, broker, "r", path, slice_bytes=300, seen_within_s=seen_within_s)


each_way = pytest.mark.parametrize("window_of", [taken, in_pieces])
WindowOf = Callable[..., Window]


def send(kafka: FakeCluster) -> None:
    with RawClient(kafka.endpoints[0]) as client:
        client.ask(produce("t", records=RECORDS, acks=1))


def place(kafka: FakeCluster) -> tuple[str, int]:
    return kafka.endpoints[0].host, kafka.endpoints[0].port


@each_way
def test_what_lies_between_the_marks(served: tuple[FakeCluster, Path], tmp_path: Path, window_of: WindowOf) -> None:
    kafka, journal = served
    path = tmp_path / "out" / "run.parquet"
    window = window_of(FileTap(journal), place(kafka), path)
    send(kafka)  # after the tap was made, and yet before the run
    with window.open():
        send(kafka)
    send(kafka)
    assert window.found.why_not is None
    rows = pq.read_table(path.parent).to_pylist()
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


@each_way
def test_a_journal_of_another_cluster(served: tuple[FakeCluster, Path], tmp_path: Path, window_of: WindowOf) -> None:
    kafka, _ = served
    other = tmp_path / "other"
    other.touch()
    path = tmp_path / "out" / "run.parquet"
    window = window_of(FileTap(other), place(kafka), path, seen_within_s=0.0)
    with window.open():
        send(kafka)
    assert window.found.why_not == f"the journal in {other} tells nothing of what this run sent"
    assert not path.parent.exists() or not list(path.parent.iterdir())


class Fails:
    name = "it"

    def waiting(self) -> int:
        return 0

    def take(self, pages: int | None = None) -> Iterator[Event]:
        raise ControlCallError("gone")


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


@each_way
def test_a_run_that_breaks_off_leaves_nothing(
    served: tuple[FakeCluster, Path], tmp_path: Path, window_of: WindowOf
) -> None:
    path = tmp_path / "run.parquet"
    window = window_of(FileTap(served[1]), place(served[0]), path)
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


@each_way
@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"nonsense", "a line of it is no event (JSON is malformed: invalid character (byte 4)): nonsense"),
        (b'{"event":"dropped","events":7}', "the broker left 7 events out of the file"),
        (
            to_json(events.Request(1, 2, 9, 1, 1, "Fetch", 9, 77, "me", 1, 100)).encode(),
            "it is not in order: at ",
        ),
    ],
)
def test_a_line_that_is_damaged_or_out_of_order(
    served: tuple[FakeCluster, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    window_of: WindowOf,
    line: bytes,
    why: str,
) -> None:
    kafka, journal = served
    path = tmp_path / "out" / "run.parquet"

    def with_another_line(event: events.Event) -> str:
        text = to_json(event)
        return text + "\n" + line.decode() if isinstance(event, events.Produce) else text

    monkeypatch.setattr(journal_file, "to_json", with_another_line)
    window = window_of(FileTap(journal), place(kafka), path)
    with window.open():
        send(kafka)
    assert window.found.why_not is not None
    assert window.found.why_not.startswith(why)
    assert not path.parent.exists() or not list(path.parent.iterdir())


def test_a_file_that_became_shorter(served: tuple[FakeCluster, Path], tmp_path: Path) -> None:
    kafka, journal = served
    send(kafka)
    wait_until(lambda: journal.stat().st_size, "the first lines of the journal")
    window = FileWindow(FileTap(journal), place(kafka), "r", tmp_path / "run.parquet", slice_bytes=300)
    with window.open():
        window._tap.path = tmp_path / "another"
        window._tap.path.touch()
    assert window.found.why_not == "the file became shorter during the run"


def test_an_executor_that_has_another_file_of_that_name_reads_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    line = b'{"event":"connection_closed","connection":1}\n'
    path.write_bytes(line * 3)
    [piece] = cut(path, 0, 3 * len(line), 1_000)
    assert len(_if_here(connections, (len(line) * 2, line), piece) or ()) == 3
    assert _if_here(connections, (len(line) * 2, line.replace(b"1", b"2")), piece) is None
    assert _if_here(connections, (len(line) * 2, line), Slice(str(tmp_path / "none"), 0, 0, 9)) is None
