"""What peers cause stands in the log as one line, and not by the thousand."""

from __future__ import annotations

import asyncio
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.raw_client import RawClient
from support.requests import api_versions
from support.serving import wait_until

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
        told = LimitedLog(LOG, asyncio.get_running_loop())
        for number in range(300):
            told.info("closed %s: %d", "a\nb", number)
        told.warning("another %s", "kind")
        while len(caplog.messages) < 12:
            await asyncio.sleep(0.01)
        told.info("closed %s: %d", "again", 1)
        told.settle()
        told.settle()

    with caplog.at_level(logging.INFO, "fakebroker"):
        asyncio.run(asyncio.wait_for(work(), 20))
    assert caplog.messages == [
        *(rf"closed a\nb: {number}" for number in range(10)),
        "another kind",
        r"and 290 more like it in the last second, the last one: closed a\nb: 299",
        "closed again: 1",
    ]


def test_nothing_is_counted_where_nothing_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        told = LimitedLog(LOG, asyncio.get_running_loop())
        for _ in range(100):
            told.info("x")
        told.settle()

    with caplog.at_level(logging.WARNING, "fakebroker"):
        asyncio.run(work())
    assert caplog.messages == []


def test_the_library_limits_and_escapes_too(caplog: pytest.LogCaptureFixture) -> None:
    """A client id with a line break; a hundred connections that send what is no request."""
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
