"""The control ends without waiting for its clients.

In a loop with virtual time each wait is visible, and its length is exact. Clients are transports that do nothing by
themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from random import Random
from typing import Any

import pytest
from support import watchdog
from support.http_peers import Client, a_service, get, post, work
from support.virtual_loop import VirtualLoop

from fakebroker.control.service import Service
from fakebroker.control.toxiproxy.proxy import Proxy

STOP_S = 0.2
WAITS = ("journal/expect", "purgatory/wait", "groups/wait", "faults/f1/wait", "clusters/c1/purgatory/wait")
BODIES: dict[str, dict[str, Any]] = {
    "journal/expect": {"timeout_ms": 60_000},
    "groups/wait": {"group_id": "g"},
    "faults/f1/wait": {"hits": 1},
}


@pytest.fixture
def run() -> Iterator[Callable[[Coroutine[Any, Any, None]], None]]:
    loop = VirtualLoop()
    yield loop.run_until_complete
    loop.close()


Run = Callable[[Coroutine[Any, Any, None]], None]


async def stop(service: Service) -> float:
    """Return how long it waited."""
    loop = asyncio.get_running_loop()
    begun_s = loop.time()
    await service.stop()
    assert not service._state.connections
    assert not service._state.tasks
    return loop.time() - begun_s


def test_requests_that_wait_are_answered_at_once_and_told_why(run: Run) -> None:
    async def test() -> None:
        async with a_service() as service:
            Client(service, post("clusters", {"brokers": 1}))
            Client(service, post("faults", {"do": "disconnect", "when": {"topic": "unused"}}))
            await work()
            waiting = [Client(service, post(path, BODIES.get(path, {}))) for path in WAITS]
            await work()
            assert not any(client.received for client in waiting)

            assert await stop(service) == 0

            for client in waiting:
                status, answer = client.answer
                assert (status, answer["error"]["code"]) == (503, "STOPPING")

    run(test())


def test_a_cluster_that_is_deleted_ends_its_waits_in_the_same_way(run: Run) -> None:
    async def test() -> None:
        async with a_service() as service:
            Client(service, post("clusters", {"brokers": 1}))
            await work()
            waiting = Client(service, post("clusters/c1/journal/expect", {"timeout_ms": 60_000}))
            await work()
            deleted = Client(service, b"DELETE /v1/clusters/c1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await work()

            assert deleted.received.startswith(b"HTTP/1.1 204")
            assert waiting.answer[0] == 503
            await stop(service)

    run(test())


HALF = b"Host: localhost\r\nContent-Length: 500\r\n\r\n{"


UNFINISHED = (
    b"POST /v1/journal/expect HTTP/1.1\r\n" + HALF,
    b"POST /v1/nowhere HTTP/1.1\r\n" + HALF,
    b"POST /v1/topics HTTP/1.1\r\nOrigin: http://elsewhere\r\n" + HALF,
    b"POST /v1/topics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n{",
    b"POST /v1/topics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
    b"POST /v1/topics HTTP/1.1\r\nExpect: 100-continue\r\n" + HALF[:-1],
    b"GET /v1/clus",
    b"",
)


def test_the_rest_of_a_request_is_not_waited_for(run: Run) -> None:
    async def test() -> None:
        async with a_service() as service:
            for sent in UNFINISHED:
                Client(service, sent)
            await work()
            assert len(service._state.connections) == len(UNFINISHED)

            assert await stop(service) == 0

    run(test())


def test_clients_that_do_not_read_are_not_waited_for(run: Run) -> None:
    async def test() -> None:
        async with a_service() as service:
            service.clusters.main.cluster.create_topic("t", 1_500)
            paths = ("events?after=0", "events?after=0&overview=true", "journal?limit=1000&after=0")
            unread = [Client(service, get(path), reads=False) for path in paths]
            while not all(client._is_paused for client in unread):
                await asyncio.sleep(1)  # virtual

            assert await stop(service) <= STOP_S

            assert all(client.is_cut for client in unread)

    run(test())


def test_a_stream_that_is_read_ends_in_order(run: Run) -> None:
    async def test() -> None:
        async with a_service() as service:
            reader = Client(service, get("events"))
            await work()

            assert await stop(service) <= STOP_S

            assert reader.received.endswith(b"0\r\n\r\n")
            assert not reader.is_cut

    run(test())


def test_what_the_application_does_for_a_request_is_waited_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def reset() -> None:
        await asyncio.sleep(1)  # virtual

    async def test() -> None:
        async with a_service() as service:
            monkeypatch.setattr(service.clusters.main.cluster, "reset", reset)
            client = Client(service, post("reset", {}))
            await work()

            assert await stop(service) == pytest.approx(1)

            assert client.answer[0] == 200

    run(test())


def test_a_request_that_was_cut_short_does_nothing(run: Run) -> None:
    async def test() -> None:
        async with a_service() as service:
            whole = post("topics", {"name": "t"})
            cut = Client(service, whole.replace(b"Content-Length: 13", b"Content-Length: 14"))  # but for a blank
            await work()
            cut.abort()
            await work()

            assert not service.clusters.main.core.metadata.names
            Client(service, whole)
            await work()
            assert list(service.clusters.main.core.metadata.names) == ["t"]
            await stop(service)

    run(test())


def test_a_proxy_that_connects_for_ever_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        begun = asyncio.Event()

        async def never(host: str, port: int) -> None:
            begun.set()
            await asyncio.Event().wait()

        monkeypatch.setattr("asyncio.open_connection", never)
        monkeypatch.setattr("fakebroker.control.toxiproxy.proxy._CONNECT_S", None)
        proxy = Proxy("p", "127.0.0.1:0", "127.0.0.1:1", Random(1))
        await proxy.start()
        host, _, port = proxy.listen.rpartition(":")
        transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, host, int(port))
        await begun.wait()

        await proxy.close()

        transport.abort()
        await work()

    watchdog.run(test())
