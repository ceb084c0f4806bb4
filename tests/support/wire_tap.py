"""A record of all bytes at a broker's sockets, which no client can hide."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any, NamedTuple

import pytest

from fakebroker.network.connection import Connection
from fakebroker.protocol.framing import FrameDecoder
from fakebroker.protocol.headers import decode_request_header, peek_api
from fakebroker.protocol.messages import is_flexible
from fakebroker.server.driver import Driver
from support.messages import decode_request, decode_response

PRODUCE = 0


class Exchange(NamedTuple):
    """A Produce request and its response, one partition each. Times are monotonic milliseconds; an unwritten response
    is None."""

    client_id: str
    acks: int
    timeout_ms: int
    error: int | None
    base_offset: int | None
    waited_ms: float | None


class WireTap:
    """Patches the driver while a test runs; asks nothing of the broker but its bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._incoming: dict[Connection, list[tuple[float, bytes]]] = defaultdict(list)
        self._outgoing: dict[Connection, list[tuple[float, bytes]]] = defaultdict(list)
        self._freed: dict[Connection, list[tuple[float, bytes]]] = defaultdict(list)
        self._woken_ms = 0.0
        received, wake, write = Driver.received, Driver._wake, Driver._write

        def tapped_received(driver: Driver, connection: Connection, data: bytes) -> None:
            self._incoming[connection].append((time.monotonic() * 1000, bytes(data)))
            self._woken_ms = time.monotonic() * 1000
            received(driver, connection, data)

        def tapped_wake(driver: Driver) -> None:
            self._woken_ms = time.monotonic() * 1000
            wake(driver)

        def tapped_write(driver: Driver, connection: Connection, parts: list[bytes]) -> None:
            self._outgoing[connection] += [(time.monotonic() * 1000, part) for part in parts]
            # What lets the next request in happened before the answer is written, in this turn of the server.
            self._freed[connection] += [(self._woken_ms, part) for part in parts]
            write(driver, connection, parts)

        monkeypatch.setattr(Driver, "received", tapped_received)
        monkeypatch.setattr(Driver, "_wake", tapped_wake)
        monkeypatch.setattr(Driver, "_write", tapped_write)

    def produce(self) -> list[Exchange]:
        """Return all Produce requests of all connections, each with its response."""
        return [exchange for connection in list(self._incoming) for exchange in self._of(connection)]

    def _of(self, connection: Connection) -> list[Exchange]:
        answers = {
            int.from_bytes(frame[:4], "big"): (at_ms, frame) for at_ms, frame in _frames(self._outgoing[connection])
        }
        freed = {int.from_bytes(frame[:4], "big"): at_ms for at_ms, frame in _frames(self._freed[connection])}
        exchanges = []
        free_ms = 0.0  # a request is handled when the one before it is answered
        for at_ms, frame in _frames(self._incoming[connection]):
            api_key, version = peek_api(frame)
            header = decode_request_header(frame, is_flexible(api_key, version))
            answered_ms, answer = answers.get(header.correlation_id, (None, None))
            if api_key == PRODUCE:
                request: Any = decode_request(api_key, version, frame, header.body_offset)
                error, base_offset = _outcome(version, answer) if answer is not None else (None, None)
                waited_ms = None if answered_ms is None else answered_ms - max(at_ms, free_ms)
                timeout_ms = round(request.timeout.total_seconds() * 1000)
                exchanges.append(
                    Exchange(header.client_id or "", request.acks, timeout_ms, error, base_offset, waited_ms)
                )
            free_ms = freed.get(header.correlation_id, free_ms)
        return exchanges


def _frames(parts: list[tuple[float, bytes]]) -> list[tuple[float, bytes]]:
    decoder, frames = FrameDecoder(), []
    for at_ms, data in parts:
        decoder.feed(data)
        while (frame := decoder.next_frame()) is not None:
            frames.append((at_ms, frame))
    return frames


def _outcome(version: int, answer: bytes) -> tuple[int, int]:
    _, response = decode_response(PRODUCE, version, answer)
    partition = response.responses[0].partition_responses[0]
    return int(partition.error_code), partition.base_offset
