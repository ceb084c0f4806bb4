"""Connections in virtual time: limits, idle close, and no leftovers of closed ones."""

from __future__ import annotations

import gc

import pytest
from support.requests import Produced, batch, fetch, metadata, produce
from support.simulation import START_MONO_MS, START_WALL_MS, SimulatedClient, Simulation

from fakebroker.cluster.cluster import Cluster
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.core.replication.behaviour import FROZEN
from fakebroker.network.connection import ChannelMuteState
from fakebroker.testing.connection_lifetime import lifetime_of

IDLE_MS = 1_000


def simulated(followers: str = "instant", **config: object) -> Simulation:
    """Return a simulation; settings have underscores in place of dots."""
    simulation = Simulation(followers=followers, config={k.replace("_", "."): str(v) for k, v in config.items()})
    simulation.topic()
    return simulation


def answered(client: SimulatedClient) -> list[tuple[int, int]]:
    return [(at_ms, Produced(frame).correlation_id) for at_ms, frame in client.answers]


# Idle close (Selector.IdleExpiryManager): more than connections.max.idle.ms without a byte read or written.


def test_a_connection_that_says_nothing_is_closed_when_idle_for_more_than_the_maximum() -> None:
    simulation = simulated(connections_max_idle_ms=IDLE_MS)
    client = simulation.connect()
    simulation.advance(IDLE_MS)
    assert client.closed is None
    simulation.advance(1)
    assert client.connection.state is ChannelMuteState.CLOSED
    assert client.closed == "idle for more than 1000 ms (connections.max.idle.ms)"


def test_bytes_of_half_a_request_are_activity() -> None:
    simulation = simulated(connections_max_idle_ms=IDLE_MS)
    client = simulation.connect()
    simulation.advance(600)
    client.send(produce("t")[:7])
    simulation.advance(5_000)
    assert client.closed_ms == 600 + IDLE_MS + 1


def test_an_answer_is_activity_and_a_request_in_hand_is_none() -> None:
    simulation = simulated("frozen", connections_max_idle_ms=IDLE_MS)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=900))
    simulation.advance(5_000)
    assert answered(client) == [(900, 1)]
    assert client.closed_ms == 900 + IDLE_MS + 1


def test_a_muted_connection_with_a_request_in_hand_is_closed_and_the_append_stays() -> None:
    simulation = simulated("frozen", connections_max_idle_ms=IDLE_MS)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=3_000))
    simulation.advance(5_000)
    assert client.closed_ms == IDLE_MS + 1
    assert client.answers == []
    other = simulation.connect()
    other.send(produce("t", acks=1))
    assert Produced(other.answers[0][1]).partitions == {0: (0, 1)}


def test_a_throttled_connection_is_closed_as_well() -> None:
    simulation = simulated(connections_max_idle_ms=IDLE_MS)
    client = simulation.connect()
    simulation.cluster.members.client_quotas.alter(QuotaEntity("ANONYMOUS", None), {"producer_byte_rate": 1})
    client.send(produce("t"), produce("t"))
    assert client.connection.state is ChannelMuteState.THROTTLED
    simulation.advance(10**7)
    assert client.closed_ms == IDLE_MS + 1
    assert len(client.answers) == 1


def test_a_request_that_had_to_wait_is_activity_when_its_turn_comes() -> None:
    simulation = simulated("frozen", connections_max_idle_ms=IDLE_MS)
    client = simulation.connect()
    first = produce("t", acks=0, records=batch(bytes(10_000)))
    bound = (len(first) - 4) * 20 // 210  # 10.5 times as many bytes in 10 s: 500 ms
    simulation.cluster.members.client_quotas.alter(QuotaEntity("ANONYMOUS", None), {"producer_byte_rate": bound})
    client.send(first, produce("t", timeout_ms=60_000))
    while client.connection.state is ChannelMuteState.THROTTLED:
        simulation.advance(1)
    turn_ms = simulation.elapsed_ms
    assert 0 < turn_ms < IDLE_MS
    simulation.advance(60_000)
    assert client.closed_ms == turn_ms + IDLE_MS + 1


def test_an_answer_that_is_written_at_last_is_activity() -> None:
    simulation = simulated(connections_max_idle_ms=IDLE_MS)
    client = simulation.connect()
    client.send(produce("t"))
    client.take_answers(False)
    simulation.advance(700)
    client.take_answers(True)
    simulation.advance(5_000)
    assert client.closed_ms == 700 + IDLE_MS + 1


def test_one_timer_serves_all_connections_in_the_order_of_their_activity() -> None:
    simulation = simulated(connections_max_idle_ms=IDLE_MS)
    idle = simulation.cluster.sockets._idle._deadlines
    clients: list[SimulatedClient] = []
    for _ in range(50):
        clients.append(simulation.connect(broker_id=1 + len(clients) % 3))
        simulation.advance(10)
    for client in clients[::2]:
        client.send(metadata([]))
        simulation.advance(1)
    assert idle.num_pending() == 1
    simulation.advance(5_000)
    for number, client in enumerate(clients):
        last_ms = number * 10 if number % 2 else 500 + number // 2
        assert client.closed_ms == last_ms + IDLE_MS + 1
    assert idle.num_pending() == 0


@pytest.mark.slow
def test_a_negative_maximum_idle_time_closes_no_connection() -> None:
    simulation = simulated(connections_max_idle_ms=-1)
    client = simulation.connect()
    simulation.advance(10**8)
    client.send(metadata([]))
    assert client.closed is None
    assert len(client.answers) == 1


# Limits (SocketServer.ConnectionQuotas).


def test_above_the_maximum_of_an_address_a_connection_is_closed_at_once() -> None:
    simulation = simulated(max_connections_per_ip=2, max_connections_per_ip_overrides="10.0.0.9:1")
    first, second, third = (simulation.connect() for _ in range(3))
    assert (first.closed, second.closed) == (None, None)
    assert third.closed == ("10.0.0.1 already has the configured maximum of 2 connections (max.connections.per.ip)")
    assert simulation.connect(broker_id=2).closed is None  # each broker counts its own
    assert simulation.connect(address="10.0.0.2").closed is None
    assert simulation.connect(address="10.0.0.9").closed is None
    assert simulation.connect(address="10.0.0.9").closed is not None
    first.disconnect()
    assert simulation.connect().closed is None
    assert simulation.connect().closed is not None


def test_above_the_maximum_of_the_broker_a_connection_waits_unread_for_another_one_to_go() -> None:
    simulation = simulated(max_connections=2)
    first, second, third, fourth = (simulation.connect() for _ in range(4))
    for client in (first, third, fourth):
        client.send(metadata([]))
    assert [len(client.answers) for client in (first, third, fourth)] == [1, 0, 0]
    assert (third.reading_paused, third.connection.state) == (True, ChannelMuteState.WAITING)
    simulation.advance(60_000)
    second.disconnect()
    assert [(at_ms) for at_ms, _ in third.answers] == [60_000]
    assert not third.reading_paused
    assert fourth.answers == []
    first.disconnect()
    assert len(fourth.answers) == 1


def test_a_waiting_connection_is_not_idle_and_may_disconnect() -> None:
    simulation = simulated(max_connections=1, connections_max_idle_ms=IDLE_MS)
    first, second, third = (simulation.connect() for _ in range(3))
    simulation.advance(600)
    first.send(metadata([]))
    second.disconnect()
    simulation.advance(1_001)
    assert first.closed_ms == 1_601
    assert third.connection.state is ChannelMuteState.READY
    simulation.advance(5_000)
    assert third.closed_ms == 1_601 + 1_001


def test_the_address_is_judged_after_the_wait() -> None:
    simulation = simulated(max_connections=2, max_connections_per_ip=1)
    first = simulation.connect(address="10.0.0.1")
    simulation.connect(address="10.0.0.2")
    again, other = simulation.connect(address="10.0.0.2"), simulation.connect(address="10.0.0.3")
    assert (again.closed, other.closed) == (None, None)
    first.disconnect()
    assert again.closed is not None  # its place goes to the next one that waits
    assert other.connection.state is ChannelMuteState.READY


def test_a_bad_frame_frees_its_place() -> None:
    simulation = simulated(max_connections=1, socket_request_max_bytes=100)
    first, second = simulation.connect(), simulation.connect()
    first.send(b"\x00\x00\x00\x65")
    assert first.closed == "bad frame: The frame length 101 is above the limit of 100 bytes."
    assert second.connection.state is ChannelMuteState.READY


# What is left of a connection.


def cluster_with_frozen_followers() -> Cluster:
    cluster = Cluster(now(0), 3, BrokerConfig(), FROZEN)
    cluster.admin.create_topic(NewTopic("t", 1, 3), now(0))
    return cluster


def now(elapsed_ms: int) -> Now:
    return Now(START_MONO_MS + elapsed_ms, START_WALL_MS + elapsed_ms)


@pytest.mark.parametrize("gone_first", [True, False], ids=["the peer goes while parked", "the answer comes first"])
def test_nothing_holds_a_connection_that_has_gone_and_whose_request_is_over(gone_first: bool) -> None:
    cluster = cluster_with_frozen_followers()
    connection = cluster.open_connection(1, "peer", now(0))
    cluster.receive(connection, produce("t", timeout_ms=100) + produce("t")[:50], now(0))
    purgatory = cluster.brokers[1].replicas.produce_purgatory
    lifetime = lifetime_of(connection)
    assert purgatory.num_delayed() == 1
    if gone_first:
        cluster.connection_lost(connection, now(50))
        assert connection.decoder.buffered == 0  # nor what it had sent ahead
        cluster.take_effects()
        del connection
        gc.collect()
        assert lifetime() is not None  # the parked request will ask it
        cluster.advance_to(now(100))
    else:
        cluster.advance_to(now(100))
        cluster.connection_lost(connection, now(200))
        del connection
    cluster.take_effects()
    gc.collect()
    assert lifetime() is None, gc.get_referrers(lifetime())
    assert purgatory.num_delayed() == 0
    # The operation itself stays on the watch list until the next event there, as in Kafka.
    assert purgatory.watched() == 1


def test_nothing_is_left_of_a_cluster_that_is_forgotten_while_requests_wait() -> None:
    """All objects are one cycle, also through parked requests."""
    cluster = cluster_with_frozen_followers()
    connection = cluster.open_connection(1, "peer", now(0))
    cluster.receive(connection, produce("t", timeout_ms=100), now(0))
    assert cluster.brokers[1].replicas.produce_purgatory.num_delayed() == 1
    lifetime = lifetime_of(connection)
    del connection, cluster
    gc.collect()
    assert lifetime() is None


@pytest.mark.parametrize("how", ["idle", "limit", "throttled", "waiting"])
def test_nothing_holds_a_connection_however_it_ended(how: str) -> None:
    config = {"idle": {"connections_max_idle_ms": 10}, "limit": {"max_connections_per_ip": 1}}.get(how, {})
    cluster = Cluster(now(0), 1, BrokerConfig(**(config or {"max_connections": 1})))
    cluster.admin.create_topic(NewTopic("t", 1, 1), now(0))
    other = None if how in ("idle", "throttled") else cluster.open_connection(1, "other", now(0), "10.0.0.1")
    connection = cluster.open_connection(1, "peer", now(0), "10.0.0.1")
    if how == "throttled":
        cluster.members.client_quotas.alter(QuotaEntity("ANONYMOUS", None), {"producer_byte_rate": 1})
        cluster.receive(connection, produce("t"), now(1))
        assert connection.state is ChannelMuteState.THROTTLED
    cluster.advance_to(now(11))
    if how in ("throttled", "waiting"):
        cluster.connection_lost(connection, now(20))
    assert connection.state is ChannelMuteState.CLOSED
    cluster.take_effects()
    lifetime = lifetime_of(connection)
    del connection
    gc.collect()
    assert lifetime() is None, gc.get_referrers(lifetime())
    assert other is None or other.state is ChannelMuteState.READY


def test_a_peer_that_does_not_take_its_answer_is_not_read() -> None:
    simulation = simulated()
    client = simulation.connect()
    client.send(produce("t", correlation_id=1))
    client.take_answers(False)
    assert client.reading_paused
    client.send(produce("t", correlation_id=2), produce("t", correlation_id=3))
    simulation.advance(100)
    assert answered(client) == [(0, 1)]
    client.take_answers(True)
    assert answered(client) == [(0, 1), (100, 2), (100, 3)]
    assert not client.reading_paused


def test_answers_larger_than_the_socket_takes_are_written_before_more_is_handled() -> None:
    simulation = simulated()
    client, other = simulation.connect(), simulation.connect()
    other.send(produce("t", acks=1, records=batch(bytes(60_000))))
    client.take_answers(False)
    client.send(*(fetch("t", correlation_id=number) for number in range(9)))
    assert client.answers == []
    simulation.cluster.set_write_blocked(client.connection, False, simulation.now)
    simulation.settle()
    assert len(client.answers) == 2  # 120 000 bytes that the peer does not take
    client.take_answers(True)
    assert len(client.answers) == 9
    assert not client.reading_paused


def test_many_small_answers_count_together_but_only_those_of_one_turn() -> None:
    simulation = simulated()
    client, other = simulation.connect(), simulation.connect()
    other.send(produce("t", acks=1, records=batch(bytes(30_000))))
    client._takes_answers = False  # and the broker does not know it until it asks
    for number in range(3):
        client.send(fetch("t", correlation_id=number))
    assert len(client.answers) == 3
    client.send(*(fetch("t", correlation_id=number) for number in range(9)))
    assert len(client.answers) == 3 + 4
    client.take_answers(True)
    assert len(client.answers) == 3 + 9
