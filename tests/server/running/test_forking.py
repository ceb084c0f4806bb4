"""A forked child: it learns that the cluster is not its own, and keeps none of its ports."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.ports import is_open
from support.raw_client import RawClient
from support.requests import Produced, api_versions, produce
from support.watchdog import join, within

from fakebroker import AsyncFakeCluster, FakeCluster
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server import fake_cluster, loops
from fakebroker.server.running.forking import OF_ANOTHER_PROCESS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
if loops.NAME == "uvloop":
    LOOPS["uvloop"] = loops.new_event_loop

CALLS: dict[str, Callable[[Any], object]] = {
    "endpoints": lambda kafka: kafka.endpoints,
    "bootstrap_servers": lambda kafka: kafka.bootstrap_servers,
    "create_topic": lambda kafka: kafka.create_topic("u"),
    "followers": lambda kafka: kafka.followers.freeze(),
    "clock": lambda kafka: kafka.clock.elapsed_ms,
    "journal": lambda kafka: list(kafka.journal),
    "broker": lambda kafka: kafka.brokers[1].endpoint,
    "delete_topic": lambda kafka: kafka.delete_topic("t"),
}


@pytest.fixture(params=LOOPS.values(), ids=list(LOOPS))
def kafka(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(fake_cluster, "new_event_loop", request.param)
    with FakeCluster(brokers=2) as running:
        running.create_topic("t")
        yield running


class Child:
    """A child that has worked, has reported the result, and waits for its release."""

    def __init__(self, work: Callable[[], object]) -> None:
        reading, telling = os.pipe()
        waiting, self._letting_go = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads
            self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._letting_go)
                os.write(telling, json.dumps(work()).encode())
                os.close(telling)
                os.read(waiting, 1)
            finally:
                os._exit(0)
        os.close(telling)
        os.close(waiting)
        with open(reading, "rb") as file:
            self.result = json.loads(file.read() or b'"nothing"')

    def let_go(self) -> None:
        os.close(self._letting_go)
        os.waitpid(self._pid, 0)


def outcome(use: Callable[[], object]) -> str:
    try:
        use()
    except RuntimeError as error:
        return str(error)
    return "no error"


def is_refused(endpoint: NodeEndpoint) -> bool:
    return not is_open(endpoint.port, endpoint.host)


def test_each_call_in_the_child_says_what_is_wrong(kafka: FakeCluster) -> None:
    child = Child(lambda: {name: outcome(partial(call, kafka)) for name, call in CALLS.items()})
    child.let_go()

    assert child.result == dict.fromkeys(CALLS, OF_ANOTHER_PROCESS)


def test_a_clock_and_a_broker_in_the_child(kafka: FakeCluster) -> None:
    child = Child(
        lambda: [outcome(lambda: kafka.clock.advance(1)), outcome(kafka.brokers[1].stop), outcome(kafka.start)]
    )
    child.let_go()

    assert child.result == [OF_ANOTHER_PROCESS] * 3


def test_stop_in_the_child_stops_nothing(kafka: FakeCluster) -> None:
    child = Child(lambda: outcome(kafka.stop))
    child.let_go()

    assert child.result == "no error"
    with RawClient(kafka.endpoints[0]) as client:
        assert Produced(client.ask(produce("t"))).partitions == {0: (0, 0)}


def test_ports_and_connections_are_the_parents_alone(kafka: FakeCluster) -> None:
    """A closed port refuses, and a closed connection ends, however long the child lives."""
    endpoints = kafka.endpoints
    with RawClient(endpoints[0]) as client:
        client.ask(api_versions())
        kafka.brokers[2].stop()
        child = Child(lambda: None)
        try:
            client.ask(api_versions())  # it goes on in the parent
            kafka.stop()

            assert client.is_closed_by_broker()
            assert [is_refused(endpoint) for endpoint in endpoints] == [True, True]
        finally:
            child.let_go()


def test_a_child_may_have_a_cluster_of_its_own(kafka: FakeCluster) -> None:
    def work() -> Any:
        with FakeCluster(brokers=1) as own, RawClient(own.endpoints[0]) as client:
            own.create_topic("t")
            return Produced(client.ask(produce("t"))).partitions[0]

    child = Child(work)
    child.let_go()
    assert child.result == [0, 0]


def test_a_cluster_that_did_not_run_then_may_be_started_there() -> None:
    idle = FakeCluster(brokers=1)
    idle.start()
    idle.stop()

    def work() -> str:
        with idle:
            return idle.bootstrap_servers

    child = Child(work)
    child.let_go()
    assert child.result.startswith("127.0.0.1:")


def test_the_reader_of_a_journal_sees_its_end(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    kafka = FakeCluster(brokers=1, journal_file=path)
    kafka.start()
    os.set_blocking(reading, True)
    kafka.create_topic("t")
    first = os.read(reading, 1 << 16)
    child = Child(lambda: None)
    try:
        kafka.stop()
        while part := os.read(reading, 1 << 16):
            first += part
    finally:
        child.let_go()
        os.close(reading)
    assert b'"topic_created"' in first


def produce_there(address: tuple[str, int], queue: Any) -> None:
    with RawClient(NodeEndpoint(1, *address)) as client:
        queue.put(Produced(client.ask(produce("t"))).partitions[0])


def test_a_child_of_multiprocessing_is_a_client(kafka: FakeCluster) -> None:
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    endpoint = kafka.endpoints[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = context.Process(target=produce_there, args=((endpoint.host, endpoint.port), queue))
        process.start()
    join(process)

    assert process.exitcode == 0
    assert queue.get() == (0, 0)
    queue.close()


@pytest.mark.parametrize("new_loop", LOOPS.values(), ids=list(LOOPS))
def test_an_async_cluster(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def work() -> None:
        kafka = AsyncFakeCluster(brokers=2)
        await kafka.start()
        endpoints = kafka.endpoints
        child = Child(lambda: {name: outcome(partial(call, kafka)) for name, call in CALLS.items()})
        try:
            await kafka.stop()
            assert [is_refused(endpoint) for endpoint in endpoints] == [True, True]
        finally:
            child.let_go()
        assert child.result == dict.fromkeys(CALLS, OF_ANOTHER_PROCESS)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(within(work()))
