"""Bytes at the control's port that are no HTTP go to the limited log (control/service.py)."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from fakebroker.control import service
from fakebroker.control.service import HttpServer


class Told:
    """A recorder of the calls of the limited log."""

    def __init__(self, log: logging.Logger, loop: asyncio.AbstractEventLoop) -> None:
        self.lines: list[tuple[str, str]] = []

    def warning(self, form: str, *values: object, about: str = "") -> None:
        self.lines.append((form % values, about))


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__({"peername": ("10.1.2.3", 4)})
        self.closed = False
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


async def no_app(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError("nothing of this is a request")


@pytest.mark.parametrize(
    ("first", "said", "about"),
    [
        (b"\0\0\0\x18\0\x12", "closed the connection from 10.1.2.3:4: it speaks Kafka's protocol", "it speaks Kafka"),
        (b"\x16\x03\x01\x02", "closed the connection from 10.1.2.3:4: it speaks TLS", "it speaks TLS"),
        (b"NONSENSE\r\n\r\n", "the HTTP control got bytes that are not HTTP, from 10.1.2.3:4", ""),
    ],
)
def test_each_is_one_line_of_the_limited_log_and_none_of_uvicorn(
    first: bytes, said: str, about: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(service, "LimitedLog", Told)

    async def connect() -> tuple[Any, Transport]:
        served, transport = HttpServer(no_app), Transport()
        connection: Any = served.new_protocol()
        connection.connection_made(transport)
        connection.data_received(first)
        return served._told, transport

    connection_log, transport = asyncio.run(connect())
    [(line, kind)] = connection_log.lines
    assert line.startswith(said)
    assert kind.startswith(about)
    assert transport.closed
    assert caplog.messages == []
