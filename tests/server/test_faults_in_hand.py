"""Faults and barriers of a cluster that runs, over sockets: from any thread, and in an event loop."""

from __future__ import annotations

import asyncio
import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.raw_client import RawClient
from support.requests import Produced, produce
from support.watchdog import LIMIT_S, wait_until

from fakebroker import AsyncFakeCluster, FakeCluster, Fault


class Raw:
    """A socket to the first broker, which leads all of t."""

    def __init__(self, kafka: FakeCluster | AsyncFakeCluster) -> None:
        host, port = kafka.bootstrap_servers.split(",")[0].split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=LIMIT_S)

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(frames))

    def answer(self) -> dict[int, tuple[int, int]]:
        """Return (error, offset) by partition."""
        size = int.from_bytes(self._take(4), "big")
        return Produced(self._take(size)).partitions

    def _take(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.socket.close()


def test_a_fault_is_added_acts_is_waited_for_and_removed() -> None:
    with FakeCluster(brokers=1) as kafka, Raw(kafka) as client:
        kafka.create_topic("t", replication_factor=1)
        fault = kafka.faults.add(when={"api": "Produce", "topic": "t"}, do="NOT_ENOUGH_REPLICAS", times=2)
        assert fault.id == "f1"
        client.send(produce("t"), produce("t"), produce("t"))
        assert fault.wait(2) == 2
        assert [client.answer()[0] for _ in range(3)] == [(19, -1), (19, -1), (0, 0)]
        assert not fault.is_installed
        other = kafka.faults.add(Fault({"api": "Fetch"}, "drop"))
        assert [added.id for added in kafka.faults.list()] == ["f1", "f2"]
        assert [added.id for added in kafka.faults.unfired()] == ["f2"]
        assert kafka.faults.get("f2").to_json()["do"] == "drop"
        with pytest.raises(KeyError, match="there is no fault 'f3': there are f1, f2"):
            kafka.faults.get("f3")
        other.remove()
        kafka.faults.clear()
        assert len(kafka.faults) == 0


def test_a_wait_that_times_out_reports_hits_and_matches() -> None:
    with FakeCluster(brokers=1) as kafka:
        fault = kafka.faults.add(when={"api": "Produce"}, do="disconnect")
        with pytest.raises(TimeoutError) as raised:
            fault.wait(timeout=0.01)
        assert str(raised.value) == (
            "fault f1 (disconnect before_work of api=Produce) fired 0 times (expected 1) in 0.01 s; "
            "it matched 0 requests"
        )


def test_a_fault_that_can_never_fire_is_refused() -> None:
    with FakeCluster(brokers=1) as kafka:
        with pytest.raises(ValueError, match="Metadata has no 'partition'"):
            kafka.faults.add(when={"api": "Metadata", "partition": 0}, do="drop")
        with pytest.raises(ValueError, match="not both"):
            kafka.faults.add(Fault(do="disconnect"), do="drop")


def test_a_fault_that_could_not_act_says_so() -> None:
    with FakeCluster(brokers=1) as kafka, Raw(kafka) as client:
        kafka.create_topic("t", replication_factor=1)
        with pytest.raises(ValueError, match="'kill' can never act: there is no broker 9: the ids are 1"):
            kafka.faults.add(when={"api": "Produce"}, do={"kill": 9})
        fault = kafka.faults.add(when={"api": "Produce"}, do="move_leader")
        assert (fault.problem, "problem" in fault.to_json()) == (None, False)
        client.send(produce("t"))
        assert client.answer() == {0: (0, 0)}
        assert fault.hits == 1
        assert fault.problem == "could not do 'move_leader': No other replica is in the ISR of t-0."
        assert fault.to_json()["problem"] == fault.problem
        assert [added.id for added in kafka.faults.unfired()] == ["f1"]


def test_a_fault_that_never_fired_is_logged_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "fakebroker"):
        with FakeCluster(brokers=1) as kafka:
            kafka.faults.add(when={"api": "EndTxn"}, do="disconnect")
        assert "fault f1 never fired: disconnect before_work of api=EndTxn (it matched 0 requests)" in caplog.text
        assert [fault.id for fault in kafka.faults.unfired()] == ["f1"]


def test_only_the_first_of_many_unfired_faults_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with FakeCluster(brokers=1) as kafka:
        for _ in range(500):
            kafka.faults.add(when={"api": "EndTxn"}, do="disconnect")

    messages = [record.getMessage() for record in caplog.records if "never fired" in record.getMessage()]
    assert len(messages) == 11
    assert messages[-1] == "490 more faults never fired"
    assert len(kafka.faults.unfired()) == 500


def test_a_barrier_from_any_thread() -> None:
    with FakeCluster(brokers=1) as kafka, ThreadPoolExecutor() as threads:
        kafka.create_topic("t", partitions=3, replication_factor=1)
        with kafka.hold(api="Produce", topic="t", n=3) as held, Raw(kafka) as a, Raw(kafka) as b, Raw(kafka) as c:
            waiting = threads.submit(held.wait)
            for index, client in enumerate((a, b, c)):
                client.send(produce("t", index))
            assert waiting.result() == 3
            assert held.count == 3
            assert held.release(1) == 1
            assert a.answer() == {0: (0, 0)}
            assert held.release() == 2
            assert [b.answer(), c.answer()] == [{1: (0, 0)}, {2: (0, 0)}]
            a.send(produce("t", 0))
            held.wait(1)
        assert kafka.faults.list() == []


def test_connections_are_reset_cut_and_refused() -> None:
    with FakeCluster(brokers=1) as kafka:
        kafka.create_topic("t", replication_factor=1)
        kafka.faults.add(when={"api": "Produce"}, do={"disconnect": "reset"})
        with Raw(kafka) as client:
            client.send(produce("t"))
            with pytest.raises(ConnectionResetError):
                client.answer()
        kafka.faults.add(when={"api": "Produce"}, do={"cut": 6})
        with Raw(kafka) as client:
            client.send(produce("t"))
            assert len(client._take(6)) == 6
            with pytest.raises(EOFError):
                client._take(1)
        kafka.faults.add(when={"at": "connect"}, do="disconnect")
        with Raw(kafka) as client, pytest.raises((EOFError, ConnectionResetError)):
            client.answer()


def test_a_reset_cluster_has_no_faults() -> None:
    with FakeCluster(brokers=1) as kafka:
        kafka.faults.add(when={"api": "Produce"}, do="disconnect")
        kafka.reset()
        assert kafka.faults.list() == []
        assert kafka.faults.add(when={"api": "Produce"}, do="disconnect").id == "f1"


def test_in_an_event_loop() -> None:
    async def main() -> None:
        async with AsyncFakeCluster(brokers=1, clock="manual") as kafka:
            kafka.create_topic("t", replication_factor=1)
            fault = kafka.faults.add(when={"api": "Produce"}, do={"delay": 1_000})
            with Raw(kafka) as client:
                client.send(produce("t"))
                assert await fault.wait() == 1
                assert await kafka.clock.advance_to_next_deadline() == 1_000
                assert await asyncio.to_thread(client.answer) == {0: (0, 0)}
                async with kafka.hold(api="Produce") as held:
                    client.send(produce("t"))
                    assert await held.wait() == 1
                assert await asyncio.to_thread(client.answer) == {0: (0, 1)}

    asyncio.run(main())


SCENARIO = """
brokers: 1
topics:
  - {name: t, replication_factor: 1}
faults:
  - when: {api: Produce, topic: t}
    do: NOT_ENOUGH_REPLICAS
  - do: {delay: 1}
    times: {every: 2}
"""


def test_faults_of_a_scenario_are_there_from_the_start_and_after_a_reset(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    with FakeCluster.from_scenario(path) as kafka:
        for _ in range(2):
            assert [str(fault.fault) for fault in kafka.faults] == [
                "error NOT_ENOUGH_REPLICAS before_work of api=Produce, topic=t",
                "delay ms=1 before_work",
            ]
            with Raw(kafka) as client:
                client.send(produce("t"))
                assert client.answer() == {0: (19, -1)}
            kafka.reset()


def test_a_mistake_in_a_fault_of_a_scenario_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO.replace("topic: t}", "tpic: t}"))
    with pytest.raises(ValueError, match=r"line 6, column 5: 'when' has no 'tpic': 'topic' may be meant"):
        FakeCluster.from_scenario(path)


def test_a_broker_that_a_fault_starts_listens_on_its_port() -> None:
    def is_let_in() -> bool:
        try:
            with RawClient(kafka.brokers[3].endpoint) as third:
                return third.ask(produce("t", timeout_ms=300)) != b""
        except ConnectionRefusedError:
            return False

    with FakeCluster(brokers=3) as kafka, Raw(kafka) as client:
        kafka.create_topic("t")
        kafka.brokers[3].stop()
        assert not is_let_in()
        kafka.faults.add(when={"api": "Produce"}, do={"start": 3})
        client.send(produce("t"))
        assert client.answer()[0] == (0, 0)
        wait_until(is_let_in, "that it listens")
