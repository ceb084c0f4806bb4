"""A child that is forked while a cluster runs: it cannot use the cluster, and does not keep its ports open."""

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
from support.event_loops import LOOPS, NewLoop
from support.ports import is_open
from support.raw_client import RawClient
from support.requests import Produced, api_versions, produce
from support.watchdog import join, within

from fakebroker import AsyncFakeCluster, FakeCluster
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server import fake_cluster
from fakebroker.server.running.forking import OF_ANOTHER_PROCESS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

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
    """A forked child. It has run `work` and waits to be released; `result` is what `work` returned, as JSON has it."""

    def __init__(self, work: Callable[[], object]) -> None:
        result_out, result_in = os.pipe()
        release_out, self._release_in = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads
            self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._release_in)
                os.write(result_in, json.dumps(work()).encode())
                os.close(result_in)
                os.read(release_out, 1)  # until the parent closes the other end
            finally:
                os._exit(0)
        os.close(result_in)
        os.close(release_out)
        with open(result_out, "rb") as file:
            self.result = json.loads(file.read() or b'"nothing"')  # nothing if `work` raised

    def release(self) -> None:
        """Let the child end, and wait for it."""
        os.close(self._release_in)
        os.waitpid(self._pid, 0)


def outcome(use: Callable[[], object]) -> str:
    try:
        use()
    except RuntimeError as error:
        return str(error)
    return "no error"


def is_refused(endpoint: NodeEndpoint) -> bool:
    return not is_open(endpoint.port, endpoint.host)


def test_each_call_in_the_child_raises_an_error_that_says_why(kafka: FakeCluster) -> None:
    child = Child(lambda: {name: outcome(partial(call, kafka)) for name, call in CALLS.items()})
    child.release()

    assert child.result == dict.fromkeys(CALLS, OF_ANOTHER_PROCESS)


def test_the_clock_and_the_brokers_raise_the_same_error(kafka: FakeCluster) -> None:
    child = Child(
        lambda: [outcome(lambda: kafka.clock.advance(1)), outcome(kafka.brokers[1].stop), outcome(kafka.start)]
    )
    child.release()

    assert child.result == [OF_ANOTHER_PROCESS] * 3


def test_stop_in_the_child_does_not_stop_the_cluster(kafka: FakeCluster) -> None:
    child = Child(lambda: outcome(kafka.stop))
    child.release()

    assert child.result == "no error"
    with RawClient(kafka.endpoints[0]) as client:
        assert Produced(client.ask(produce("t"))).partitions == {0: (0, 0)}


def test_the_child_keeps_no_port_or_connection_open(kafka: FakeCluster) -> None:
    """The ports and connections that the parent closes are closed, although the child still runs."""
    endpoints = kafka.endpoints
    with RawClient(endpoints[0]) as client:
        client.ask(api_versions())
        kafka.brokers[2].stop()
        child = Child(lambda: None)
        try:
            client.ask(api_versions())  # the fork did not close it in the parent
            kafka.stop()

            assert client.is_closed_by_broker()
            assert [is_refused(endpoint) for endpoint in endpoints] == [True, True]
        finally:
            child.release()


def test_a_child_may_have_a_cluster_of_its_own(kafka: FakeCluster) -> None:
    def work() -> Any:
        with FakeCluster(brokers=1) as own, RawClient(own.endpoints[0]) as client:
            own.create_topic("t")
            return Produced(client.ask(produce("t"))).partitions[0]

    child = Child(work)
    child.release()
    assert child.result == [0, 0]


def test_a_cluster_that_was_stopped_before_the_fork_can_be_started_in_the_child() -> None:
    idle = FakeCluster(brokers=1)
    idle.start()
    idle.stop()

    def work() -> str:
        with idle:
            return idle.bootstrap_servers

    child = Child(work)
    child.release()
    assert child.result.startswith("127.0.0.1:")


def test_the_reader_of_a_journal_pipe_gets_its_end_while_the_child_still_runs(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    kafka = FakeCluster(brokers=1, journal_file=path)
    kafka.start()
    os.set_blocking(reading, True)
    kafka.create_topic("t")
    journal = os.read(reading, 1 << 16)
    child = Child(lambda: None)
    try:
        kafka.stop()
        while part := os.read(reading, 1 << 16):
            journal += part
    finally:
        child.release()
        os.close(reading)
    assert b'"topic_created"' in journal


def produce_in_child(address: tuple[str, int], queue: Any) -> None:
    with RawClient(NodeEndpoint(1, *address)) as client:
        queue.put(Produced(client.ask(produce("t"))).partitions[0])


def test_a_child_of_multiprocessing_is_a_client(kafka: FakeCluster) -> None:
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    endpoint = kafka.endpoints[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = context.Process(target=produce_in_child, args=((endpoint.host, endpoint.port), queue))
        process.start()
    join(process)

    assert process.exitcode == 0
    assert queue.get() == (0, 0)
    queue.close()


@pytest.mark.parametrize("new_loop", LOOPS.values(), ids=list(LOOPS))
def test_a_child_cannot_use_an_async_cluster_and_keeps_no_port_open(new_loop: NewLoop) -> None:
    async def work() -> None:
        kafka = AsyncFakeCluster(brokers=2)
        await kafka.start()
        endpoints = kafka.endpoints
        child = Child(lambda: {name: outcome(partial(call, kafka)) for name, call in CALLS.items()})
        try:
            await kafka.stop()
            assert [is_refused(endpoint) for endpoint in endpoints] == [True, True]
        finally:
            child.release()
        assert child.result == dict.fromkeys(CALLS, OF_ANOTHER_PROCESS)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(within(work()))
