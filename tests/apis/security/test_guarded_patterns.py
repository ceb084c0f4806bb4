"""Subscriptions by pattern in a cluster with an authorizer: a pattern matches only what the client may describe."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.config.broker_configs.security import STANDARD_AUTHORIZER
from fakebroker.core.security.acl_binding import AclBinding, AclOperation, AclPermissionType, PatternType, ResourceType
from fakebroker.core.security.identity import KafkaPrincipal
from fakebroker.protocol.group_records.consumer_protocol import Subscription, encode_subscription

_JOIN_GROUP, _HEARTBEAT, _DESCRIBE = 11, 68, 69
_TOPICS = ("orders", "payments")
_JOIN: dict[str, Any] = {
    "group_id": "g",
    "member_id": "m",
    "member_epoch": 0,
    "instance_id": None,
    "rack_id": None,
    "rebalance_timeout": timedelta(seconds=10),
    "subscribed_topic_names": None,
    "subscribed_topic_regex": ".*",
    "server_assignor": None,
    "topic_partitions": (),
}
_AGAIN = _JOIN | {
    "rebalance_timeout": timedelta(milliseconds=-1),
    "subscribed_topic_regex": None,
    "topic_partitions": None,
}


@pytest.fixture
def simulation() -> Simulation:
    running = Simulation(brokers=1, config={"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin"})
    for topic in (*_TOPICS, "__consumer_offsets"):
        running.topic(topic, partitions=1, replicas=1)
    _allow(running, ResourceType.GROUP, "g", AclOperation.READ)
    return running


def _allow(simulation: Simulation, kind: ResourceType, name: str, operation: AclOperation) -> None:
    binding = AclBinding(kind, name, PatternType.LITERAL, "User:alice", "*", operation, AclPermissionType.ALLOW)
    simulation.cluster.admin.create_acl(binding)


def _client(simulation: Simulation, user: str) -> SimulatedClient:
    connected = simulation.connect(address="10.0.0.1")
    connected.connection.principal = KafkaPrincipal("User", user)
    return connected


def _assigned(simulation: Simulation, user: str) -> set[str]:
    """Return the topics that a member with the pattern `.*` is assigned."""
    client = _client(simulation, user)
    epoch = ask(client, _HEARTBEAT, 1, **_JOIN).member_epoch
    answer = ask(client, _HEARTBEAT, 1, **_AGAIN | {"member_epoch": epoch})
    names = {
        topic.topic_id: name
        for name in (*_TOPICS, "__consumer_offsets")
        if (topic := simulation.cluster.metadata.topic(name)) is not None
    }
    return {names[topic_.topic_id] for topic_ in answer.assignment.topic_partitions}


def test_a_pattern_matches_only_topics_that_the_client_may_describe(simulation: Simulation) -> None:
    _allow(simulation, ResourceType.TOPIC, "orders", AclOperation.READ)
    assert _assigned(simulation, "alice") == {"orders"}


def test_a_pattern_of_a_client_without_topics_matches_none(simulation: Simulation) -> None:
    client = _client(simulation, "alice")
    epoch = ask(client, _HEARTBEAT, 1, **_JOIN).member_epoch
    answer = ask(client, _HEARTBEAT, 1, **_AGAIN | {"member_epoch": epoch})
    assert (answer.error_code, answer.assignment) == (0, None)


def test_a_pattern_of_a_super_user_matches_every_topic(simulation: Simulation) -> None:
    assert _assigned(simulation, "admin") == {*_TOPICS, "__consumer_offsets"}


def test_a_classic_member_matches_the_patterns_of_its_group_by_what_it_may_describe(simulation: Simulation) -> None:
    """A new topic makes the patterns of a group due. The next request of any member matches them again."""
    _allow(simulation, ResourceType.TOPIC, "orders", AclOperation.READ)
    assert _assigned(simulation, "alice") == {"orders"}
    simulation.advance(11_000)
    simulation.topic("refunds", partitions=1, replicas=1)
    joined = ask(
        _client(simulation, "alice"),
        _JOIN_GROUP,
        3,  # such a member needs no id to join
        group_id="g",
        session_timeout=timedelta(seconds=10),
        rebalance_timeout=timedelta(seconds=10),
        member_id="",
        protocol_type="consumer",
        protocols=[{"name": "range", "metadata": encode_subscription(Subscription(("orders",)))}],
    )
    assert joined.error_code == 0
    epoch = 2
    for _ in range(2):  # the names are looked up between the two, and change the assignment with the second
        simulation.advance(1_000)
        epoch = ask(_client(simulation, "alice"), _HEARTBEAT, 1, **_AGAIN | {"member_epoch": epoch}).member_epoch
    described = ask(_client(simulation, "admin"), _DESCRIBE, 1, group_ids=["g"], include_authorized_operations=False)
    [group] = described.groups
    assigned = {topic.topic_name for member in group.members for topic in member.target_assignment.topic_partitions}
    assert (len(group.members), assigned) == (2, {"orders"})
