"""connections.max.idle.ms of the producer: which connections are closed, when, and what happens to their requests."""

from __future__ import annotations

import pytest

from fakebroker.producer.client.connections import Connections
from fakebroker.producer.client.effects import CloseConnection, Connect
from fakebroker.producer.client.idle_expiry import IdleExpiryManager
from fakebroker.producer.journal.events import Disconnected, RequestSent
from fakebroker.producer.journal.journal import ProducerJournal
from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.client_request import ClientRequest, ExpectedBroker
from fakebroker.producer.network.node_api_versions import API_VERSIONS, ApiVersion
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.testing.producing.simulated_producers import SimulatedProducers
from fakebroker.testing.simulation import Simulation

both_generations = pytest.mark.parametrize("generation", ["2.0", "4.3"])
IDLE_MS = 1_000
POLL_PERIOD_MS = 5_000  # request.timeout.ms: a sender that has nothing to do polls this often


def test_each_poll_expires_the_least_recently_used_connection() -> None:
    idle = IdleExpiryManager(IDLE_MS, 0)
    for node, at_ms in ((1, 0), (2, 10), (3, 20), (1, 30)):
        idle.update(node, at_ms)
    assert idle.next_ms() == 1_011
    assert idle.poll_expired(1_010) is None, "idle for exactly the limit is not too long"
    assert idle.poll_expired(5_000) == 2
    assert idle.poll_expired(5_000) == 3
    assert idle.poll_expired(5_000) == 1
    assert idle.poll_expired(5_000) is None
    assert idle.next_ms() is None
    idle.update(4, 5_001)
    idle.update(5, 5_001)
    idle.remove(4)
    idle.remove(4)
    assert idle.poll_expired(6_001) is None
    assert idle.poll_expired(6_002) == 5
    idle.check_invariants()


def test_activity_with_an_earlier_time_counts_from_the_latest_time_so_far() -> None:
    idle = IdleExpiryManager(IDLE_MS, 0)
    idle.update(1, 20)
    idle.update(2, 5)
    idle.check_invariants()
    assert [idle.poll_expired(1_021), idle.poll_expired(1_021)] == [1, 2]


def test_a_negative_idle_time_closes_no_connection() -> None:
    idle = IdleExpiryManager(-1, 0)
    idle.update(1, 0)
    assert idle.next_ms() is None
    assert idle.poll_expired(2**62) is None


def test_a_connection_attempt_that_takes_too_long_is_closed_as_idle() -> None:
    connections = Connections(ProducerConfig("4.3", {"connections.max.idle.ms": IDLE_MS}), 0)
    connections.connect(Node(1, "host", 9092), 0)
    assert connections.take(IDLE_MS).disconnected == []
    assert connections.take(IDLE_MS + 1).disconnected == [1]
    assert connections.take_effects() == [Connect(1, "host", 9092), CloseConnection(1)]
    assert not connections.connected(1, IDLE_MS + 2), "a connection that was closed as idle was established"
    assert not connections.lost(1)


def test_connect_read_and_write_are_activity_and_a_lost_connection_is_removed() -> None:
    connections = Connections(ProducerConfig("4.3", {"connections.max.idle.ms": IDLE_MS}), 0)
    connections.connect(Node(1, "host", 9092), 0)
    connections.connected(1, 10)
    assert connections.next_idle_ms() == 1_011
    connections.send(ClientRequest(1, ApiVersion(API_VERSIONS, 0, 0), ExpectedBroker(), 0, 20, 100), 20)
    assert connections.next_idle_ms() == 1_021
    assert not connections.received(1, b"\0\0", 30), "a part of a length is no whole response"
    assert connections.next_idle_ms() == 1_031
    connections.connect(Node(2, "host", 9093), 40)
    connections.close(1)
    assert connections.next_idle_ms() == 1_041
    connections.lost(2)
    assert connections.next_idle_ms() is None
    assert connections.take(5_000).disconnected == [2]


class Scene:
    """A producer with three brokers. Broker 1 leads partition 0 of the topic "t", and broker 2 partition 1.

    outcomes  of records: time, number, and the offset or the name of the error
    """

    def __init__(self, generation: str, **settings: object) -> None:
        self.simulation = Simulation(3)
        self.simulation.topic("t", 2, 1)
        self.producers = SimulatedProducers(self.simulation)
        given = {
            "acks": "1",
            "connections.max.idle.ms": IDLE_MS,
            "enable.idempotence": False,
            "linger.ms": 0,
            "request.timeout.ms": POLL_PERIOD_MS,
            "retries": 0,
        } | {name.replace("_", "."): value for name, value in settings.items()}
        config = ProducerConfig(generation, given)
        self.journal: ProducerJournal = self.producers.new_journal(config)
        self.client = self.producers.add(config, journal=self.journal)
        self.outcomes: list[tuple[int, int, int | str]] = []

    def send(self, record: int, partition: int) -> None:
        self.client.producer.send(
            "t", b"v", 0, self.producers.now_ms, None, partition, (),
            lambda metadata, error: self.outcomes.append(
                (self.simulation.elapsed_ms, record, type(error).__name__ if metadata is None else metadata.offset)
            ),
        )  # fmt: skip
        self.client.settle()

    def advance(self, ms: int) -> None:
        self.producers.advance(ms)
        self.client.producer.check_invariants()

    def disconnections(self) -> list[tuple[int, str]]:
        """Return node and reason of each connection that ended."""
        return [(event.node, event.reason) for event in self.journal if isinstance(event, Disconnected)]


@both_generations
def test_an_unused_connection_is_closed_and_opened_again_when_needed(generation: str) -> None:
    scene = Scene(generation)
    scene.send(1, partition=0)
    scene.advance(20)
    scene.send(2, partition=1)
    scene.advance(20)
    for record in range(3, 53):
        scene.send(record, partition=0)
        scene.advance(50)
    assert (2, "idle") in scene.disconnections()
    assert (1, "idle") not in scene.disconnections()
    scene.send(100, partition=1)
    scene.advance(50)
    assert scene.outcomes[-1][1:] == (100, 1)
    assert [reason for _, reason in scene.disconnections()] == ["idle"] * len(scene.disconnections())


@both_generations
def test_a_poll_closes_one_idle_connection_and_then_metadata_is_requested(generation: str) -> None:
    """No timer wakes the sender when a connection becomes idle. After a connection has closed, the producer requests
    metadata at once over another one. The next poll closes the next connection."""
    scene = Scene(generation)
    for record, partition in enumerate((0, 1)):
        scene.send(record, partition)
        scene.advance(20)
    scene.advance(POLL_PERIOD_MS - 100)
    assert scene.disconnections() == []
    known = len(list(scene.journal))
    scene.advance(200)
    first, metadata_request, second, *_ = list(scene.journal)[known:]
    assert isinstance(first, Disconnected)
    assert isinstance(metadata_request, RequestSent)
    assert isinstance(second, Disconnected)
    assert (first.reason, metadata_request.api, second.reason) == ("idle", "Metadata", "idle")
    assert metadata_request.connection not in (first.connection, second.connection)
    assert first.mono_ms == metadata_request.mono_ms == second.mono_ms


@both_generations
def test_waiting_for_a_response_is_no_activity(generation: str) -> None:
    """The request fails as if its connection had broken, although its own timeout is not over."""
    scene = Scene(generation, request_timeout_ms=20_000)
    for record, partition in enumerate((0, 1)):
        scene.send(record, partition)
        scene.advance(20)
    scene.simulation.pause(2)
    scene.outcomes.clear()
    scene.send(2, partition=1)
    sent_ms = scene.simulation.elapsed_ms
    for record in range(3, 33):
        scene.send(record, partition=0)
        scene.advance(50)
    ((at_ms, _, error),) = [outcome for outcome in scene.outcomes if outcome[1] == 2]
    assert error == "BrokerError"
    assert IDLE_MS < at_ms - sent_ms <= IDLE_MS + 60
    assert (2, "idle") in scene.disconnections()


@both_generations
def test_the_time_when_a_connection_becomes_idle_is_a_limit_of_the_client(generation: str) -> None:
    scene = Scene(generation)
    scene.send(1, partition=0)
    scene.advance(20)
    limit_ms = min(scene.client.producer.client.time_outs_ms())
    assert IDLE_MS - 20 < limit_ms - scene.producers.now_ms < IDLE_MS


@both_generations
def test_a_producer_with_a_negative_idle_time_keeps_its_connections(generation: str) -> None:
    scene = Scene(generation, connections_max_idle_ms=-1)
    scene.send(1, partition=0)
    scene.advance(100 * POLL_PERIOD_MS)
    assert scene.disconnections() == []
