"""OffsetDelete, its only version (apis/groups/offset_delete.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask
from support.offsets import OFFSET_DELETE, commit, errors_of, fetch, with_coordinator
from support.simulation import SimulatedClient, Simulation

UNKNOWN, NOT_COORDINATOR, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND = 3, 16, 24, 69


@pytest.fixture
def simulation() -> Simulation:
    simulation = with_coordinator(Simulation(brokers=3))
    simulation.topic("t", partitions=3)
    return simulation


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    client = simulation.connect()
    commit(simulation, client, "g", {("t", 0): 5, ("t", 1): 6})
    return client


def delete(simulation: Simulation, client: SimulatedClient, group_id: str, **topics: list[int]) -> Any:
    """Return the errors of partitions, or that of the group."""
    topics_ = [
        {"name": name, "partitions": [{"partition_index": index} for index in indexes]}
        for name, indexes in topics.items()
    ]
    answer = ask(client, OFFSET_DELETE, 0, group_id=group_id, topics=topics_)
    return int(answer.error_code) or errors_of(simulation, answer, 0)


def test_what_is_deleted_is_gone(simulation: Simulation, client: SimulatedClient) -> None:
    assert delete(simulation, client, "g", t=[0, 2]) == {("t", 0): 0, ("t", 2): 0}
    assert fetch(simulation, client, {"g": None}) == {"g": {("t", 1): (6, -1, "")}}
    assert delete(simulation, client, "g", t=[0]) == {("t", 0): 0}


def test_what_is_not_there_is_told(simulation: Simulation, client: SimulatedClient) -> None:
    answer = delete(simulation, client, "g", t=[0, 7], nowhere=[0])
    assert answer == {("t", 0): 0, ("t", 7): UNKNOWN, ("nowhere", 0): UNKNOWN}


@pytest.mark.parametrize(("group_id", "error"), [("nobody", GROUP_ID_NOT_FOUND), ("", INVALID_GROUP_ID)])
def test_an_error_of_the_group_is_told_alone(
    simulation: Simulation, client: SimulatedClient, group_id: str, error: int
) -> None:
    assert delete(simulation, client, group_id, t=[0], nowhere=[0]) == error


def test_another_broker(simulation: Simulation, client: SimulatedClient) -> None:
    assert delete(simulation, simulation.connect(2), "g", t=[0]) == NOT_COORDINATOR
