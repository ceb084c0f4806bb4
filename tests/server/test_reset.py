"""`reset()`: a new cluster on the same ports."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import process_time

import pytest
from support.event_loops import LOOPS
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import METADATA, Produced, batch, metadata, produce
from support.watchdog import join, wait_until

from fakebroker import AsyncFakeCluster, FakeCluster
from fakebroker.core.journal.events import ConnectionClosed, TopicCreated
from fakebroker.core.journal.journal import from_lines
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server import fake_cluster

NEVER_MS = 60_000


@pytest.fixture(params=LOOPS.values(), ids=list(LOOPS))
def kafka(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    monkeypatch.setattr(fake_cluster, "new_event_loop", request.param)
    with FakeCluster(clock="manual") as cluster:
        yield cluster


def ask(endpoint: NodeEndpoint, frame: bytes) -> bytes:
    with RawClient(endpoint) as client:
        return client.ask(frame)


def topics_of(kafka: FakeCluster) -> list[str]:
    _, answer = decode_response(METADATA, 12, ask(kafka.endpoints[0], metadata(None)))
    return [topic.name for topic in answer.topics]


def error_of(kafka: FakeCluster, topic: str, size: int = 10, timeout_ms: int = NEVER_MS) -> tuple[int, int]:
    frame = produce(topic, timeout_ms=timeout_ms, records=batch(bytes(size)))
    return Produced(ask(kafka.endpoints[0], frame)).partitions[0]


def test_topics_records_and_settings_are_gone_and_the_ports_are_the_same(kafka: FakeCluster) -> None:
    kafka.create_topic("t")
    assert error_of(kafka, "t") == (0, 0)
    kafka.alter_broker_configs({"message.max.bytes": 100})
    kafka.quotas.set(client_id="test", producer_byte_rate=1)
    before, ids = kafka.endpoints, {broker: kafka.brokers[broker].endpoint for broker in kafka.brokers}

    kafka.reset()

    assert topics_of(kafka) == []
    assert kafka.endpoints == before
    assert {broker: kafka.brokers[broker].endpoint for broker in kafka.brokers} == ids
    kafka.create_topic("t")
    assert error_of(kafka, "t", size=1_000) == (0, 0)


def test_connections_are_closed_and_what_is_parked_is_not_answered(kafka: FakeCluster) -> None:
    kafka.create_topic("t")
    kafka.followers.freeze("t")
    with RawClient(kafka.endpoints[0]) as idle, RawClient(kafka.endpoints[0]) as parked:
        idle.ask(metadata([]))
        parked.send(produce("t", timeout_ms=NEVER_MS))
        wait_until(lambda: len(kafka.journal.requests(api="Produce")) == 1, "the request")

        kafka.reset()

        assert idle.is_closed_by_broker()
        assert parked.is_closed_by_broker()


def test_the_clock_and_the_journal_begin_anew(kafka: FakeCluster) -> None:
    kafka.create_topic("t")
    with RawClient(kafka.endpoints[0]) as client:
        client.ask(metadata([]))
        kafka.clock.advance(70_000)
        kafka.reset()

    assert kafka.clock.elapsed_ms == 0
    assert list(kafka.journal) == []
    kafka.clock.advance(5)
    assert kafka.clock.elapsed_ms == 5


def test_followers_do_again_what_they_did_at_the_start(kafka: FakeCluster) -> None:
    kafka.followers.freeze()
    kafka.reset()
    kafka.create_topic("t")

    assert error_of(kafka, "t") == (0, 0)


def test_faults_are_gone(kafka: FakeCluster) -> None:
    kafka.faults.add(when={"api": "Produce"}, do="NOT_ENOUGH_REPLICAS", times="every_time")
    kafka.reset()
    kafka.create_topic("t")

    assert len(kafka.faults) == 0
    assert error_of(kafka, "t") == (0, 0)


def test_a_broker_that_was_stopped_runs_and_listens(kafka: FakeCluster) -> None:
    endpoints = kafka.endpoints
    kafka.brokers[2].stop()

    kafka.reset()

    assert kafka.endpoints == endpoints
    assert kafka.brokers[2].is_running
    _, answer = decode_response(METADATA, 12, ask(endpoints[1], metadata([])))
    assert len(answer.brokers) == 3
    kafka.brokers[2].stop()
    kafka.brokers[2].start()
    ask(endpoints[1], metadata([]))


def test_no_thread_file_or_connection_is_left(kafka: FakeCluster) -> None:
    def left() -> tuple[int, int]:
        gc.collect()
        return threading.active_count(), len(os.listdir("/dev/fd"))

    kafka.reset()
    before = left()
    for _ in range(20):
        with RawClient(kafka.endpoints[0]) as client:
            client.send(metadata([])[:6])
            kafka.reset()

    wait_until(lambda: left() == before, "the end of the last connection")


def test_a_client_that_connects_while_it_is_reset_is_served_or_closed(kafka: FakeCluster) -> None:
    """The connection belongs to the new cluster, or is closed."""
    endpoint = kafka.endpoints[0]
    over = threading.Event()
    outcomes: list[str] = []

    def connect() -> None:
        while not over.is_set():
            try:
                with RawClient(endpoint) as client:
                    client.ask(metadata([]))
                outcomes.append("answered")
            except (EOFError, ConnectionError):
                outcomes.append("closed")

    clients = [threading.Thread(target=connect) for _ in range(3)]
    for client in clients:
        client.start()
    for _ in range(100):
        kafka.reset()
    over.set()
    for client in clients:
        join(client)
        assert not client.is_alive()

    assert "answered" in outcomes


def test_a_cluster_that_does_not_run_cannot_be_reset() -> None:
    with pytest.raises(RuntimeError, match="the cluster is not running"):
        FakeCluster().reset()


def test_the_written_journal_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with FakeCluster(brokers=1, journal_file=path) as kafka:
        kafka.create_topic("before")
        kafka.reset()
        kafka.create_topic("after")
        assert [event.topic for event in kafka.journal if isinstance(event, TopicCreated)] == ["after"]

    with path.open() as lines:
        events = list(from_lines(lines))
    assert [event.topic for event in events if isinstance(event, TopicCreated)] == ["before", "after"]
    assert not [event for event in events if isinstance(event, ConnectionClosed)]


def test_a_reset_waits_for_the_stop_of_a_broker_and_of_the_cluster() -> None:
    async def work() -> None:
        async with AsyncFakeCluster() as kafka:
            await asyncio.gather(kafka.brokers[1].stop(), kafka.reset(), kafka.brokers[3].stop(), kafka.reset())
            assert len(kafka.endpoints) in (2, 3)  # one of them may have come last
            await kafka.reset()
            assert [endpoint.node_id for endpoint in kafka.endpoints] == [1, 2, 3]
            results = await asyncio.gather(kafka.stop(), kafka.reset(), return_exceptions=True)
            assert results[0] is None
            assert results[1] is None or "not running" in str(results[1])  # either may be first

    asyncio.run(work())


def test_the_last_reset_costs_what_the_first_did() -> None:
    """The cost does not accumulate: the CPU time of the last reset is that of the first, or a few times as much on a
    busy machine."""
    costs: list[float] = []
    with FakeCluster() as kafka:
        for _ in range(200):
            began = process_time()
            for index in range(10):
                kafka.create_topic(f"t{index}")
            kafka.reset()
            costs.append(process_time() - began)
    assert median(costs[-50:]) < 5 * median(costs[:50])


@pytest.mark.parametrize("what", ["kill", "pause", "kill and start", "pause and kill"])
def test_a_reset_restarts_killed_and_paused_brokers(kafka: FakeCluster, what: str) -> None:
    endpoints = kafka.endpoints
    for step in what.split(" and "):
        getattr(kafka.brokers[2], step)()

    kafka.reset()

    assert kafka.endpoints == endpoints
    for _ in range(2):
        _, answer = decode_response(METADATA, 12, ask(endpoints[1], metadata([])))
        assert len(answer.brokers) == 3
        kafka.clock.advance(60_000)  # the requests in progress are gone: no session ends, no broker registers
    kafka.create_topic("t")
    assert error_of(kafka, "t") == (0, 0)
