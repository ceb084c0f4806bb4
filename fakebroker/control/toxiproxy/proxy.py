"""A proxy: a port that forwards to an address, with toxics on the way.

Source   toxiproxy 2.x proxy.go, proxy_collection.go.
"""

from __future__ import annotations

import asyncio
import re
from random import Random
from typing import Any

from fakebroker.control.toxiproxy.link import Link, reset
from fakebroker.control.toxiproxy.toxics import DOWNSTREAM, UPSTREAM, ApiError, Toxic
from fakebroker.server.running.one_port import Port, bound_host

_CONNECT_S = 10.0
_PORT = re.compile("[0-9]{1,5}")
_ADDRESS = 260  # characters; a name has 253 at most


class Proxy:
    """A proxy. `listen` and `upstream` are "host:port"; port 0 takes a free one, which `listen` then names. Once it has
    listened, the port is kept while it is stopped, until `close` or another `listen`."""

    def __init__(self, name: str, listen: str, upstream: str, random: Random) -> None:
        self.name = name
        self.listen = listen
        self.upstream = upstream
        self.toxics: list[Toxic] = []
        self._random = random
        self._port: Port | None = None
        self._open: set[_Passage] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._connecting: set[asyncio.Task[None]] = set()

    @property
    def enabled(self) -> bool:
        return self._port is not None and self._port.is_open

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "listen": self.listen,
            "upstream": self.upstream,
            "enabled": self.enabled,
            "toxics": [toxic.to_json() for toxic in self.toxics],
        }

    async def start(self) -> None:
        """Listen. Raises ApiError if it cannot."""
        host, port = address_of(self.listen)
        try:
            if self._port is None:
                self._port = await Port.take(bound_host(host), port)
            await self._port.open(self._new_protocol)
        except OSError as error:
            raise ApiError(500, f"listen tcp {self.listen}: {error.strerror or error}") from None
        self.listen = f"{_bracketed(host)}:{self._port.number}"

    def _new_protocol(self) -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(), self._accept)

    async def close(self) -> None:
        """Stop, and release the port."""
        await self.stop()
        port, self._port = self._port, None
        if port is not None:
            port.close()

    async def stop(self) -> None:
        """Refuse connections, and close all open ones."""
        if self._port is not None:
            await self._port.refuse()
        for passage in list(self._open):
            passage.end(False)
        for task in self._connecting:
            task.cancel()
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    async def update(self, listen: str, upstream: str, enabled: bool) -> None:
        """Change the proxy. Any change but stop and start closes the connections, as in toxiproxy."""
        if (listen, upstream) != (self.listen, self.upstream):
            await (self.stop() if listen == self.listen else self.close())
            self.listen, self.upstream = listen, upstream
        await (self.start() if enabled else self.stop())

    # Toxics.

    def find(self, name: str) -> Toxic:
        for toxic in self.toxics:
            if toxic.name == name:
                return toxic
        raise ApiError(404, "toxic not found")

    def add(self, toxic: Toxic) -> None:
        if any(existing.name == toxic.name for existing in self.toxics):
            raise ApiError(409, "toxic already exists")
        self.set([*self.toxics, toxic])

    def set(self, toxics: list[Toxic]) -> None:
        """Replace the toxics; they act at once, on open connections too."""
        self.toxics = toxics
        for passage in list(self._open):
            passage.update()

    def of_stream(self, stream: str) -> list[Toxic]:
        return [toxic for toxic in self.toxics if toxic.stream == stream]

    # Connections.

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            is_accepted = self.enabled
            if not is_accepted:
                reset(writer)
                return
            host, port = address_of(self.upstream)
            self._connecting.add(task)
            try:
                async with asyncio.timeout(_CONNECT_S):
                    there = await asyncio.open_connection(host, port)
            except (OSError, TimeoutError, asyncio.CancelledError):  # cancelled by `stop`
                writer.close()
                return
            finally:
                self._connecting.discard(task)
            if not self.enabled:  # stopped meanwhile
                reset(writer)
                reset(there[1])
                return
            passage = _Passage(self, (reader, writer), there, self._random)
            self._open.add(passage)
            try:
                await passage.run()
            finally:
                self._open.discard(passage)
        finally:
            self._tasks.discard(task)


_Side = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Passage:
    """One connection: two links."""

    def __init__(self, proxy: Proxy, here: _Side, there: _Side, random: Random) -> None:
        self._here, self._there = here, there
        self._up = Link(lambda: proxy.of_stream(UPSTREAM), self.end, random)
        self._down = Link(lambda: proxy.of_stream(DOWNSTREAM), self.end, random)
        self._ended = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        work = [
            asyncio.ensure_future(coroutine)
            for coroutine in (
                self._up.read_from(self._here[0]),
                self._up.write_to(self._there[1]),
                self._down.read_from(self._there[0]),
                self._down.write_to(self._here[1]),
            )
        ]
        self.update()
        try:
            await self._ended
        finally:
            for task in work:
                task.cancel()
            await asyncio.wait(work)
            self._up.close()
            self._down.close()

    def update(self) -> None:
        self._up.update()
        if not self._ended.done():
            self._down.update()

    def end(self, with_reset: bool) -> None:
        """Close both sides."""
        if not self._ended.done():
            self._ended.set_result(None)
            for _, writer in (self._here, self._there):
                if with_reset:
                    reset(writer)
                else:
                    writer.close()


def address_of(text: str) -> tuple[str, int]:
    """Return host and port of "host:port". Raises ApiError."""
    host, _, port = text.rpartition(":")
    if not _PORT.fullmatch(port) or int(port) > 65535 or len(text) > _ADDRESS or not _is_host(host.strip("[]")):
        shown = text if len(text) <= _ADDRESS else f"{text[:_ADDRESS]}..."
        raise ApiError(400, f"bad request body: {shown!a} is no address, as in 127.0.0.1:9092")
    return host.strip("[]"), int(port)


def _is_host(host: str) -> bool:
    """Return False for what the system cannot be asked for: a label of a name has 1 to 63 bytes."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return "\0" not in host


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
