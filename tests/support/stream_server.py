"""A server of asyncio's streams that leaves no connection behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]
_TURNS: Final = 5  # of the loop; asyncio takes three from accept to the first call


@asynccontextmanager
async def stream_server(serve: Serve) -> AsyncIterator[int]:
    """Yield the port. At the end all connections are closed, also those that `serve` has not seen yet: asyncio forgets
    them with the task that was to serve them. Raises the errors of `serve`, except for connections that ended."""
    serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving[asyncio.create_task(serve_and_close(reader, writer))] = writer

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.get_running_loop().remove_reader(server.sockets[0].fileno())
        for _ in range(_TURNS):  # a server that is closed loses what it has accepted and not made a transport of
            await asyncio.sleep(0)
        server.close()
        for task in serving:
            task.cancel()
        ended = await asyncio.gather(*serving, return_exceptions=True)
        for writer in serving.values():
            writer.transport.abort()
        await asyncio.sleep(0)
        for error in ended:
            if isinstance(error, Exception) and not isinstance(error, (OSError, EOFError)):
                raise error
