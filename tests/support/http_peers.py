"""The HTTP control without sockets: its clients are transports that do nothing by themselves, in any event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fakebroker import AsyncFakeCluster
from fakebroker.control.service import Service


class Client(asyncio.Transport):
    """A client that has sent `request`, and reads nothing beyond a buffer unless it `reads`."""

    def __init__(self, service: Service, request: bytes, *, reads: bool = True) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.received = b""
        self.is_cut = False
        self._reads = reads
        self._is_closing = False
        self._is_paused = False
        self._protocol = service.new_protocol()
        self._protocol.connection_made(self)
        if request:
            self._protocol.data_received(request)

    def write(self, data: Any) -> None:
        self.received += bytes(data)
        if not self._reads and not self._is_paused and len(self.received) > 65_536:
            self._is_paused = True
            self._protocol.pause_writing()

    def read_on(self) -> None:
        """Read all from now on."""
        self._reads = True
        if self._is_paused:
            self._is_paused = False
            self._protocol.resume_writing()
        if self._is_closing:
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            if self._reads:
                asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self._is_closing = self.is_cut = True
        asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    @property
    def answer(self) -> tuple[int, Any]:
        head, _, body = self.received.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)


def post(path: str, body: object) -> bytes:
    content = json.dumps(body).encode()
    return b"POST /v1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (
        path.encode(),
        len(content),
        content,
    )


def get(path: str) -> bytes:
    return b"GET /v1/%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode()


async def work() -> None:
    """Let all peers do what can be done now."""
    for _ in range(200):
        await asyncio.sleep(0)


@asynccontextmanager
async def a_service() -> AsyncIterator[Service]:
    """Run a service with a cluster of one broker and a manual clock."""
    async with AsyncFakeCluster(brokers=1, clock="manual") as kafka:
        service = Service(kafka, "127.0.0.1", None)
        service.listen()
        yield service
