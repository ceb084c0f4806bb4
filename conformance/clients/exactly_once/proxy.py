"""A man in the middle: knows the requests of clients, and strikes before or after one of them.

Theory   Each broker has a port of the proxy. Answers that name brokers are written anew, so that a client finds all of
         them behind the proxy, whatever cluster it is. At a strike something is done while the request, or its answer,
         is held: then it goes on, or the connection is cut and it is lost.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

from fakebroker.protocol.headers import peek_api
from fakebroker.protocol.messages import api_name, decode_response, encode_response

PRODUCE, FETCH, METADATA, FIND_COORDINATOR = 0, 1, 3, 10
INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, TXN_OFFSET_COMMIT = 22, 24, 25, 26, 28
API_VERSIONS, DESCRIBE_CLUSTER = 18, 60

_LIMIT_S = 10.0
_RESET = struct.pack("ii", 1, 0)  # no time to linger: what is closed is reset
_SINCE = {PRODUCE: 10, FETCH: 16}  # where their answers name brokers (KIP-951)


@dataclass
class Strike:
    """An action at the next request of the API: `do` is called before the broker has it, or once the broker has
    responded. With `cut` the request or its response is then lost. `begun` is set before `do`, `over` after it."""

    api_key: int
    is_after: bool
    do: Callable[[], object]
    cut: bool = True
    begun: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)


class Proxy:
    """A proxy in front of all brokers of `bootstrap_servers`, while a `with` block lasts. Its own addresses are
    `bootstrap_servers`. `requests` are the names and versions of all requests of clients, in order."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._brokers = [_address(server) for server in bootstrap_servers.split(",")]
        self._ports: dict[tuple[str, int], int] = {}
        self._strike: Strike | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.requests: list[tuple[str, int]] = []
        self.bootstrap_servers = ""

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(_LIMIT_S)
        self.bootstrap_servers = ",".join(f"127.0.0.1:{port}" for port in self._ports.values())
        return self

    def __exit__(self, *exc_info: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_LIMIT_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_LIMIT_S)
        self._loop.close()

    def arm(self, strike: Strike) -> Strike:
        """Set the strike; it replaces one that was not due yet."""
        self._strike = strike
        return strike

    def disarm(self) -> None:
        self._strike = None

    async def _listen(self) -> None:
        self._servers = []
        for broker in self._brokers:
            server = await asyncio.start_server(_Connections(self, broker).opened, "127.0.0.1", 0)
            self._servers.append(server)
            self._ports[broker] = server.sockets[0].getsockname()[1]

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        await asyncio.sleep(0)  # a connection that was just accepted has begun, and closes its sockets
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # what was closed is lost

    def due(self, api_key: int) -> Strike | None:
        """The strike, if it is for this request; it is taken."""
        strike = self._strike
        if strike is None or strike.api_key != api_key:
            return None
        self._strike = None
        return strike

    def rewritten(self, api_key: int, version: int, frame: bytes) -> bytes:
        """The answer with the proxy's ports in it."""
        correlation_id, answer = decode_response(api_key, version, frame)
        return encode_response(_moved(answer, self._ports), correlation_id)[4:]


class _Connections:
    """The connections of clients to one broker."""

    def __init__(self, proxy: Proxy, broker: tuple[str, int]) -> None:
        self._proxy = proxy
        self._broker = broker

    async def opened(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):  # at the end of the proxy; asyncio would tell of it as of an error
            await self._carry(reader, writer)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        try:
            try:
                theirs, ours = await asyncio.open_connection(*self._broker)
            except OSError:  # the broker is stopped; clients take a connection that is closed in order for a broker
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                writer.transport.abort()
                return
            ends.append(ours)
            with suppress(OSError):
                await self._both_ways(reader, writer, theirs, ours)
        finally:
            for end in ends:
                end.close()

    async def _both_ways(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        theirs: asyncio.StreamReader,
        ours: asyncio.StreamWriter,
    ) -> None:
        unanswered: deque[tuple[int, int, Strike | None]] = deque()
        ways = [
            asyncio.ensure_future(self._requests(reader, ours, unanswered)),
            asyncio.ensure_future(self._answers(theirs, writer, unanswered)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        broker: asyncio.StreamWriter,
        unanswered: deque[tuple[int, int, Strike | None]],
    ) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                frame = await _frame(reader)
                api_key, version = peek_api(frame)
                self._proxy.requests.append((api_name(api_key), version))
                strike = self._proxy.due(api_key)
                if strike is not None and not strike.is_after:
                    await _struck(strike)
                    if strike.cut:
                        return
                unanswered.append((api_key, version, strike if strike is not None and strike.is_after else None))
                broker.write(len(frame).to_bytes(4, "big") + frame)
                await broker.drain()

    async def _answers(
        self,
        broker: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        unanswered: deque[tuple[int, int, Strike | None]],
    ) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                frame = await _frame(broker)
                api_key, version, strike = unanswered.popleft()
                if strike is not None:
                    await _struck(strike)
                    if strike.cut:
                        return
                if api_key in (METADATA, FIND_COORDINATOR, DESCRIBE_CLUSTER) or version >= _SINCE.get(api_key, 1 << 15):
                    frame = self._proxy.rewritten(api_key, version, frame)
                writer.write(len(frame).to_bytes(4, "big") + frame)
                await writer.drain()


async def _struck(strike: Strike) -> None:
    def strike_and_tell() -> None:
        strike.begun.set()
        strike.do()
        strike.over.set()  # here: the task may be cancelled by what is done, as it stops a broker

    await asyncio.get_running_loop().run_in_executor(None, strike_and_tell)


async def _frame(reader: asyncio.StreamReader) -> bytes:
    size = int.from_bytes(await reader.readexactly(4), "big")
    return await reader.readexactly(size)


def _moved(answer: Any, ports: Mapping[tuple[str, int], int]) -> Any:
    """The answer with another port wherever one of the brokers is named."""
    if hasattr(answer, "host") and hasattr(answer, "port"):
        port = ports.get((answer.host, int(answer.port)))
        answer = answer if port is None else replace(answer, host="127.0.0.1", port=type(answer.port)(port))
    for name in ("brokers", "coordinators", "node_endpoints"):
        if hasattr(answer, name):
            answer = replace(answer, **{name: tuple(_moved(node, ports) for node in getattr(answer, name))})
    return answer


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)
