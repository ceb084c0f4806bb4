"""Connection states: reconnect back-off, connection setup timeout, and throttling by a broker."""

from __future__ import annotations

import pytest

from fakebroker.producer.network.connection_states import ClusterConnectionStates
from fakebroker.producer.producer_config import LONG_MAX, ProducerConfig

GENERATIONS = ("2.0", "4.3")
both = pytest.mark.parametrize("generation", GENERATIONS)


def states(generation: str, random: float = 0.5, jitter: float = 0.0, **settings: int) -> ClusterConnectionStates:
    given = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 300} | {
        name.replace("_", "."): value for name, value in settings.items()
    }
    return ClusterConnectionStates(ProducerConfig(generation, given), lambda: random, jitter)


@both
def test_each_failure_doubles_the_wait_up_to_a_maximum(generation: str) -> None:
    connections = states(generation)
    now_ms = 1_000
    for backoff_ms in (50, 100, 200, 300, 300):
        assert connections.can_connect(1, now_ms)
        connections.connecting(1, now_ms, "host")
        connections.disconnected(1, now_ms)
        assert connections.connection_delay_ms(1, now_ms) == backoff_ms
        assert connections.is_blacked_out(1, now_ms + backoff_ms - 1)
        assert not connections.can_connect(1, now_ms + backoff_ms - 1)
        now_ms += backoff_ms
    connections.connecting(1, now_ms, "host")
    connections.checking_api_versions(1)
    connections.ready(1)
    connections.disconnected(1, now_ms)
    assert connections.connection_delay_ms(1, now_ms) == 50, "it was ready: all is forgiven"


@pytest.mark.parametrize(
    ("generation", "random", "backoff_ms"),
    [("2.0", 0.0, 240), ("2.0", 0.999, 359), ("4.3", 0.0, 240), ("4.3", 0.999, 300)],
)
def test_chance_moves_a_wait_by_a_fifth_and_4_3_keeps_to_the_maximum(
    generation: str, random: float, backoff_ms: int
) -> None:
    connections = states(generation, random, jitter=0.2)
    for _ in range(6):
        connections.connecting(1, 0, "host")
        connections.disconnected(1, 0)
    assert connections.connection_delay_ms(1, 0) == backoff_ms


def test_setting_up_takes_no_longer_than_it_may() -> None:
    connections = states("4.3", socket_connection_setup_timeout_ms=100, socket_connection_setup_timeout_max_ms=300)
    now_ms = 0
    for limit_ms in (100, 200, 300, 300):
        connections.connecting(1, now_ms, "host")
        assert connections.connection_delay_ms(1, now_ms) == limit_ms
        assert connections.nodes_with_connection_setup_timeout(now_ms + limit_ms) == []
        assert connections.nodes_with_connection_setup_timeout(now_ms + limit_ms + 1) == [1]
        now_ms += limit_ms + 1
        connections.disconnected(1, now_ms)
        assert connections.nodes_with_connection_setup_timeout(now_ms + 1_000) == []
        connections.check_invariants()


def test_the_next_deadline_is_that_of_the_connection_set_up_first() -> None:
    connections = states("4.3", socket_connection_setup_timeout_ms=100, socket_connection_setup_timeout_max_ms=300)
    assert connections.time_outs_ms() == []
    connections.connecting(1, 1_000, "host")
    connections.connecting(2, 1_040, "host")
    assert min(connections.time_outs_ms()) == 1_101, "one millisecond after the timeout"
    assert connections.nodes_with_connection_setup_timeout(1_100) == []
    assert connections.nodes_with_connection_setup_timeout(1_101) == [1]
    connections.disconnected(1, 1_101)
    assert min(connections.time_outs_ms()) == 1_141


@pytest.mark.parametrize("generation", ["2.0", "2.6"])
def test_before_kip_601_connection_setup_has_no_timeout(generation: str) -> None:
    connections = states(generation)
    connections.connecting(1, 0, "host")
    assert connections.connection_delay_ms(1, 0) == LONG_MAX
    assert connections.nodes_with_connection_setup_timeout(10**9) == []
    assert connections.time_outs_ms() == []


@both
def test_a_broker_that_throttles_is_not_ready_and_the_time_never_becomes_earlier(generation: str) -> None:
    connections = states(generation)
    connections.connecting(1, 0, "host")
    connections.ready(1)
    connections.throttle(1, 100)
    connections.throttle(1, 40)
    assert not connections.is_ready(1, 99)
    assert not connections.has_ready_nodes(99)
    assert connections.poll_delay_ms(1, 60) == 40
    assert connections.is_ready(1, 100)
    assert connections.poll_delay_ms(1, 100) == LONG_MAX


@pytest.mark.parametrize(("generation", "delay_ms"), [("2.0", 100), ("4.3", 50)])
def test_a_node_that_moved_begins_anew_in_4_3(generation: str, delay_ms: int) -> None:
    connections = states(generation)
    for host in ("here", "there"):
        connections.connecting(1, 0, host)
        connections.disconnected(1, 0)
    assert connections.connection_delay_ms(1, 0) == delay_ms


@both
def test_a_node_that_is_removed_is_unknown(generation: str) -> None:
    connections = states(generation)
    connections.connecting(1, 5, "host")
    assert connections.is_connecting(1)
    assert connections.last_connect_attempt_ms(1) == 5
    connections.remove(1)
    connections.check_invariants()
    assert connections.can_connect(1, 5)
    assert connections.last_connect_attempt_ms(1) == 0
    assert not connections.is_disconnected(1)
