"""ConsumerGroupDescribe, every version (apis/groups/consumer_group_describe.py)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask, served_versions
from support.simulation import SimulatedClient, Simulation

CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE = 68, 69

# As for the newest version: what an older one has no field for is left out.
REQUEST: dict[str, Any] = {
    "group_ids": ("g",),
    "include_authorized_operations": False,
}
JOIN: dict[str, Any] = {
    "group_id": "g",
    "member_id": "m",
    "member_epoch": 0,
    "instance_id": "i",
    "rack_id": "r",
    "rebalance_timeout": timedelta(seconds=10),
    "subscribed_topic_names": ("t",),
    "subscribed_topic_regex": None,
    "server_assignor": "range",
    "topic_partitions": (),
}


@pytest.fixture
def simulation() -> Simulation:
    simulation = Simulation(brokers=1)
    simulation.topic("t", partitions=2, replicas=1)
    simulation.topic("__consumer_offsets", partitions=5, replicas=1)
    return simulation


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


@pytest.mark.parametrize("version", served_versions(CONSUMER_GROUP_DESCRIBE))
def test_a_group_and_its_member(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    ask(client, CONSUMER_GROUP_HEARTBEAT, 1, **JOIN)
    [group] = ask(client, CONSUMER_GROUP_DESCRIBE, version, **REQUEST).groups
    assert (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch) == (0, "Stable", 2, 2)
    assert (group.assignor_name, group.authorized_operations) == ("range", -(1 << 31))
    [member] = group.members
    assert (member.member_id, member.instance_id, member.rack_id, member.member_epoch) == ("m", "i", "r", 2)
    assert (member.client_host, member.subscribed_topic_names) == ("/10.0.0.1", ("t",))
    [topic] = member.assignment.topic_partitions
    assert (topic.topic_name, topic.partitions) == ("t", (0, 1))
    assert member.target_assignment == member.assignment
    assert getattr(member, "member_type", 1) == 1


@pytest.mark.parametrize("version", served_versions(CONSUMER_GROUP_DESCRIBE))
def test_what_is_not_there(client: SimulatedClient, version: int) -> None:
    groups = ask(client, CONSUMER_GROUP_DESCRIBE, version, **REQUEST | {"group_ids": ("a", "")}).groups
    assert [(group.group_id, group.error_code, group.error_message) for group in groups] == [
        ("", 24, None),
        ("a", 69, "Group a not found."),
    ]


@pytest.mark.parametrize("version", served_versions(CONSUMER_GROUP_DESCRIBE))
def test_what_one_may_do(client: SimulatedClient, version: int) -> None:
    ask(client, CONSUMER_GROUP_HEARTBEAT, 1, **JOIN)
    [group] = ask(client, CONSUMER_GROUP_DESCRIBE, version, **REQUEST | {"include_authorized_operations": True}).groups
    assert group.authorized_operations > 0


def test_without_the_protocol_every_group_is_refused() -> None:
    simulation = Simulation(brokers=1, config={"group.coordinator.rebalance.protocols": "classic"})
    groups = ask(simulation.connect(), CONSUMER_GROUP_DESCRIBE, 1, **REQUEST | {"group_ids": ("a", "b")}).groups
    assert [(group.group_id, group.error_code) for group in groups] == [("a", 35), ("b", 35)]
