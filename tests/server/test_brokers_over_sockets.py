"""Brokers that stop and start, leaders that move, deleted topics: over real sockets, on uvloop and on plain asyncio."""

from __future__ import annotations

import errno
import gc
import os
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from support.event_loops import LOOPS, NewLoop
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import METADATA, Produced, metadata, produce
from support.watchdog import LIMIT_S, join, wait_until

from fakebroker import AsyncFakeCluster, FakeCluster, KafkaError
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server import fake_cluster
from fakebroker.server.running.one_port import Port

NONE, UNKNOWN_TOPIC, NOT_LEADER, TIMED_OUT = 0, 3, 6, 7
NEVER_MS = 60_000

for new_event_loop in LOOPS.values():
    new_event_loop().close()  # the first loop of its kind opens files that stay open


@pytest.fixture(params=LOOPS.values(), ids=list(LOOPS))
def kafka(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    monkeypatch.setattr(fake_cluster, "new_event_loop", request.param)
    gc.collect()
    before = len(os.listdir("/dev/fd"))
    with FakeCluster(brokers=3) as cluster:
        cluster.create_topic("t")
        yield cluster
    gc.collect()
    assert len(os.listdir("/dev/fd")) == before, "files are left open"


def produced(kafka: FakeCluster, broker: int, timeout_ms: int = 300) -> tuple[int, int]:
    with RawClient(kafka.brokers[broker].endpoint) as client:
        (answer,) = Produced(client.ask(produce("t", timeout_ms=timeout_ms))).partitions.values()
    return answer


def leader(kafka: FakeCluster, asked: int) -> tuple[int, list[int]]:
    """Return the leader of t-0, and the brokers, by a broker's metadata."""
    with RawClient(kafka.brokers[asked].endpoint) as client:
        _, answer = decode_response(METADATA, 12, client.ask(metadata(["t"])))
    return answer.topics[0].partitions[0].leader_id, [b.node_id for b in answer.brokers]


def test_a_broker_stops_and_starts_on_its_port(kafka: FakeCluster) -> None:
    assert produced(kafka, 1) == (NONE, 0)
    endpoint = kafka.brokers[1].endpoint
    with RawClient(endpoint) as client:
        client.ask(metadata(["t"]))
        kafka.brokers[1].stop()
        assert client.is_closed_by_broker()
    with pytest.raises(ConnectionRefusedError):
        RawClient(endpoint)
    assert not kafka.brokers[1].is_running
    assert [broker.node_id for broker in kafka.endpoints] == [2, 3]
    assert leader(kafka, 2) == (2, [2, 3])
    assert produced(kafka, 2) == (NONE, 1)
    kafka.brokers[1].start()
    assert kafka.brokers[1].endpoint == endpoint
    assert leader(kafka, 1) == (2, [1, 2, 3])
    assert produced(kafka, 1) == (NOT_LEADER, -1)
    kafka.move_leader("t", 0, 1)
    assert produced(kafka, 1) == (NONE, 2)


def test_no_program_takes_the_port_of_a_stopped_broker(kafka: FakeCluster) -> None:
    kafka.brokers[2].stop()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((kafka.brokers[2].endpoint.host, kafka.brokers[2].endpoint.port))
    kafka.brokers[2].start()


def test_what_is_parked_on_a_broker_that_stops_is_answered_first(kafka: FakeCluster) -> None:
    kafka.followers.freeze()
    with RawClient(kafka.brokers[1].endpoint) as client:
        client.send(produce("t", timeout_ms=NEVER_MS))
        wait_until(lambda: _end_offset(kafka) == 1, "the append")
        kafka.brokers[1].stop()
        assert Produced(client.receive()).partitions == {0: (NOT_LEADER, 0)}
        assert client.is_closed_by_broker()


def test_what_is_parked_on_a_killed_broker_is_never_answered_and_its_port_is_dead(kafka: FakeCluster) -> None:
    kafka.followers.freeze()
    with RawClient(kafka.brokers[1].endpoint) as client:
        client.send(produce("t", timeout_ms=NEVER_MS))
        wait_until(lambda: _end_offset(kafka) == 1, "the append")
        kafka.brokers[1].kill()
        assert client.is_closed_by_broker()
    with pytest.raises(ConnectionRefusedError):
        RawClient(kafka.brokers[1].endpoint)
    assert (kafka.brokers[1].state, leader(kafka, 2)) == ("killed", (1, [1, 2, 3]))
    kafka.brokers[1].start()
    assert kafka.brokers[1].state == "starting"
    with pytest.raises(ConnectionRefusedError):
        RawClient(kafka.brokers[1].endpoint)


def test_a_paused_broker_accepts_connections_and_does_not_respond(kafka: FakeCluster) -> None:
    with RawClient(kafka.brokers[1].endpoint) as client:
        kafka.brokers[1].pause()
        with RawClient(kafka.brokers[1].endpoint) as other:
            for connection in (client, other):
                connection.send(produce("t", timeout_ms=300))
            assert _end_offset(kafka) == 0
            assert (kafka.brokers[1].state, kafka.brokers[1].is_running) == ("paused", False)
            kafka.brokers[1].resume()
            offsets = [Produced(connection.receive()).partitions[0] for connection in (client, other)]
            assert sorted(offsets) == [(NONE, 0), (NONE, 1)]


def test_a_broker_that_was_killed_comes_back_on_its_port_by_itself() -> None:
    with FakeCluster(brokers=3, clock="manual") as kafka:
        kafka.create_topic("t")
        kafka.brokers[1].kill()
        kafka.brokers[1].start()
        assert kafka.brokers[1].state == "starting"
        kafka.clock.advance(9_000)
        wait_until(lambda: _is_open(kafka.brokers[1].endpoint), "the port")
        assert leader(kafka, 1) == (2, [1, 2, 3])
        kafka.brokers[3].kill()
        kafka.reset()
        assert [broker.state for broker in kafka.brokers.values()] == ["running"] * 3
        assert _is_open(kafka.brokers[3].endpoint)


def test_a_controller_that_takes_its_time_closes_the_port_late() -> None:
    with FakeCluster(brokers=3, clock="manual", config={"fakebroker.controller.delay.ms": 50}) as kafka:
        kafka.create_topic("t")
        kafka.brokers[1].stop()
        assert (kafka.brokers[1].state, _is_open(kafka.brokers[1].endpoint)) == ("stopping", True)
        kafka.clock.advance(100)
        wait_until(lambda: not _is_open(kafka.brokers[1].endpoint), "the port")
        assert kafka.brokers[1].state == "stopped"


def _is_open(endpoint: NodeEndpoint) -> bool:
    try:
        with RawClient(endpoint):
            return True
    except ConnectionRefusedError:
        return False


def _end_offset(kafka: FakeCluster) -> int:
    """Return the log end offset of t-0: an acks=1 produce returns it, and appends one record."""
    server = kafka._cluster.server.driver
    topic = server.cluster.metadata.topic("t")
    assert topic is not None
    return topic.partitions[0].leader_log.log_end_offset


def test_a_parked_produce_is_answered_when_its_leader_moves_or_its_topic_goes(kafka: FakeCluster) -> None:
    kafka.followers.freeze()
    with RawClient(kafka.brokers[1].endpoint) as client:
        client.send(produce("t", timeout_ms=NEVER_MS))
        wait_until(lambda: _end_offset(kafka) == 1, "the append")
        kafka.move_leader("t", 0, 3)
        assert Produced(client.receive()).partitions == {0: (NOT_LEADER, 0)}
    with RawClient(kafka.brokers[3].endpoint) as client:
        client.send(produce("t", timeout_ms=NEVER_MS))
        wait_until(lambda: _end_offset(kafka) == 1, "the append")
        kafka.delete_topic("t")
        assert Produced(client.receive()).partitions == {0: (UNKNOWN_TOPIC, 0)}


def test_all_brokers_stop_one_after_the_other_and_come_back(kafka: FakeCluster) -> None:
    bootstrap_servers = kafka.bootstrap_servers
    for broker in kafka.brokers.values():
        broker.stop()
        broker.stop()
    assert kafka.endpoints == []
    assert kafka.bootstrap_servers == bootstrap_servers
    for broker in kafka.brokers.values():
        broker.start()
        broker.start()
    assert kafka.bootstrap_servers == bootstrap_servers
    assert leader(kafka, 1) == (3, [1, 2, 3])
    assert produced(kafka, 3) == (NONE, 0)


def test_a_cluster_stops_with_brokers_that_are_stopped(kafka: FakeCluster) -> None:
    kafka.brokers[2].stop()


def test_what_cannot_be_done_is_said(kafka: FakeCluster) -> None:
    with pytest.raises(KafkaError, match="There is no partition u-0"):
        kafka.move_leader("u", 0, 1)
    with pytest.raises(KafkaError, match="does not host"):
        kafka.delete_topic("u")
    kafka.brokers[2].stop()
    with pytest.raises(KafkaError, match="that broker is stopped"):
        kafka.move_leader("t", 0, 2)
    with pytest.raises(ValueError, match="followers are"):
        kafka.followers.script([(0, "asleep")])
    with pytest.raises(ValueError, match="1 to"):
        kafka.followers.throttle(0)


def test_brokers_of_a_cluster_that_does_not_run() -> None:
    kafka = FakeCluster(brokers=2)
    assert list(kafka.brokers) == [1, 2]
    for use in (kafka.brokers[1].stop, kafka.brokers[1].start, lambda: kafka.brokers[1].is_running):
        with pytest.raises(RuntimeError, match="not running"):
            use()


def test_no_program_ever_gets_the_port_of_a_broker_that_stops_and_starts(kafka: FakeCluster) -> None:
    """The port goes to no listening program, and to no client as its local port."""
    endpoint, over, got = kafka.brokers[2].endpoint, threading.Event(), []

    def take() -> None:
        while not over.is_set():
            with socket.socket() as other:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    other.bind((endpoint.host, endpoint.port))
                    other.listen()
                    got.append(other)
                except OSError:
                    pass

    thief = threading.Thread(target=take)
    thief.start()
    try:
        for _ in range(30):
            kafka.brokers[2].stop()
            kafka.brokers[2].start()
            kafka.brokers[2].kill()
            kafka.reset()
    finally:
        over.set()
        join(thief)
    assert got == []


def test_a_port_that_cannot_be_opened_is_told(kafka: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    kafka.brokers[2].stop()
    monkeypatch.setattr(Port, "open", fails)
    with pytest.raises(OSError, match="Too many open files"):
        kafka.brokers[2].start()
    monkeypatch.undo()
    kafka.brokers[2].stop()
    kafka.brokers[2].start()
    assert leader(kafka, 2) == (1, [1, 2, 3])


def test_clients_that_connect_while_brokers_restart_stall_no_other_client(kafka: FakeCluster) -> None:
    """A connection that was accepted before the restart is served by the restarted broker, and does not delay it."""
    over = threading.Event()

    def stay() -> None:
        clients = []
        while not over.is_set():
            try:
                clients.append(RawClient(kafka.brokers[1].endpoint))
            except OSError:
                continue
            if len(clients) == 50:
                clients.pop(0).socket.close()
        for client in clients:
            client.socket.close()

    staying = [threading.Thread(target=stay) for _ in range(2)]
    for thread in staying:
        thread.start()
    try:
        for _ in range(10):
            kafka.faults.rolling_restart(0).wait()
        kafka.brokers[1].stop()
    finally:
        over.set()
        join(*staying)


def test_followers_are_throttled_scripted_and_handed_over(kafka: FakeCluster) -> None:
    kafka.followers.throttle(1, "t")
    assert produced(kafka, 1) == (TIMED_OUT, 0)
    kafka.followers.script([(0, "frozen"), (50, "resume")], "t", partition=0)
    assert produced(kafka, 1, 100) == (TIMED_OUT, 1)  # what it did before the freeze was a byte a second
    kafka.followers.script([(0, "frozen"), (50, "instant")], "t")
    assert produced(kafka, 1, NEVER_MS) == (NONE, 2)
    kafka.followers.external("t", broker=3)
    assert produced(kafka, 1) == (TIMED_OUT, 3)


@pytest.mark.parametrize("new_loop", LOOPS.values(), ids=list(LOOPS))
def test_the_same_from_async_code(new_loop: NewLoop) -> None:
    async def main() -> None:
        async with AsyncFakeCluster(brokers=2) as kafka:
            kafka.create_topic("t")
            await kafka.brokers[1].stop()
            assert [broker.node_id for broker in kafka.endpoints] == [2]
            await kafka.brokers[1].start()
            kafka.move_leader("t", 0, 1)
            kafka.delete_topic("t")
            assert kafka.brokers[1].is_running

    loop = new_loop()
    try:
        loop.run_until_complete(main())
    finally:
        loop.close()


def in_threads(count: int, work: Callable[[], None]) -> list[BaseException]:
    """Do the work in some threads at once; fail if it takes too long. Return their exceptions."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)
    assert not any(thread.is_alive() for thread in threads), "it takes too long"
    return raised


def test_threads_stop_and_start_the_same_broker(kafka: FakeCluster) -> None:
    def stop_and_start() -> None:
        for _ in range(20):
            kafka.brokers[2].stop()
            kafka.brokers[2].start()

    assert in_threads(4, stop_and_start) == []
    assert kafka.brokers[2].is_running
    assert leader(kafka, 2) == (1, [1, 2, 3])


def test_a_cluster_stops_while_threads_stop_and_start_a_broker(kafka: FakeCluster) -> None:
    begun = threading.Barrier(4)

    def stop_and_start() -> None:
        begun.wait(LIMIT_S)
        while True:
            kafka.brokers[2].stop()
            kafka.brokers[2].start()

    def stop() -> None:
        begun.wait(LIMIT_S)
        kafka.stop()

    works = iter([stop_and_start, stop_and_start, stop_and_start, stop])

    def work() -> None:
        next(works)()

    raised = in_threads(4, work)
    assert [(type(error), str(error)[:26]) for error in raised] == [(RuntimeError, "the cluster is not running")] * 3
