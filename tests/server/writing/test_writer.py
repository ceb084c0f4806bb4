"""Bytes for a slow reader: in order, bounded, and no caller waits."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.watchdog import LIMIT_S, wait_until

from fakebroker.server.writing.opening import open_to_write
from fakebroker.server.writing.writer import Writer

CAPACITY = 200_000
MEBIBYTE = b"x" * (1 << 20)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    wait_until(lambda: not any(thread.name == "test writer" for thread in threading.enumerate()), "the thread's end")


class Errors(list[int | None]):
    """The errors that a writer reported; `goes_on` is the response to each."""

    def __init__(self, goes_on: bool = False) -> None:
        super().__init__()
        self.goes_on = goes_on

    def __call__(self, error: OSError) -> bool:
        self.append(error.errno)
        return self.goes_on


def new_writer(open_it: Callable[[], int | None], capacity: int = CAPACITY, errors: Errors | None = None) -> Writer:
    return Writer(open_it, "test writer", capacity, Errors() if errors is None else errors)


@contextmanager
def pipe() -> Iterator[tuple[int, Writer]]:
    """Return the read end and the writer."""
    reading, writing = os.pipe()
    writer = new_writer(lambda: writing)
    try:
        yield reading, writer
    finally:
        writer.give_up()
        os.close(reading)


def read(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = os.read(descriptor, size - len(data))
        if not part:
            break
        data += part
    return data


def test_all_is_written_in_order(tmp_path: Path) -> None:
    path = tmp_path / "file"
    writer = new_writer(lambda: open_to_write(path))
    for number in range(1_000):
        assert writer.write(b"%d\n" % number)

    assert writer.end(LIMIT_S)
    assert path.read_bytes() == b"".join(b"%d\n" % number for number in range(1_000))
    assert writer.unwritten_bytes == 0


def test_what_does_not_fit_is_refused_and_what_was_taken_is_whole() -> None:
    with pipe() as (reading, writer):
        taken = 0
        while writer.write(b"%08d" % taken * 1_000):
            taken += 1
        assert writer.unwritten_bytes <= CAPACITY
        assert taken >= CAPACITY // 8_000

        data = read(reading, taken * 8_000)
        assert data == b"".join(b"%08d" % number * 1_000 for number in range(taken))
        wait_until(lambda: writer.unwritten_bytes == 0, "the end of writing")
        assert writer.write(b"more")
        assert read(reading, 4) == b"more"


def test_there_is_room_for_what_must_be_told() -> None:
    with pipe() as (_, writer):
        while writer.write(MEBIBYTE[:1_000]):
            pass
        assert not writer.write(b"x" * 1_001)
        assert writer.write(b"x" * 1_001, whatever=True)


def test_a_blocked_writer_thread_is_given_up() -> None:
    with pipe() as (_, writer):
        writer.write(MEBIBYTE[:CAPACITY])
        assert not writer.end(0.05)
        assert writer.wait(LIMIT_S)
        assert writer.unwritten_bytes > 0
        assert not writer.write(b"more")


def test_a_pipe_is_opened_when_its_reader_comes(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = new_writer(lambda: open_to_write(path))
    writer.write(b"before")
    reading = os.open(path, os.O_RDONLY)  # waits for the writer
    try:
        writer.write(b" and after")
        assert read(reading, 16) == b"before and after"
        assert writer.end(LIMIT_S)
        assert os.read(reading, 1) == b""
    finally:
        os.close(reading)


def test_a_pipe_whose_reader_never_comes_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = new_writer(lambda: open_to_write(path))
    writer.write(b"x")
    assert not writer.end(0.01)
    assert writer.wait(LIMIT_S)


def test_an_error_ends_it() -> None:
    errors = Errors()
    reading, writing = os.pipe()
    os.close(reading)
    writer = new_writer(lambda: writing, errors=errors)
    writer.write(b"x")

    assert writer.wait(LIMIT_S)
    assert errors == [32]
    assert not writer.write(b"y")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="nothing is full there")
def test_a_writer_continues_after_an_error_if_told_to() -> None:
    errors = Errors(goes_on=True)
    writer = new_writer(lambda: open_to_write("/dev/full"), errors=errors)
    for _ in range(3):
        assert writer.write(b"x")

    assert writer.end(LIMIT_S)
    assert errors == [28] * 3


def test_what_cannot_be_opened_is_told(tmp_path: Path) -> None:
    errors = Errors()
    writer = new_writer(lambda: open_to_write(tmp_path / "no" / "file"), errors=errors)

    assert writer.wait(LIMIT_S)
    assert errors == [2]


def test_a_writer_that_does_not_own_the_descriptor_leaves_it_open() -> None:
    reading, writing = os.pipe()
    writer = Writer(lambda: writing, "test writer", CAPACITY, Errors(), owns=False)
    writer.write(b"x")
    assert writer.descriptors() == []
    assert writer.end(LIMIT_S)
    os.write(writing, b"y")
    assert read(reading, 2) == b"xy"
    os.close(reading)
    os.close(writing)
