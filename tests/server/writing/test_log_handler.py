"""The log of `serve`: in order, bounded, also on a stderr that is not read."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from select import select

import pytest
from support.cpu_time import ProcessTimes
from support.watchdog import wait_until

from fakebroker.server.writing.log_handler import LogHandler, logging_to_stderr

CAPACITY = 100_000


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    log = logging.Logger("test", logging.INFO)
    yield log
    for handler in log.handlers:
        handler.close()


def test_lines_have_time_and_level(log: logging.Logger, tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file:
        log.addHandler(LogHandler(file.fileno()))
        log.info("one %s", "thing")
        log.warning("zwei Dinge: \u00e4 \udcff")
        log.handlers[0].close()
    lines = (tmp_path / "log").read_text().splitlines()

    assert [re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ", "", line) for line in lines] == [
        "INFO one thing",
        r"WARNING zwei Dinge: ä \udcff",
    ]


def test_a_line_that_cannot_be_shown_is_told(log: logging.Logger, tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file:
        log.addHandler(LogHandler(file.fileno()))
        log.info("%d", "thing")
        log.handlers[0].close()

    assert "a line of the log cannot be shown: '%d': TypeError" in (tmp_path / "log").read_text()


def test_what_does_not_fit_is_dropped_and_counted(log: logging.Logger) -> None:
    reading, writing = os.pipe()
    handler = LogHandler(writing, CAPACITY)
    log.addHandler(handler)
    times = ProcessTimes()
    for number in range(5_000):
        log.info("line %d %s", number, "x" * 100)
    times.look()
    assert times.slept_s() < 5
    data = b""
    while handler._writer.unwritten_bytes:
        if select([reading], [], [], 0.01)[0]:  # or the last of it was written meanwhile, and is read
            data += os.read(reading, 1 << 16)
    log.info("the next")
    handler.close()
    os.close(writing)
    while part := os.read(reading, 1 << 16):
        data += part
    os.close(reading)
    lines = data.decode().splitlines()

    dropped = 0  # or counted
    for line in lines[:-1]:
        words = line.split()[2:]
        if words[0] == "WARNING":
            assert words[2:] == ["lines", "were", "dropped", "here:", "stderr", "was", "not", "read"]
            dropped += int(words[1])
        else:
            assert words[:3] == ["INFO", "line", str(dropped)]
            dropped += 1
    assert dropped == 5_000
    assert 500 < sum(" INFO line " in line for line in lines) < 5_000
    assert lines[-1].endswith(" INFO the next")


def test_it_ends_although_its_output_is_not_read(log: logging.Logger) -> None:
    reading, writing = os.pipe()
    handler = LogHandler(writing, CAPACITY)
    log.addHandler(handler)
    for _ in range(5_000):
        log.info("x" * 100)
    times = ProcessTimes()
    handler.close()
    times.look()
    assert times.slept_s() < 2
    os.close(reading)
    wait_until(lambda: handler._writer.has_ended, "the thread's end")
    os.close(writing)


def test_the_block_leaves_the_log_as_it_was() -> None:
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    with logging_to_stderr():
        assert root.level == logging.INFO
        assert len(root.handlers) == len(before[1]) + 1
    assert (root.level, root.handlers) == before


def test_a_stderr_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    with logging_to_stderr():
        logging.getLogger("fakebroker").info("nowhere")
