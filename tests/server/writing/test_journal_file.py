"""The journal in a pipe: events that its reader misses, and the report about them."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from support.cpu_time import ProcessTimes
from support.watchdog import until, within

from fakebroker.core.journal.broker_events import BrokerStopped
from fakebroker.core.journal.events import Dropped, Event, TopicDeleted
from fakebroker.core.journal.journal import from_lines
from fakebroker.server.writing.journal_file import JournalFile

CAPACITY = 300_000
NAME = "t" * 1_000  # an event is a kilobyte, so 64 go together


def event(number: int) -> Event:
    return TopicDeleted(number, number + 1, NAME)


def run(work: Callable[[asyncio.AbstractEventLoop], Awaitable[None]]) -> None:
    async def limited() -> None:
        await within(work(asyncio.get_running_loop()))

    asyncio.run(limited())


class Reader:
    """A reader that has opened a pipe, and reads on request."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.data = b""

    def read(self) -> int:
        """Read what is there and return its size; -1 at the end."""
        try:
            data = os.read(self._descriptor, 1 << 20)
        except BlockingIOError:
            return 0
        self.data += data
        return len(data) or -1

    def events(self) -> list[Event]:
        os.close(self._descriptor)
        return list(from_lines(self.data.decode().splitlines()))


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "journal"
    os.mkfifo(path)
    return path


def test_a_gap_stands_in_the_journal_and_in_the_log(pipe: Path, caplog: pytest.LogCaptureFixture) -> None:
    reader = Reader(pipe)

    async def work(loop: asyncio.AbstractEventLoop) -> None:
        file = JournalFile(pipe, loop, CAPACITY)
        for number in range(1_000):  # a megabyte
            file.write(event(number))
        while file._writer.unwritten_bytes > CAPACITY // 2:
            reader.read()
            await asyncio.sleep(0)
        for number in range(1_000, 1_100):
            file.write(event(number))
        closing = asyncio.ensure_future(file.close())
        while reader.read() != -1:
            await asyncio.sleep(0)
        await closing

    with caplog.at_level(logging.WARNING, "fakebroker"):
        run(work)
    events = reader.events()
    gaps = [event for event in events if isinstance(event, Dropped)]
    first = next(index for index, event in enumerate(events) if isinstance(event, Dropped))

    assert [gap.events for gap in gaps] == [1_101 - len(events)]
    assert events[:first] == [event(number) for number in range(first)]
    assert gaps[0][:2] == event(first)[:2]
    assert events[first + 1 :] == [event(first + gaps[0].events + after) for after in range(len(events) - first - 1)]
    assert [record.getMessage() for record in caplog.records] == [
        f"the reader of the journal {pipe} is too slow: events are dropped from now on",
        f"the journal {pipe} continues: {gaps[0].events} events are missing",
    ]


def test_a_gap_at_the_end_is_told_too(pipe: Path) -> None:
    reader = Reader(pipe)

    async def work(loop: asyncio.AbstractEventLoop) -> None:
        file = JournalFile(pipe, loop, CAPACITY)
        for number in range(1_000):
            file.write(event(number))
        closing = asyncio.ensure_future(file.close())
        while reader.read() != -1:
            await asyncio.sleep(0)
        await closing

    run(work)
    *events, gap = reader.events()

    assert isinstance(gap, Dropped)
    assert len(events) + gap.events == 1_000


def test_a_reader_that_never_comes_is_waited_for_a_second(pipe: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(loop: asyncio.AbstractEventLoop) -> None:
        file = JournalFile(pipe, loop)
        file.write(BrokerStopped(1, 2, 3))
        times, turns = ProcessTimes(), 0
        closing = asyncio.ensure_future(file.close())

        def is_closed() -> bool:
            nonlocal turns
            turns += 1
            return closing.done()

        await until(is_closed, "the end of the file")
        times.look()
        assert times.slept_s() < 2
        assert turns > 2  # the loop went on

    run(work)
    assert caplog.messages == [f"the journal {pipe} is incomplete: its reader did not take the last 62 bytes"]


def test_a_reader_that_goes_ends_the_journal(pipe: Path, caplog: pytest.LogCaptureFixture) -> None:
    reader = Reader(pipe)

    async def work(loop: asyncio.AbstractEventLoop) -> None:
        file = JournalFile(pipe, loop)
        reader.events()
        file.write(BrokerStopped(1, 2, 3))
        file._flush()
        await until(lambda: file._writer.has_ended, "the end of the writer")
        file.write(BrokerStopped(1, 2, 4))
        await file.close()
        file.close_at_once()

    run(work)
    assert caplog.messages == [f"the journal {pipe} ends here: Broken pipe"]


def test_a_file_is_whole_whatever_its_size(tmp_path: Path) -> None:
    path = tmp_path / "journal"

    async def work(loop: asyncio.AbstractEventLoop) -> None:
        file = JournalFile(path, loop)
        for number in range(20_000):  # 20 MB
            file.write(event(number))
        await file.close()

    run(work)
    assert path.read_text().count("\n") == 20_000
