"""`kafka.journal`, from other threads and after the end; and the journal on disk."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cpu_time import ProcessTimes
from support.raw_client import RawClient
from support.requests import metadata, produce
from support.watchdog import join, wait_until

from fakebroker import AsyncFakeCluster, FakeCluster
from fakebroker.core.journal.events import Append, ConnectionClosed, Request, TopicCreated
from fakebroker.core.journal.journal import from_lines


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.create_topic("t")
        yield cluster


def ask(kafka: FakeCluster, frame: bytes) -> None:
    with RawClient(kafka.endpoints[0]) as client:
        client.ask(frame)


def test_a_cluster_keeps_a_journal_unasked(kafka: FakeCluster) -> None:
    ask(kafka, produce("t"))

    (entry,) = kafka.journal.produce(topic="t").expect(error="NONE", count=1)
    assert (entry.base_offset, entry.records) == (0, 1)
    assert [request.api for request in kafka.journal.requests()] == ["Produce"]
    assert len(kafka.journal) == len(list(kafka.journal)) > 3
    assert kafka.journal.dropped == 0


def test_requests_are_chosen_by_api_and_client(kafka: FakeCluster) -> None:
    ask(kafka, produce("t", client_id="me"))
    ask(kafka, produce("t", client_id="you"))
    ask(kafka, metadata([]))

    assert [request.api for request in kafka.journal.requests()] == ["Produce", "Produce", "Metadata"]
    assert [request.client_id for request in kafka.journal.requests(api="Produce")] == ["me", "you"]
    assert [request.api for request in kafka.journal.requests(client_id="you")] == ["Produce"]
    assert len(kafka.journal.requests(api="produce")) == 2
    with pytest.raises(ValueError, match=r"^there is no API 'Prodce': did you mean 'Produce'\?$"):
        kafka.journal.requests(api="Prodce")


def test_it_can_be_cleared(kafka: FakeCluster) -> None:
    ask(kafka, produce("t"))
    kafka.journal.clear()
    ask(kafka, produce("t"))

    assert [entry.base_offset for entry in kafka.journal.produce()] == [1]


def test_it_is_there_before_the_start_and_after_the_end() -> None:
    cluster = FakeCluster()
    assert list(cluster.journal) == []
    with cluster:
        cluster.create_topic("t")
        ask(cluster, produce("t"))

    cluster.journal.produce(topic="t").expect("NONE", count=1)
    assert isinstance(list(cluster.journal)[-1], ConnectionClosed)
    cluster.journal.clear()
    assert len(cluster.journal) == 0


def test_it_starts_empty_with_the_cluster() -> None:
    cluster = FakeCluster()
    for _ in range(2):
        with cluster:
            assert list(cluster.journal) == []
            cluster.create_topic("t")
            assert isinstance(next(iter(cluster.journal)), TopicCreated)


def test_it_keeps_as_many_events_as_it_was_told() -> None:
    with FakeCluster(journal=10) as cluster:
        cluster.create_topic("t")
        for _ in range(10):
            ask(cluster, produce("t"))

        assert len(cluster.journal) <= 10
        assert cluster.journal.dropped > 0


def test_a_cluster_without_a_journal_says_so() -> None:
    with FakeCluster(journal=0) as cluster:
        for use in (cluster.journal.produce, lambda: len(cluster.journal), lambda: list(cluster.journal)):
            with pytest.raises(RuntimeError, match=r"^the cluster keeps no journal: it was made with journal=0$"):
                use()


def test_threads_may_ask_while_clients_are_at_work(kafka: FakeCluster) -> None:
    done = threading.Event()
    seen: list[int] = []

    def look() -> None:
        while not done.is_set():
            seen.append(len(kafka.journal.produce()))

    threads = [threading.Thread(target=look, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    with RawClient(kafka.endpoints[0]) as client:
        for _ in range(200):
            client.ask(produce("t", acks=1))
    done.set()
    for thread in threads:
        join(thread)

    assert len(kafka.journal.produce().expect("NONE", count=200)) == 200
    assert max(seen) > 0


def test_a_look_that_meets_the_end_is_answered() -> None:
    for _ in range(10):
        cluster = FakeCluster(brokers=1)
        lengths: list[int] = []
        done = threading.Event()

        def look(cluster: FakeCluster = cluster, lengths: list[int] = lengths, done: threading.Event = done) -> None:
            while not done.is_set():
                lengths.append(len(cluster.journal))

        with cluster, RawClient(cluster.endpoints[0]) as client:
            thread = threading.Thread(target=look, daemon=True)
            thread.start()
            client.ask(metadata([]))
        done.set()
        join(thread)
        assert not thread.is_alive()
        assert lengths == sorted(lengths)


def test_lines_are_the_events_as_json(kafka: FakeCluster) -> None:
    ask(kafka, produce("t"))
    kafka.stop()

    assert list(from_lines(kafka.journal.lines())) == list(kafka.journal)


def test_what_is_written_is_what_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with FakeCluster(journal_file=path) as cluster:
        cluster.create_topic("t")
        ask(cluster, produce("t"))
    with path.open() as lines:
        assert list(from_lines(lines)) == list(cluster.journal)


def test_what_is_written_is_not_what_fits(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with FakeCluster(journal=0, journal_file=path) as cluster:
        cluster.create_topic("t")
        for _ in range(20):
            ask(cluster, produce("t"))
    with path.open() as lines:
        events = list(from_lines(lines))

    assert sum(isinstance(event, Append) for event in events) == 20


def test_it_is_on_disk_soon(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with FakeCluster(journal_file=path) as cluster:
        cluster.create_topic("t")
        wait_until(lambda: path.read_text().count("\n") >= 2, "lines on the disk")


def test_a_journal_that_cannot_be_written_is_told_at_the_start(tmp_path: Path) -> None:
    cluster = FakeCluster(journal_file=tmp_path / "none" / "journal")
    with pytest.raises(FileNotFoundError):
        cluster.start()
    (tmp_path / "none").mkdir()
    with cluster:  # and it can be started then
        pass


def test_the_file_is_closed_if_the_cluster_cannot_listen(tmp_path: Path) -> None:
    """An open file would raise a ResourceWarning, which is an error."""
    with FakeCluster(brokers=1) as first:
        port = first.endpoints[0].port
        second = FakeCluster(brokers=1, port=port, journal_file=tmp_path / "journal")
        with pytest.raises(OSError, match="in use"):
            second.start()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="nothing is full there")
def test_a_full_disk_ends_the_journal_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "fakebroker"), FakeCluster(journal_file="/dev/full") as cluster:
        cluster.create_topic("t")
        wait_until(lambda: bool(caplog.records), "the end of the journal")
        ask(cluster, produce("t"))
        assert len(cluster.journal.produce()) == 1

    assert [record.getMessage() for record in caplog.records] == [
        "the journal /dev/full ends here: No space left on device"
    ]


def test_a_pipe_without_a_reader_delays_neither_start_nor_stop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "journal"
    os.mkfifo(path)
    with caplog.at_level(logging.ERROR, "fakebroker"):
        for _ in range(2):
            times = ProcessTimes()
            with FakeCluster(journal_file=path) as cluster:
                ask(cluster, metadata([]))
            times.look()
            assert times.slept_s() < 2

    assert len(caplog.records) == 2
    assert "is incomplete: its reader did not take the last " in caplog.text
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("fakebroker")] == []


def test_a_socket_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        with pytest.raises(OSError, match="No such device or address"):
            FakeCluster(journal_file=path).start()


def test_an_async_cluster_has_one_too() -> None:
    async def work() -> None:
        async with AsyncFakeCluster() as kafka:
            kafka.create_topic("t")
            await asyncio.to_thread(lambda: RawClient(kafka.endpoints[0]).__exit__(None, None, None))
            kafka.journal.clear()
            assert list(kafka.journal) == [] or not any(isinstance(event, Request) for event in kafka.journal)

    asyncio.run(work())
