"""A test's server leaves no connection to a later server."""

from __future__ import annotations

import asyncio
import gc
import socket

import pytest
from support.stream_server import stream_server
from support.watchdog import LIMIT_S


async def read_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


@pytest.mark.parametrize("turns", range(6))
def test_connections_are_closed_however_far_they_were_served(turns: int) -> None:
    clients: list[socket.socket] = []

    async def work() -> None:
        async with stream_server(read_all) as port:
            clients.extend(socket.create_connection(("127.0.0.1", port)) for _ in range(6))
            for _ in range(turns):
                await asyncio.sleep(0)

    asyncio.run(work())
    for client in clients:
        client.settimeout(LIMIT_S)
        with client:
            assert reads_the_end(client)
    gc.collect()  # a transport that was left open would warn, and warnings are errors


def reads_the_end(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def test_what_the_server_raises_is_raised() -> None:
    async def fail(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise ValueError("a mistake of the test's own")

    async def work() -> None:
        async with stream_server(fail) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            await reader.read()
            writer.close()

    with pytest.raises(ValueError, match="own"):
        asyncio.run(work())
