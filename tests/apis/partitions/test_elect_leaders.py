"""ElectLeaders, every version (apis/partitions/elect_leaders.py)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask, served_versions
from support.simulation import SimulatedClient, Simulation

ELECT_LEADERS = 43
PREFERRED, UNCLEAN = 0, 1
NONE, UNKNOWN_TOPIC, INVALID_REQUEST, NO_PREFERRED, NO_ELIGIBLE, NOT_NEEDED = 0, 3, 42, 80, 83, 84


@pytest.fixture
def simulation() -> Simulation:
    running = Simulation(brokers=3)
    running.topic("t", replicas=2)
    return running


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect(3)


def elect(
    client: SimulatedClient, kind: int = PREFERRED, version: int = 2, topics: Any = (("t", [0]),)
) -> dict[str, dict[int, int]]:
    named = None if topics is None else [{"topic": name, "partitions": indexes} for name, indexes in topics]
    answer = ask(
        client,
        ELECT_LEADERS,
        version,
        election_type=kind,
        topic_partitions=named,
        timeout=timedelta(seconds=1),
    )
    return {
        result.topic: {partition.partition_id: int(partition.error_code) for partition in result.partition_result}
        for result in answer.replica_election_results
    }


@pytest.mark.parametrize("version", served_versions(ELECT_LEADERS))
def test_the_preferred_replica_leads_again(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    assert elect(client, version=version) == {"t": {0: NOT_NEEDED}}
    simulation.move_leader(2)
    assert elect(client, version=version) == {"t": {0: NONE}}
    assert simulation.partition().leader_id == 1


def test_a_preferred_replica_that_may_not_lead(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.stop(1)
    assert elect(client) == {"t": {0: NO_PREFERRED}}
    simulation.followers("frozen")
    simulation.start(1)
    assert elect(client) == {"t": {0: NONE}}  # it has everything, and so is in the ISR


def test_an_unclean_election_is_for_partitions_without_a_leader(
    simulation: Simulation, client: SimulatedClient
) -> None:
    assert elect(client, UNCLEAN) == {"t": {0: NOT_NEEDED}}
    simulation.stop(1)
    simulation.stop(2)
    assert elect(client, UNCLEAN) == {"t": {0: NO_ELIGIBLE}}
    assert elect(client) == {"t": {0: NO_PREFERRED}}
    simulation.start(1)  # it was not the last in the ISR
    assert simulation.partition().leader_id == -1
    assert elect(client) == {"t": {0: NO_PREFERRED}}
    assert elect(client, UNCLEAN) == {"t": {0: NONE}}
    assert (simulation.partition().leader_id, simulation.partition().isr_ids) == (1, [1])
    simulation.start(2)
    simulation.cluster.check_invariants()


def test_all_of_them(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.topic("u", partitions=2, replicas=1)
    simulation.move_leader(2)
    assert elect(client, topics=None) == {"t": {0: NONE}, "u": {}}


def test_what_is_unknown(client: SimulatedClient) -> None:
    assert elect(client, topics=[("t", [3]), ("nobody", [0])]) == {
        "t": {3: UNKNOWN_TOPIC},
        "nobody": {0: UNKNOWN_TOPIC},
    }
    assert elect(client, 2) == {"t": {0: INVALID_REQUEST}}
