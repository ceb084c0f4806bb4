"""An AsyncFakeCluster that is started twice at once, stopped or cancelled meanwhile, or used from another loop or
thread."""

from __future__ import annotations

import asyncio
import gc
import os
import warnings
from collections.abc import Awaitable, Callable, Iterator

import pytest
from support.event_loops import LOOPS, NewLoop
from support.ports import free_ports, is_open
from support.watchdog import within

from fakebroker import AsyncFakeCluster
from fakebroker.protocol.produce_response import NodeEndpoint

for made in LOOPS.values():
    made().close()  # the first loop of its kind opens files that stay open


@pytest.fixture(params=LOOPS.values(), ids=list(LOOPS))
def new_loop(request: pytest.FixtureRequest) -> NewLoop:
    loop: NewLoop = request.param
    return loop


@pytest.fixture(autouse=True)
def nothing_is_left_open() -> Iterator[None]:
    gc.collect()
    before = len(os.listdir("/dev/fd"))
    yield
    gc.collect()
    assert len(os.listdir("/dev/fd")) == before


def run(new_loop: NewLoop, work: Callable[[], Awaitable[None]]) -> None:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(within(work()))


def is_refused(endpoint: NodeEndpoint) -> bool:
    return not is_open(endpoint.port, endpoint.host)


# Two tasks.


def test_a_second_concurrent_start_is_refused(new_loop: NewLoop) -> None:
    async def work() -> None:
        kafka = AsyncFakeCluster(brokers=2)
        results = await asyncio.gather(*(kafka.start() for _ in range(3)), return_exceptions=True)
        assert [str(result) for result in results] == ["None", *["the cluster is running already"] * 2]
        kafka.create_topic("t")
        endpoints = kafka.endpoints
        await kafka.stop()
        assert all(map(is_refused, endpoints))

    run(new_loop, work)


@pytest.mark.parametrize("turns", range(8))
def test_a_stop_during_the_start_stops_what_was_started(new_loop: NewLoop, turns: int) -> None:
    async def work() -> None:
        port = free_ports(2)
        kafka = AsyncFakeCluster(brokers=2, port=port)
        starting = asyncio.ensure_future(kafka.start())
        for _ in range(turns):
            await asyncio.sleep(0)
        await asyncio.gather(kafka.stop(), kafka.stop())
        await starting
        if turns:  # else it was stopped before it began
            with pytest.raises(RuntimeError, match="is not running"):
                kafka.create_topic("t")
            assert is_refused(NodeEndpoint(1, "127.0.0.1", port))
        await kafka.stop()
        async with kafka:
            assert not is_refused(kafka.endpoints[1])

    run(new_loop, work)


@pytest.mark.parametrize("turns", range(12))
def test_a_start_that_is_cancelled_leaves_nothing(new_loop: NewLoop, turns: int) -> None:
    async def work() -> None:
        port = free_ports(3)
        kafka = AsyncFakeCluster(brokers=3, port=port)
        starting = asyncio.ensure_future(kafka.start())
        for _ in range(turns):
            await asyncio.sleep(0)
        was_done = starting.done()
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        if was_done:
            await kafka.stop()
        assert all(is_refused(NodeEndpoint(1, "127.0.0.1", port + broker)) for broker in range(3))
        async with kafka:
            kafka.create_topic("t")

    run(new_loop, work)


@pytest.mark.parametrize("turns", range(12))
def test_a_stop_that_is_cancelled_stops_all_the_same(new_loop: NewLoop, turns: int) -> None:
    async def work() -> None:
        kafka = AsyncFakeCluster(brokers=2)
        await kafka.start()
        endpoints = kafka.endpoints
        stopping = asyncio.ensure_future(kafka.stop())
        for _ in range(turns):
            await asyncio.sleep(0)
        stopping.cancel()
        await asyncio.gather(stopping, return_exceptions=True)
        await kafka.stop()
        assert all(map(is_refused, endpoints))
        async with kafka:
            kafka.create_topic("t")

    run(new_loop, work)


# Elsewhere.


def test_another_thread_is_told_what_to_take(new_loop: NewLoop) -> None:
    async def work() -> None:
        async with AsyncFakeCluster(brokers=1) as kafka:
            for use in (lambda: kafka.create_topic("t"), kafka.followers.freeze):
                with pytest.raises(
                    RuntimeError, match=r"in the thread of its event loop alone: take FakeCluster, which"
                ):
                    await asyncio.to_thread(use)
            kafka.create_topic("t")

    run(new_loop, work)


def test_queries_may_come_from_another_thread(new_loop: NewLoop) -> None:
    async def work() -> None:
        async with AsyncFakeCluster(brokers=1) as kafka:
            assert await asyncio.to_thread(lambda: kafka.bootstrap_servers) == kafka.bootstrap_servers
            assert await asyncio.to_thread(lambda: kafka.brokers[1].is_running)
            assert await asyncio.to_thread(lambda: list(kafka.journal)) == []

    run(new_loop, work)


def test_another_loop_is_told_where_to_go(new_loop: NewLoop) -> None:
    loop = new_loop()
    kafka = AsyncFakeCluster(brokers=1)
    loop.run_until_complete(kafka.start())

    async def elsewhere() -> None:
        for use in (kafka.stop, kafka.start, kafka.brokers[1].stop, lambda: kafka.clock.advance(1)):
            with pytest.raises(RuntimeError, match="the cluster was started on another event loop: use it there"):
                await use()
        with pytest.raises(RuntimeError, match="was started on another event loop"):
            kafka.create_topic("t")

    run(new_loop, elsewhere)
    kafka.create_topic("t")  # between two runs of its loop, in its thread
    loop.run_until_complete(kafka.stop())
    loop.close()


def test_a_loop_that_was_closed_is_told_and_it_starts_again() -> None:
    """uvloop closes the open handles of a closed loop. asyncio leaves them to garbage collection, which warns."""
    new_loop = LOOPS.get("uvloop", asyncio.new_event_loop)
    kafka = AsyncFakeCluster(brokers=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        loop = new_loop()
        loop.run_until_complete(kafka.start())
        loop.close()
        for use in (lambda: kafka.create_topic("t"), lambda: kafka.endpoints, lambda: kafka.clock.wall_ms):
            with pytest.raises(RuntimeError, match=r"the event loop of the cluster is closed, and the cluster with it"):
                use()

    async def again() -> None:
        async with kafka:
            kafka.create_topic("t")

    run(new_loop, again)


def test_a_stop_after_the_loop_was_closed_is_told_once() -> None:
    new_loop = LOOPS.get("uvloop", asyncio.new_event_loop)
    kafka = AsyncFakeCluster(brokers=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        loop = new_loop()
        loop.run_until_complete(kafka.start())
        loop.close()

    async def late() -> None:
        with pytest.raises(RuntimeError, match="the event loop of the cluster is closed"):
            await kafka.stop()
        await kafka.stop()

    run(new_loop, late)
