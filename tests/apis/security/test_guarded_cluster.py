"""A cluster with an authorizer: the APIs of ACLs, several principals, and changes between and during requests."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask, served_versions
from support.requests import request
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.config.broker_configs.security import STANDARD_AUTHORIZER
from fakebroker.core.security.identity import KafkaPrincipal
from fakebroker.protocol.error_code import ErrorCode

METADATA, HEARTBEAT, CREATE_TOPICS, INIT_PRODUCER_ID = 3, 12, 19, 22
DESCRIBE_ACLS, CREATE_ACLS, DELETE_ACLS, LIST_GROUPS = 29, 30, 31, 16
TOPIC, GROUP, CLUSTER = 2, 3, 4
READ, WRITE, CREATE, DESCRIBE, ALTER, IDEMPOTENT_WRITE = 3, 4, 5, 8, 7, 12
ANY: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def acl(kind: int, name: str, operation: int, principal: str = "User:alice", **more: Any) -> dict[str, Any]:
    return {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": 3,
        "principal": principal,
        "host": "*",
        "operation": operation,
        "permission_type": 3,
    } | more


@pytest.fixture
def simulation() -> Simulation:
    running = Simulation(config={"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin"})
    running.topic("orders", partitions=1)
    return running


def client(simulation: Simulation, user: str, address: str = "10.0.0.1") -> SimulatedClient:
    connected = simulation.connect(address=address)
    connected.connection.principal = KafkaPrincipal("User", user)
    return connected


@pytest.fixture
def admin(simulation: Simulation) -> SimulatedClient:
    return client(simulation, "admin")


@pytest.fixture
def alice(simulation: Simulation) -> SimulatedClient:
    return client(simulation, "alice")


def create(admin: SimulatedClient, *creations: dict[str, Any], version: int = 3) -> Any:
    return ask(admin, CREATE_ACLS, version, creations=creations).results


def topic_error(asking: SimulatedClient, name: str = "orders") -> ErrorCode:
    """Return the error of a topic that a client names in Metadata."""
    answer = ask(asking, METADATA, 12, topics=[{"name": name, "topic_id": None}], allow_auto_topic_creation=False)
    code: ErrorCode = answer.topics[0].error_code
    return code


def heartbeat_error(asking: SimulatedClient) -> ErrorCode:
    code: ErrorCode = ask(asking, HEARTBEAT, 4, group_id="g", generation_id=1, member_id="m").error_code
    return code


@pytest.mark.parametrize("version", served_versions(CREATE_ACLS))
def test_acls_are_created_described_and_deleted(admin: SimulatedClient, version: int) -> None:
    [result] = create(admin, acl(TOPIC, "orders", READ), version=version)
    assert (result.error_code, result.error_message) == (ErrorCode.none, "")

    answer = ask(admin, DESCRIBE_ACLS, version, **ANY)
    [resource] = answer.resources
    assert (resource.resource_type, resource.resource_name, resource.pattern_type) == (TOPIC, "orders", 3)
    assert [(entry.principal, entry.host, entry.operation) for entry in resource.acls] == [("User:alice", "*", READ)]

    [deleted] = ask(admin, DELETE_ACLS, version, filters=[ANY]).filter_results
    assert [matching.resource_name for matching in deleted.matching_acls] == ["orders"]
    assert ask(admin, DESCRIBE_ACLS, version, **ANY).resources == ()


@pytest.mark.parametrize("version", served_versions(CREATE_ACLS))
def test_a_client_that_may_not_alter_the_cluster_manages_no_acls(alice: SimulatedClient, version: int) -> None:
    failed = ErrorCode.cluster_authorization_failed
    [created] = create(alice, acl(TOPIC, "orders", READ), version=version)
    assert (created.error_code, created.error_message) == (failed, "Request CreateAclsRequest needs ALTER permission.")
    assert ask(alice, DESCRIBE_ACLS, version, **ANY).error_code is failed
    assert [result.error_code for result in ask(alice, DELETE_ACLS, version, filters=[ANY, ANY]).filter_results] == [
        failed
    ] * 2


def test_a_principal_may_do_what_its_own_acls_allow(simulation: Simulation, admin: SimulatedClient) -> None:
    alice, bob = client(simulation, "alice"), client(simulation, "bob")
    create(admin, acl(TOPIC, "orders", READ))

    assert topic_error(alice) is ErrorCode.none
    assert topic_error(bob) is ErrorCode.topic_authorization_failed
    assert topic_error(admin) is ErrorCode.none


def test_the_address_of_a_client_counts(simulation: Simulation, admin: SimulatedClient) -> None:
    create(admin, acl(TOPIC, "orders", READ, host="10.7.0.0/16"), acl(TOPIC, "orders", READ, host="::1/128"))

    assert topic_error(client(simulation, "alice", "10.7.1.2")) is ErrorCode.none
    assert topic_error(client(simulation, "alice", "10.8.1.2")) is ErrorCode.topic_authorization_failed
    assert topic_error(client(simulation, "alice", "::1")) is ErrorCode.none
    assert topic_error(client(simulation, "alice", "")) is ErrorCode.topic_authorization_failed


def test_a_topic_that_may_not_be_seen_is_hidden_or_refused(simulation: Simulation, admin: SimulatedClient) -> None:
    alice = client(simulation, "alice")
    simulation.topic("payments", partitions=1)
    create(admin, acl(TOPIC, "payments", DESCRIBE))

    assert [topic.name for topic in ask(alice, METADATA, 12, topics=None).topics] == ["payments"]
    assert topic_error(alice, "no-such-topic") is ErrorCode.topic_authorization_failed


def test_a_request_without_a_member_is_refused_before_its_group_is_looked_at(
    admin: SimulatedClient, alice: SimulatedClient
) -> None:
    assert heartbeat_error(alice) is ErrorCode.group_authorization_failed

    create(admin, acl(GROUP, "g", READ))
    assert heartbeat_error(alice) is not ErrorCode.group_authorization_failed


def test_idempotent_producers_need_any_topic_or_the_cluster(admin: SimulatedClient, alice: SimulatedClient) -> None:
    values: dict[str, Any] = {"transactional_id": None, "producer_id": -1, "producer_epoch": -1}
    assert ask(alice, INIT_PRODUCER_ID, 4, **values).error_code is ErrorCode.cluster_authorization_failed

    create(admin, acl(TOPIC, "some", WRITE))
    assert ask(alice, INIT_PRODUCER_ID, 4, **values).error_code is ErrorCode.none

    create(admin, acl(TOPIC, "*", WRITE, permission_type=2))
    assert ask(alice, INIT_PRODUCER_ID, 4, **values).error_code is ErrorCode.cluster_authorization_failed

    create(admin, acl(CLUSTER, "kafka-cluster", IDEMPOTENT_WRITE))
    assert ask(alice, INIT_PRODUCER_ID, 4, **values).error_code is ErrorCode.none


def test_a_created_topic_comes_without_settings_that_the_client_may_not_see(
    admin: SimulatedClient, alice: SimulatedClient
) -> None:
    create(admin, acl(TOPIC, "new", CREATE))
    topic = {"name": "new", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}

    [made] = ask(alice, CREATE_TOPICS, 7, topics=[topic], validate_only=False).topics
    assert (made.error_code, made.num_partitions, made.configs) == (ErrorCode.none, -1, ())
    assert made.topic_config_error_code == ErrorCode.topic_authorization_failed


@pytest.mark.parametrize(("creations", "closes"), [([acl(0, "t", READ)], True), ([acl(99, "t", READ)], False)])
def test_only_an_entry_of_no_kind_ends_the_connection(
    admin: SimulatedClient, creations: list[dict[str, Any]], closes: bool
) -> None:
    admin.send(request(CREATE_ACLS, 3, {"creations": creations}))
    assert (admin.closed is not None) is closes


def test_ten_thousand_acls_are_created_in_one_request(admin: SimulatedClient, alice: SimulatedClient) -> None:
    results = create(admin, *(acl(TOPIC, f"t{number}", READ) for number in range(10_000)))
    assert {result.error_code for result in results} == {ErrorCode.none}
    assert topic_error(alice, "t9999") is ErrorCode.unknown_topic_or_partition

    [deleted] = ask(admin, DELETE_ACLS, 3, filters=[ANY]).filter_results
    assert len(deleted.matching_acls) == 10_000


def test_a_client_that_may_alter_the_cluster_may_list_groups(admin: SimulatedClient, alice: SimulatedClient) -> None:
    create(admin, acl(CLUSTER, "kafka-cluster", ALTER))  # implies DESCRIBE
    assert ask(alice, LIST_GROUPS, 5, states_filter=(), types_filter=()).error_code is ErrorCode.none
