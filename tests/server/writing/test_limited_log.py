"""Lines of the log that peers cause are limited: one line in place of thousands."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from typing import cast
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.raw_client import RawClient
from support.requests import api_versions
from support.watchdog import run, until, wait_until

from fakebroker import FakeCluster
from fakebroker.server.writing.limited_log import LimitedLog
from fakebroker.server.writing.log_text import MOST_CHARACTERS, printable

LOG = logging.getLogger("fakebroker")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("a plain topic-name_1.2", "a plain topic-name_1.2"),
        ("Größe 大", "Größe 大"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[2J\x00\x7f", r"\x1b[2J\x00\x7f"),
        ("\u202eevil \ud800", r"\u202eevil \ud800"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 200 + "..."),
        ("\n" * 150, r"\n" * 100 + "..."),
    ],
)
def test_a_text_as_it_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_any_text_is_one_short_printable_line(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown) <= MOST_CHARACTERS + 3


def test_some_are_shown_and_the_rest_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        log = LimitedLog(LOG, asyncio.get_running_loop())
        for number in range(300):
            log.info("closed %s: %d", "a\nb", number)
        log.warning("another %s", "kind")
        await until(lambda: len(caplog.messages) >= 12, "the count of those that were not shown")
        log.info("closed %s: %d", "again", 1)
        log.settle()
        log.settle()

    with caplog.at_level(logging.INFO, "fakebroker"):
        run(work())
    assert caplog.messages == [
        *(rf"closed a\nb: {number}" for number in range(10)),
        "another kind",
        r"and 290 more like it in the last second, the last one: closed a\nb: 299",
        "closed again: 1",
    ]


class Seconds:
    """A loop with seconds that the test sets."""

    def __init__(self) -> None:
        self._due: list[Callable[[], None]] = []

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> MagicMock:
        assert delay_s == 1
        self._due.append(callback)
        return MagicMock()

    def is_closed(self) -> bool:
        return False

    def go_by(self) -> None:
        due, self._due = self._due, []
        for callback in due:
            callback()

    @property
    def is_quiet(self) -> bool:
        return not self._due


def told(seconds: Seconds) -> LimitedLog:
    return LimitedLog(LOG, cast("asyncio.AbstractEventLoop", seconds))


def test_an_hour_of_it_is_some_hundred_lines(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "fakebroker")
    seconds = Seconds()
    log = told(seconds)
    for _ in range(3600):
        for _ in range(20):
            log.info("closed")
        seconds.go_by()
    log.settle()
    shown = caplog.messages.count("closed")
    counts = [re.fullmatch(r"and (\d+) more like it in the last (\w+).*", line) for line in caplog.messages]
    told_of = [(int(match[1]), match[2]) for match in counts if match is not None]
    assert told_of[:8] == [
        (10, "second"), (39, "2"), (79, "4"), (159, "8"), (319, "16"), (639, "32"), (1199, "60"), (1199, "60"),
    ]  # fmt: skip
    assert shown + sum(count for count, _ in told_of) == 20 * 3600  # none is lost
    assert len(caplog.messages) < 160


def test_it_begins_anew_when_it_was_quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "fakebroker")
    seconds = Seconds()
    log = told(seconds)
    for _ in range(20):
        log.info("closed")
    for _ in range(4):
        seconds.go_by()
    assert seconds.is_quiet
    caplog.clear()
    for _ in range(10):
        log.info("closed")
    assert caplog.messages == ["closed"] * 10


def test_what_it_is_about_is_counted_by_itself(caplog: pytest.LogCaptureFixture) -> None:
    """A flood for one reason hides no other reason; numbers in a reason make no new one."""
    caplog.set_level(logging.INFO, "fakebroker")
    log = told(Seconds())
    for number in range(100):
        log.info("closed: %s", f"no API {number}", about=f"no API {number}")
    log.info("closed: %s", "bad frame", about="bad frame")
    log.settle()
    assert len(caplog.messages) == 12
    assert "closed: bad frame" in caplog.messages


def test_strangers_cannot_make_many_kinds(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "fakebroker")
    log = told(Seconds())
    for number in range(5000):
        reason = "x" * number
        log.info("closed: %s", reason, about=reason)
    log.settle()
    assert len(caplog.messages) < 130


def test_nothing_is_counted_where_nothing_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        log = LimitedLog(LOG, asyncio.get_running_loop())
        for _ in range(100):
            log.info("x")
        log.settle()

    with caplog.at_level(logging.WARNING, "fakebroker"):
        asyncio.run(work())
    assert caplog.messages == []


def test_the_library_limits_and_escapes_too(caplog: pytest.LogCaptureFixture) -> None:
    """A client id has a line break; a hundred connections send bytes that are no request."""
    with caplog.at_level(logging.INFO, "fakebroker"), FakeCluster(brokers=1) as kafka:
        for _ in range(100):
            with RawClient(kafka.endpoints[0]) as client:
                client.send(b"\xff\xff\xff\xff")
                assert client.is_closed_by_broker()
        with RawClient(kafka.endpoints[0]) as client:
            client.ask(api_versions())
    closed = [message for message in caplog.messages if message.startswith("closed the connection from")]

    assert 10 <= len(closed) <= 40  # in as many seconds as that took
    wait_until(lambda: any("more like it in the last second" in message for message in caplog.messages), "the count")
