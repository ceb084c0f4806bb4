"""OffsetFetch, every version (apis/groups/offset_fetch.py)."""

from __future__ import annotations

import pytest
from support.asking import ask, served_versions
from support.messages import decode_response
from support.offsets import (
    OFFSET_COMMIT,
    OFFSET_FETCH,
    commit,
    commit_values,
    fetch,
    fetch_values,
    fetched,
    with_coordinator,
)
from support.requests import request
from support.simulation import SimulatedClient, Simulation

LOAD_IN_PROGRESS, NOT_COORDINATOR, UNKNOWN_TOPIC_ID = 14, 16, 100
NONE = (-1, -1, "")


@pytest.fixture
def simulation() -> Simulation:
    simulation = with_coordinator(Simulation(brokers=3))
    simulation.topic("t", partitions=2)
    simulation.topic("u", partitions=1)
    return simulation


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    client = simulation.connect()
    commit(simulation, client, "g", {("t", 0): (5, 1, "here"), ("u", 0): 6})
    return client


@pytest.mark.parametrize("version", served_versions(OFFSET_FETCH))
class TestEachVersion:
    def test_some_partitions(self, simulation: Simulation, client: SimulatedClient, version: int) -> None:
        epoch = 1 if version >= 5 else -1
        partitions = [("t", 0), ("t", 1), ("u", 0), ("u", 7)]
        assert fetch(simulation, client, {"g": partitions}, version) == {
            "g": {("t", 0): (5, epoch, "here"), ("t", 1): NONE, ("u", 0): (6, -1, ""), ("u", 7): NONE}
        }

    def test_a_group_that_is_not_there(self, simulation: Simulation, client: SimulatedClient, version: int) -> None:
        assert fetch(simulation, client, {"nobody": [("t", 0)]}, version) == {"nobody": {("t", 0): NONE}}

    def test_a_topic_that_is_not_there(self, simulation: Simulation, client: SimulatedClient, version: int) -> None:
        expected = {("?", 0): UNKNOWN_TOPIC_ID} if version >= 10 else {("nowhere", 0): NONE}
        assert fetch(simulation, client, {"g": [("nowhere", 0)]}, version) == {"g": expected}

    def test_nothing(self, simulation: Simulation, client: SimulatedClient, version: int) -> None:
        assert fetch(simulation, client, {"g": []}, version) == {"g": {}}

    def test_another_broker(self, simulation: Simulation, client: SimulatedClient, version: int) -> None:
        other = simulation.connect(2)
        expected = NOT_COORDINATOR if version >= 2 else {("t", 0): NOT_COORDINATOR}
        assert fetch(simulation, other, {"g": [("t", 0)]}, version) == {"g": expected}


@pytest.mark.parametrize("version", served_versions(OFFSET_FETCH, at_least=2))
def test_all_of_a_group(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    epoch = 1 if version >= 5 else -1
    expected = {("t", 0): (5, epoch, "here"), ("u", 0): (6, -1, "")}
    assert fetch(simulation, client, {"g": None}, version) == {"g": expected}
    assert fetch(simulation, client, {"nobody": None}, version) == {"nobody": {}}


@pytest.mark.parametrize("version", served_versions(OFFSET_FETCH, at_least=8))
def test_many_groups(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    commit(simulation, client, "h", {("t", 1): 9})
    answer = fetch(simulation, client, {"h": None, "nobody": [("t", 0)], "g": [("u", 0)]}, version)
    assert answer == {"h": {("t", 1): (9, -1, "")}, "nobody": {("t", 0): NONE}, "g": {("u", 0): (6, -1, "")}}
    assert fetch(simulation, client, {}, version) == {}


@pytest.mark.parametrize("version", served_versions(OFFSET_FETCH, at_least=7))
class TestRequireStable:
    def test_without_anything_under_way(self, simulation: Simulation, client: SimulatedClient, version: int) -> None:
        answer = fetch(simulation, client, {"g": [("u", 0)]}, version, require_stable=True)
        assert answer == {"g": {("u", 0): (6, -1, "")}}

    def test_what_is_not_committed_is_waited_for(
        self, simulation: Simulation, client: SimulatedClient, version: int
    ) -> None:
        simulation.followers("frozen", "__consumer_offsets")
        client.send(request(OFFSET_COMMIT, 9, commit_values(simulation, "g", {("u", 0): 8})))
        reader = simulation.connect()
        values = fetch_values(simulation, {"g": [("u", 0)]}, version, require_stable=True)
        reader.send(request(OFFSET_FETCH, version, values))
        assert reader.answers == []
        simulation.followers(None, "__consumer_offsets")
        [(_, frame)] = reader.answers
        answer = fetched(simulation, decode_response(OFFSET_FETCH, version, frame)[1], version, "g")
        assert answer == {"g": {("u", 0): (8, -1, "")}}

    def test_offset_fetch_of_stable_offsets_times_out(
        self, simulation: Simulation, client: SimulatedClient, version: int
    ) -> None:
        simulation.followers("frozen", "__consumer_offsets")
        client.send(request(OFFSET_COMMIT, 9, commit_values(simulation, "g", {("u", 0): 8})))
        reader = simulation.connect()
        values = fetch_values(simulation, {"g": [("u", 0)]}, version, require_stable=True)
        reader.send(request(OFFSET_FETCH, version, values))
        simulation.advance(5_000)
        [(at_ms, frame)] = reader.answers
        answer = fetched(simulation, decode_response(OFFSET_FETCH, version, frame)[1], version, "g")
        assert (at_ms, answer) == (5_000, {"g": NOT_COORDINATOR})


def test_a_topic_made_anew_has_no_offsets(simulation: Simulation, client: SimulatedClient) -> None:
    """Offsets are kept by topic id: those of a deleted topic are not those of its successor, even where they still
    exist."""
    commit(simulation, client, "g", {("u", 0): 6}, 10)
    simulation.followers("frozen", "__consumer_offsets")
    simulation.delete_topic("u")
    simulation.topic("u")
    assert fetch(simulation, client, {"g": [("u", 0)]}, 10) == {"g": {("u", 0): NONE}}
    assert fetch(simulation, client, {"g": [("u", 0)]}, 9) == {"g": {("u", 0): (6, -1, "")}}


def test_topics_that_are_gone_cannot_be_told_by_id(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.followers("frozen", "__consumer_offsets")
    simulation.delete_topic("u")
    assert list(fetch(simulation, client, {"g": None}, 9)["g"]) == [("t", 0), ("u", 0)]
    assert list(fetch(simulation, client, {"g": None}, 10)["g"]) == [("t", 0)]


def test_offsets_of_a_deleted_topic_go(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.delete_topic("u")
    assert list(fetch(simulation, client, {"g": None})["g"]) == [("t", 0)]


def test_while_it_loads(simulation: Simulation, client: SimulatedClient) -> None:
    for number in range(100):
        commit(simulation, client, f"group {number}", {("t", 0): number})
    simulation.cluster.admin.move_leader("__consumer_offsets", 0, 2, simulation.now)
    other = simulation.connect(2)
    assert fetch(simulation, other, {"group 7": [("t", 0)]}) == {"group 7": LOAD_IN_PROGRESS}
    simulation.advance(0)
    assert fetch(simulation, other, {"group 7": [("t", 0)]}) == {"group 7": {("t", 0): (7, -1, "")}}


def test_another_version_has_other_fields(simulation: Simulation, client: SimulatedClient) -> None:
    answer = ask(client, OFFSET_FETCH, 1, **fetch_values(simulation, {"g": [("t", 0)]}, 1))
    assert not hasattr(answer, "error_code")
