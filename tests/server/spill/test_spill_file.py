"""The temporary file of old records: reads, freed space, and a full disk."""

from __future__ import annotations

import errno
import gc
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import Produced, batch, fetch, produce
from support.watchdog import LIMIT_S

from fakebroker import FakeCluster
from fakebroker.core.log.store import Extent, StoreFullError
from fakebroker.server.spill.file import SpillFile


@pytest.fixture
def store() -> Iterator[SpillFile]:
    made = SpillFile()
    yield made
    made.close()


def wait_until_written(store: SpillFile) -> None:
    with store._changed:
        assert store._changed.wait_for(lambda: not store.unwritten_bytes, timeout=LIMIT_S)


@given(st.lists(st.tuples(st.sampled_from(["put", "free", "read"]), st.integers(0, 99)), max_size=60), st.booleans())
def test_what_was_put_is_read_back(steps: list[tuple[str, int]], waits: bool) -> None:
    store = SpillFile()
    kept: list[tuple[Extent, bytes]] = []
    for number, (step, which) in enumerate(steps):
        if step == "put":
            data = b"%d:" % number * (which + 1)
            half = len(data) // 2
            kept.append((Extent(store, [data[:half], memoryview(data)[half:]], len(data)), data))
        elif kept and step == "free":
            del kept[which % len(kept)]
        elif kept:
            extent, data = kept[which % len(kept)]
            assert extent.read(which % len(data), 3) == data[which % len(data) :][:3]
        if waits:
            wait_until_written(store)
    for extent, data in kept:
        assert extent.read(0, len(data)) == data
    del steps, kept
    extent, data = None, b""  # type: ignore[assignment]
    gc.collect()
    assert store.size == 0
    store.close()


def test_nothing_is_made_before_it_is_needed(store: SpillFile) -> None:
    before = threading.active_count()
    assert (store._file, store.size, threading.active_count()) == (None, 0, before)


def test_the_file_is_nothing_when_all_is_gone(store: SpillFile) -> None:
    extents = [Extent(store, [bytes(100_000)] * 30, 3_000_000) for _ in range(5)]
    wait_until_written(store)
    assert store._file is not None
    length = os.fstat(store._file.fileno()).st_size
    assert length == 15_000_000
    cut = threading.Event()
    cut_to = store._cut

    def told(end: int) -> None:
        cut_to(end)
        if end == 0:
            cut.set()

    store._cut = told  # type: ignore[method-assign]
    extents.clear()
    assert cut.wait(LIMIT_S)
    assert os.fstat(store._file.fileno()).st_size == 0


def test_memory_waits_for_the_disk(store: SpillFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writing thread is slow: when `put` returns, the unwritten bytes are within their limit."""
    store.set_max_unwritten_bytes(10_000)
    kept = []
    for _ in range(100):
        kept.append(Extent(store, [bytes(3_000)], 3_000))
        assert store.unwritten_bytes <= 10_000
    assert store.size == 300_000


def test_a_full_disk_is_told_and_nothing_is_lost(store: SpillFile, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.pwritev
    full = True

    def pwritev(fileno: int, parts: Sequence[Any], at: int) -> int:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fileno, parts, at)

    monkeypatch.setattr(os, "pwritev", pwritev)
    first = Extent(store, [b"first"], 5)
    with store._changed:
        assert store._changed.wait_for(lambda: store._error is not None, timeout=LIMIT_S)
    for _ in range(3):
        with pytest.raises(StoreFullError, match="No space left"):
            Extent(store, [b"second"], 6)
    assert first.read(0, 5) == b"first"
    assert store.unwritten_bytes == 5
    full = False
    second = Extent(store, [b"second"], 6)
    wait_until_written(store)
    assert (first.read(0, 5), second.read(1, 3)) == (b"first", b"eco")


def test_without_a_folder_for_it_the_store_is_full(store: SpillFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(**_: object) -> None:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryFile", none)
    with pytest.raises(StoreFullError, match="No usable temporary directory"):
        store.put([b"x"], 1)


def test_a_disk_that_takes_little_at_a_time(store: SpillFile, monkeypatch: pytest.MonkeyPatch) -> None:
    write, read = os.pwritev, os.pread
    monkeypatch.setattr(os, "pwritev", lambda fileno, parts, at: write(fileno, [parts[0][:7]], at))
    monkeypatch.setattr(os, "pread", lambda fileno, size, at: read(fileno, min(size, 5), at))
    data = bytes(range(200))
    extent = Extent(store, [data[:3], data[3:90], data[90:]], 200)
    wait_until_written(store)
    assert extent.read(0, 200) == data


def test_a_broker_keeps_more_than_its_memory(caplog: pytest.LogCaptureFixture) -> None:
    """A broker keeps sixteen times its memory limit. All records are read back, and thread and file are gone at the
    end."""
    before = threading.active_count()
    with FakeCluster(brokers=1, config={"log.memory.bytes": 1_000_000}) as running:
        running.create_topic("t")
        with RawClient(running.endpoints[0]) as client:
            for number in range(160):
                assert Produced(client.ask(produce("t", records=batch(b"%0100000d" % number)))).partitions[0][0] == 0
            offset = 0
            while offset < 160:
                answer = decode_response(1, 11, client.ask(fetch("t", offset=offset)))[1]
                records = answer.responses[0].partitions[0].records
                assert b"%0100000d" % offset in records
                assert int.from_bytes(records[:8], "big") == offset
                offset += 10
    assert threading.active_count() == before
    (message,) = caplog.messages
    assert "log.memory.bytes=1000000" in message
    assert "an unnamed temporary file in" in message
