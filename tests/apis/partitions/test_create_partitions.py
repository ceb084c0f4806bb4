"""CreatePartitions, every version (apis/partitions/create_partitions.py). The golden transcripts have Kafka's
responses; these tests cover the rest."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask, served_versions
from support.requests import Produced, produce
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.controller.partition_creation import NewPartitions

CREATE_PARTITIONS = 37
NONE, UNKNOWN_TOPIC, INVALID_PARTITIONS, INVALID_ASSIGNMENT, INVALID_REQUEST = 0, 3, 37, 39, 42


@pytest.fixture
def simulation() -> Simulation:
    running = Simulation(brokers=3)
    running.topic("t", partitions=2, replicas=2)
    return running


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


def more(name: str, count: int, assignments: list[list[int]] | None = None) -> dict[str, Any]:
    entries = None if assignments is None else [{"broker_ids": ids} for ids in assignments]
    return {"name": name, "count": count, "assignments": entries}


def asked(client: SimulatedClient, *topics: dict[str, Any], version: int = 3, validate_only: bool = False) -> list[int]:
    answer = ask(
        client, CREATE_PARTITIONS, version, topics=topics, timeout=timedelta(seconds=1), validate_only=validate_only
    )
    return [int(result.error_code) for result in answer.results]


@pytest.mark.parametrize("version", served_versions(CREATE_PARTITIONS))
def test_new_partitions_have_leaders_and_followers(
    simulation: Simulation, client: SimulatedClient, version: int
) -> None:
    assert asked(client, more("t", 5), version=version) == [NONE]
    assert [simulation.partition("t", index).replica_ids for index in range(5)] == [
        [1, 2],
        [2, 3],
        [3, 1],
        [1, 2],
        [2, 3],
    ]
    other = simulation.connect(2)
    other.send(produce("t", partition=4))
    assert Produced(other.answers[-1][1]).partitions == {4: (NONE, 0)}
    assert simulation.partition("t", 4).high_watermark == 1
    simulation.cluster.check_invariants()


def test_nothing_is_made_that_is_only_checked(simulation: Simulation, client: SimulatedClient) -> None:
    assert asked(client, more("t", 5), validate_only=True) == [NONE]
    assert len(simulation.cluster.metadata.topics()) == 1
    [topic] = simulation.cluster.metadata.topics()
    assert len(topic.partitions) == 2


def test_each_topic_is_on_its_own(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.topic("u", replicas=1)
    errors = asked(client, more("t", 1), more("nobody", 2), more("u", 2, [[9]]), more("v", 1), more("v", 1))
    assert errors == [INVALID_REQUEST, INVALID_PARTITIONS, UNKNOWN_TOPIC, INVALID_ASSIGNMENT]


def test_a_topic_that_goes_while_its_partitions_are_made(simulation: Simulation) -> None:
    [topic] = simulation.cluster.metadata.topics()
    creation = simulation.cluster.controller.create_partitions([NewPartitions("t", 30)], lambda: simulation.now)
    next(creation)
    next(creation)
    simulation.delete_topic("t")
    simulation.topic("t", partitions=29, replicas=3)
    for _ in creation:
        pass
    assert len(topic.partitions) == 2
    assert [len(topic.partitions) for topic in simulation.cluster.metadata.topics()] == [30]
    assert len(simulation.partition("t", 29).replica_ids) == 3


def test_a_broker_that_stops_while_partitions_are_made(simulation: Simulation) -> None:
    creation = simulation.cluster.controller.create_partitions([NewPartitions("t", 30)], lambda: simulation.now)
    next(creation)
    next(creation)
    simulation.stop(2)
    for _ in creation:
        pass
    assert simulation.partition("t", 29).isr_ids == simulation.partition("t", 29).replica_ids
    assert all(simulation.partition("t", index).leader_id != 2 for index in range(30))
    simulation.cluster.check_invariants()
