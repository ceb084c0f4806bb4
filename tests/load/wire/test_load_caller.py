"""The caller of the load: one request at a time, over a socket."""

from __future__ import annotations

import asyncio
import struct

import pytest

from fakebroker import FakeCluster
from fakebroker_load.wire.caller import Caller
from fakebroker_load.wire.messages import encode_probe, is_probe_answer
from fakebroker_load.worker import run_in_loop


def test_it_is_answered_and_knows_when_and_where() -> None:
    async def main(host: str, port: int) -> None:
        caller = await Caller.of(host, port, first=7)
        try:
            first, answer = await caller.ask(encode_probe)
            second, _ = await caller.ask(encode_probe)
            assert is_probe_answer(answer)
            assert (first.correlation_id, second.correlation_id, caller.next_correlation_id) == (7, 8, 9)
            assert first.sent_ns is not None
            assert first.answered_ns is not None
            assert second.sent_ns is not None
            assert first.sent_ns <= first.answered_ns <= second.sent_ns
            assert caller.local.startswith(f"{host}:")
        finally:
            await caller.close()

    with FakeCluster(brokers=1) as kafka:
        asyncio.run(main(kafka.endpoints[0].host, kafka.endpoints[0].port))
        gone = kafka.endpoints[0]

    async def ask_a_closed_port() -> None:
        with pytest.raises(ConnectionError, match=f"{gone.host}:{gone.port} does not answer"):
            await Caller.of(gone.host, gone.port)

    asyncio.run(ask_a_closed_port())


def test_a_closed_connection_raises_a_connection_error() -> None:
    async def main() -> None:
        server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        caller = await Caller.of("127.0.0.1", port)
        with pytest.raises(ConnectionError, match=f"127.0.0.1:{port} has not answered"):
            await caller.ask(encode_probe)
        await caller.close()
        server.close()

    asyncio.run(main())


def test_a_response_that_was_not_asked_for_ends_the_connection() -> None:
    async def answer_twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(4)
        writer.write(struct.pack(">ii", 4, 1) * 2)
        await reader.read()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer_twice, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        caller = await Caller.of("127.0.0.1", port)
        await caller.ask(encode_probe)
        with pytest.raises(ConnectionError, match=f"127.0.0.1:{port} has closed the connection"):
            await caller.ask(encode_probe)
        await caller.close()
        server.close()

    run_in_loop(main())
