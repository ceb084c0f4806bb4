"""ConsumerGroupHeartbeat, every version (apis/groups/consumer_group_heartbeat.py)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask, served_versions
from support.simulation import SimulatedClient, Simulation

CONSUMER_GROUP_HEARTBEAT = 68

# As for the newest version: what an older one has no field for is left out.
REQUEST: dict[str, Any] = {
    "group_id": "g",
    "member_id": "m",
    "member_epoch": 0,
    "instance_id": None,
    "rack_id": None,
    "rebalance_timeout": timedelta(seconds=10),
    "subscribed_topic_names": ("t",),
    "subscribed_topic_regex": None,
    "server_assignor": None,
    "topic_partitions": (),
}
NO_CHANGE: dict[str, Any] = REQUEST | {
    "rebalance_timeout": timedelta(milliseconds=-1),
    "subscribed_topic_names": None,
    "topic_partitions": None,
}


@pytest.fixture
def simulation() -> Simulation:
    simulation = Simulation(brokers=1)
    simulation.topic("t", partitions=2, replicas=1)
    simulation.topic("__consumer_offsets", partitions=1, replicas=1)
    return simulation


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


@pytest.mark.parametrize("version", served_versions(CONSUMER_GROUP_HEARTBEAT))
def test_a_member_joins_calls_and_leaves(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    topic = simulation.cluster.metadata.topic("t")
    assert topic is not None
    answer = ask(client, CONSUMER_GROUP_HEARTBEAT, version, **REQUEST)
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "m", 2)
    assert answer.heartbeat_interval == timedelta(seconds=5)
    [assigned] = answer.assignment.topic_partitions
    assert (assigned.topic_id, assigned.partitions) == (topic.topic_id, (0, 1))

    answer = ask(client, CONSUMER_GROUP_HEARTBEAT, version, **NO_CHANGE | {"member_epoch": 2})
    assert (answer.error_code, answer.member_epoch, answer.assignment) == (0, 2, None)

    answer = ask(client, CONSUMER_GROUP_HEARTBEAT, version, **NO_CHANGE | {"member_epoch": -1})
    assert (answer.error_code, answer.member_epoch, answer.heartbeat_interval) == (0, -1, timedelta(0))


@pytest.mark.parametrize("version", served_versions(CONSUMER_GROUP_HEARTBEAT))
def test_what_the_coordinator_refuses_is_told_with_its_text(client: SimulatedClient, version: int) -> None:
    answer = ask(client, CONSUMER_GROUP_HEARTBEAT, version, **NO_CHANGE | {"member_epoch": 7})
    assert (answer.error_code, answer.error_message) == (69, "Consumer group g not found.")


@pytest.mark.parametrize("version", served_versions(CONSUMER_GROUP_HEARTBEAT))
def test_what_is_wrong_with_the_request_is_said_first(client: SimulatedClient, version: int) -> None:
    answer = ask(client, CONSUMER_GROUP_HEARTBEAT, version, **REQUEST | {"group_id": ""})
    assert (answer.error_code, answer.error_message) == (42, "GroupId can't be empty.")


def test_in_version_0_the_coordinator_makes_the_id(client: SimulatedClient) -> None:
    answer = ask(client, CONSUMER_GROUP_HEARTBEAT, 0, **REQUEST | {"member_id": ""})
    assert len(answer.member_id) == 22
    answer = ask(client, CONSUMER_GROUP_HEARTBEAT, 1, **REQUEST | {"member_id": ""})
    assert answer.error_message == "MemberId can't be empty."


def test_a_pattern_in_version_1(simulation: Simulation, client: SimulatedClient) -> None:
    said = REQUEST | {"subscribed_topic_names": None, "subscribed_topic_regex": "[s-u]"}
    answer = ask(client, CONSUMER_GROUP_HEARTBEAT, 1, **said)
    assert answer.assignment.topic_partitions == ()  # it is looked up afterwards
    answer = ask(client, CONSUMER_GROUP_HEARTBEAT, 1, **NO_CHANGE | {"member_epoch": answer.member_epoch})
    assert answer.assignment.topic_partitions[0].partitions == (0, 1)


def test_a_broker_that_does_not_coordinate_says_so_without_a_text() -> None:
    simulation = Simulation(brokers=2)
    simulation.topic("__consumer_offsets", partitions=1, replicas=1)
    partition = simulation.partition("__consumer_offsets")
    other = simulation.connect(3 - partition.leader_id)
    answer = ask(other, CONSUMER_GROUP_HEARTBEAT, 1, **REQUEST)
    assert (answer.error_code, answer.error_message) == (16, None)


def test_without_the_protocol_it_is_refused() -> None:
    simulation = Simulation(brokers=1, config={"group.coordinator.rebalance.protocols": "classic"})
    answer = ask(simulation.connect(), CONSUMER_GROUP_HEARTBEAT, 1, **REQUEST)
    assert (answer.error_code, answer.error_message) == (35, None)
