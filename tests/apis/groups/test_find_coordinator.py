"""FindCoordinator, every version (apis/groups/find_coordinator.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import served_versions
from support.offsets import FIND_COORDINATOR, find, with_coordinator
from support.simulation import SimulatedClient, Simulation

NOT_AVAILABLE, INVALID_REQUEST = 15, 42
SHARE_KEY = "group:AAAAAAAAAAAAAAAAAAAAAQ:0"
SHARE_KEY_OF_100 = "group:AAAAAAAAAAAAAAAAAAAAAQ:100"


@pytest.fixture
def simulation() -> Simulation:
    return Simulation(brokers=3)


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


def told(answer: Any) -> list[tuple[int, int]]:
    """Return error and node of each key."""
    coordinators = answer.coordinators if hasattr(answer, "coordinators") else [answer]
    return [(coordinator.error_code, coordinator.node_id) for coordinator in coordinators]


@pytest.mark.parametrize("version", served_versions(FIND_COORDINATOR))
def test_the_first_request_creates_the_topic(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    assert told(find(client, "g", version=version)) == [(NOT_AVAILABLE, -1)]
    simulation.settle()

    topic = simulation.cluster.metadata.topic("__consumer_offsets")
    assert topic is not None
    assert len(topic.partitions) == 50
    assert dict(topic.configs) == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }
    assert {len(partition.replicas) for partition in topic.partitions} == {3}
    partition = topic.partitions[103 % 50]  # "g".hashCode() is 103
    assert told(find(client, "g", version=version)) == [(0, partition.leader_id)]


@pytest.mark.parametrize(("brokers", "replicas"), [(1, 1), (2, 2), (5, 3)])
def test_it_has_as_many_replicas_as_there_are_brokers_at_most_3(brokers: int, replicas: int) -> None:
    simulation = Simulation(brokers=brokers)
    find(simulation.connect(), "g")
    assert len(simulation.partition("__consumer_offsets").replicas) == replicas


def test_what_is_set_holds_and_may_never_be_possible() -> None:
    simulation = Simulation(
        brokers=1, config={"offsets.topic.replication.factor": "3", "offsets.topic.num.partitions": "7"}
    )
    client = simulation.connect()
    for _ in range(2):
        assert told(find(client, "g")) == [(NOT_AVAILABLE, -1)]
    assert simulation.cluster.metadata.topic("__consumer_offsets") is None


def test_it_moves_with_the_leader(simulation: Simulation, client: SimulatedClient) -> None:
    with_coordinator(simulation)
    answer = find(client, "a", "b")
    assert [
        (coordinator.key, coordinator.error_code, coordinator.node_id, coordinator.error_message)
        for coordinator in answer.coordinators
    ] == [
        ("a", 0, 1, ""),
        ("b", 0, 1, ""),
    ]
    simulation.move_leader(2, "__consumer_offsets")
    assert told(find(client, "a")) == [(0, 2)]


def test_a_coordinator_partition_without_a_leader(simulation: Simulation) -> None:
    with_coordinator(simulation, replicas=1)
    client = simulation.connect(2)
    simulation.stop(1)
    assert told(find(client, "g")) == [(NOT_AVAILABLE, -1)]


@pytest.mark.parametrize("version", served_versions(FIND_COORDINATOR, at_least=1))
@pytest.mark.parametrize(
    ("key_type", "key", "error"),
    [
        (1, "t", NOT_AVAILABLE),
        (2, "s", INVALID_REQUEST),
        (2, SHARE_KEY, None),
        (2, SHARE_KEY_OF_100, None),
        (3, "x", 42),
        (-1, "x", 42),
    ],
)
def test_other_types(client: SimulatedClient, version: int, key_type: int, key: str, error: int | None) -> None:
    if error is None:
        error = NOT_AVAILABLE if version >= 6 else INVALID_REQUEST
    assert told(find(client, key, version=version, key_type=key_type)) == [(error, -1)]


@pytest.mark.parametrize(
    "key",
    ["", ":a:0", "g:AAAAAAAAAAAAAAAAAAAAAQ", "g:short:0", "g:AAAAAAAAAAAAAAAAAAAAAQ:x", "g:AAAAAAAAAAAAAAAAAAAAAQ:0:1"],
)
def test_what_is_no_share_partition(client: SimulatedClient, key: str) -> None:
    assert told(find(client, key, version=6, key_type=2)) == [(INVALID_REQUEST, -1)]


@pytest.mark.parametrize("version", [1, 3])
def test_errors_have_words_up_to_version_3(client: SimulatedClient, version: int) -> None:
    answer = find(client, "g", version=version)
    assert answer.error_message == "The coordinator is not available."
