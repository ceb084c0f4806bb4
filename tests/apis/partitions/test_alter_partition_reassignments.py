"""AlterPartitionReassignments and ListPartitionReassignments: replicas that are added and removed
(core/controller/)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask, served_versions
from support.requests import Produced, batch, produce
from support.simulation import SimulatedClient, Simulation

ALTER, LIST = 45, 46
NONE, UNKNOWN_TOPIC, NOT_LEADER, BAD_FACTOR, BAD_ASSIGNMENT, NOT_UNDER_WAY = 0, 3, 6, 38, 39, 85


@pytest.fixture
def simulation() -> Simulation:
    """Return a cluster of 4 brokers with a record on the brokers 1 and 2."""
    running = Simulation(brokers=4)
    running.topic("t", replicas=2)
    running.connect().send(produce("t", records=batch(b"first")))
    return running


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


def reassign(
    client: SimulatedClient, replicas: list[int] | None, version: int = 1, may_change_factor: bool = True
) -> int:
    part = {"partition_index": 0, "replicas": replicas}
    answer = ask(
        client,
        ALTER,
        version,
        timeout=timedelta(seconds=1),
        allow_replication_factor_change=may_change_factor,
        topics=[{"name": "t", "partitions": [part]}],
    )
    assert answer.error_code == NONE
    [topic] = answer.responses
    [partition] = topic.partitions
    return int(partition.error_code)


def under_way(client: SimulatedClient) -> list[Any]:
    answer = ask(client, LIST, 0, timeout=timedelta(seconds=1), topics=None)
    return [
        (list(partition.replicas), list(partition.adding_replicas), list(partition.removing_replicas))
        for topic in answer.topics
        for partition in topic.partitions
    ]


@pytest.mark.parametrize("version", served_versions(ALTER))
@pytest.mark.parametrize("wanted", [[1, 2], [2, 1], [1], [2], [1, 2, 3], [3], [4, 3], [3, 1, 4]])
def test_partitions_go_over_with_all_that_they_have(
    simulation: Simulation, client: SimulatedClient, version: int, wanted: list[int]
) -> None:
    assert reassign(client, wanted, version) == NONE
    simulation.advance(1)
    partition = simulation.partition()
    assert (partition.replica_ids, partition.isr_ids) == (wanted, wanted)
    assert partition.leader_id in wanted
    assert [replica.log.log_end_offset for replica in partition.replicas.values()] == [1] * len(wanted)
    assert partition.high_watermark == 1
    assert under_way(client) == []
    leader = simulation.connect(partition.leader_id)
    leader.send(produce("t"))
    assert Produced(leader.answers[-1][1]).partitions == {0: (NONE, 1)}
    assert not partition.is_reassigning
    simulation.cluster.check_invariants()


def test_a_new_replica_that_is_behind_is_waited_for(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.followers("lagging:50")
    reassign(client, [1, 3])
    assert under_way(client) == [([1, 3, 2], [3], [2])]
    assert simulation.partition().isr_ids == [1, 2]
    simulation.advance(49)
    assert under_way(client) == [([1, 3, 2], [3], [2])]
    simulation.advance(2)
    assert under_way(client) == []
    assert simulation.partition().replica_ids == [1, 3]


def test_a_frozen_replica_is_waited_for_without_end(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.followers("frozen")
    reassign(client, [1, 2, 3])
    simulation.advance(60_000)
    assert under_way(client) == [([1, 2, 3], [3], [])]
    simulation.followers("instant")
    simulation.advance(1)
    assert under_way(client) == []
    simulation.cluster.check_invariants()


def test_it_can_be_taken_back(simulation: Simulation, client: SimulatedClient) -> None:
    assert reassign(client, None) == NOT_UNDER_WAY
    simulation.followers("frozen")
    reassign(client, [3, 4])
    assert under_way(client) == [([3, 4, 1, 2], [3, 4], [1, 2])]
    assert reassign(client, None) == NONE
    assert under_way(client) == []
    partition = simulation.partition()
    assert (partition.replica_ids, partition.isr_ids, partition.leader_id) == ([1, 2], [1, 2], 1)
    simulation.advance(60_000)
    simulation.cluster.check_invariants()


def test_a_request_that_waits_for_a_removed_replica_completes(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.followers("frozen")
    client.send(produce("t", timeout_ms=5_000))
    assert client.answers == []
    simulation.advance(5)
    reassign(simulation.connect(), [1])
    [(at, frame)] = client.answers
    assert (at, Produced(frame).partitions) == (5, {0: (NONE, 1)})


def test_a_request_parked_at_a_removed_leader_gets_an_error(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.followers("frozen")
    client.send(produce("t", timeout_ms=5_000, version=10))
    reassign(simulation.connect(), [2])
    [(_, frame)] = client.answers
    assert Produced(frame, 10).partitions == {0: (NOT_LEADER, 1)}


@pytest.mark.parametrize(
    ("replicas", "error"),
    [([], BAD_ASSIGNMENT), ([1, 9], BAD_ASSIGNMENT), ([1, 1], BAD_ASSIGNMENT), ([1, 2, 3], BAD_FACTOR)],
)
def test_what_cannot_be(client: SimulatedClient, replicas: list[int], error: int) -> None:
    assert reassign(client, replicas, may_change_factor=False) == error


def test_a_broker_that_is_added_stops_and_comes_back(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.stop(3)
    reassign(client, [1, 3])
    simulation.advance(1)
    assert under_way(client) == [([1, 3, 2], [3], [2])]
    simulation.stop(2)
    simulation.advance(1)
    assert under_way(client) == [([1, 3, 2], [3], [2])]
    simulation.start(3)
    simulation.advance(1)
    assert under_way(client) == []
    assert simulation.partition().isr_ids == [1, 3]
    simulation.start(2)
    simulation.cluster.check_invariants()


def test_a_topic_that_goes_meanwhile(simulation: Simulation, client: SimulatedClient) -> None:
    reassign(client, [1, 3])
    simulation.delete_topic()
    simulation.advance(1)
    assert under_way(client) == []
    simulation.cluster.check_invariants()


def test_the_memory_of_a_replica_that_goes_is_given_back() -> None:
    simulation = Simulation(brokers=3)
    simulation.topic("t", replicas=1)
    client = simulation.connect()
    for _ in range(5):
        client.send(produce("t", records=batch(b"x" * 100)))
    before = simulation.cluster.controller.log_memory.used_bytes
    reassign(client, [3])
    simulation.advance(1)
    assert simulation.cluster.controller.log_memory.used_bytes == before
    simulation.cluster.check_invariants()
