"""A change of `listeners` while a broker runs, in virtual time (core/config/dynamic_listener_config.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.asking import ask, served_versions
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.security.identity import PLAINTEXT, Listener
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

METADATA, FIND_COORDINATOR, DESCRIBE_CLUSTER, DESCRIBE_QUORUM, DESCRIBE_TOPIC_PARTITIONS = 3, 10, 60, 55, 75
MAP = "listener.security.protocol.map"
PROTOCOLS = {MAP: "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,OUT:PLAINTEXT,OTHER:SSL"}
OWN = "PLAINTEXT://kafka.test:9092"
ADDED = {"listeners": f"{OWN},OUT://127.0.0.1:29092"} | PROTOCOLS
OUT = Listener("OUT", "PLAINTEXT")
NOBODY, NO_LEADER = -1, -1


@pytest.fixture
def simulation() -> Simulation:
    made = Simulation(brokers=2)
    for broker_id in (1, 2):
        made.cluster.registry[broker_id].set_endpoint("kafka.test", 9091 + broker_id)
        made.cluster.registry[broker_id].set_bound("kafka.test", 9091 + broker_id, PLAINTEXT)
    return made


def alter(simulation: Simulation, texts: Mapping[str, str | None], broker_id: int = 1) -> None:
    simulation.cluster.now = simulation.now
    simulation.cluster.members.broker_configs.alter(texts, broker_id)
    simulation.settle()


def refusal(simulation: Simulation, texts: Mapping[str, str | None]) -> str:
    with pytest.raises(KafkaError) as refused:
        alter(simulation, texts)
    assert refused.value.code == ErrorCode.invalid_request
    return refused.value.message


def added(simulation: Simulation, broker_id: int = 1) -> dict[str, tuple[str, str, int]]:
    listeners = simulation.cluster.registry[broker_id].added_listeners.values()
    return {listener.name: (listener.security_protocol, host, port) for listener, host, port in listeners}


def at_added(simulation: Simulation) -> SimulatedClient:
    alter(simulation, ADDED)
    return simulation.connect(1, listener=OUT)


def test_only_the_broker_that_is_altered_has_the_listener(simulation: Simulation) -> None:
    alter(simulation, ADDED)
    assert added(simulation) == {"OUT": ("PLAINTEXT", "127.0.0.1", 29092)}
    assert added(simulation, 2) == {}


@pytest.mark.parametrize("version", served_versions(METADATA))
def test_metadata_at_an_added_listener_has_no_broker(simulation: Simulation, version: int) -> None:
    simulation.topic("t", replicas=2)
    answer = ask(at_added(simulation), METADATA, version, topics=[{"name": "t"}])
    assert list(answer.brokers) == []
    assert getattr(answer, "controller_id", 1) == 1
    [partition] = answer.topics[0].partitions
    code = ErrorCode.listener_not_found if version >= 6 else ErrorCode.leader_not_available
    replicas = (1, 2) if version > 0 else ()
    assert (partition.error_code, partition.leader_id, tuple(partition.replica_nodes)) == (code, NO_LEADER, replicas)
    assert tuple(getattr(partition, "offline_replicas", (1, 2))) == (1, 2)


def test_metadata_at_the_other_listeners_is_that_of_before(simulation: Simulation) -> None:
    simulation.topic("t", replicas=2)
    alter(simulation, ADDED)
    answer = ask(simulation.connect(), METADATA, 12, topics=[{"name": "t"}])
    assert [(broker.host, broker.port) for broker in answer.brokers] == [("kafka.test", 9092), ("kafka.test", 9093)]
    assert [partition.error_code for partition in answer.topics[0].partitions] == [ErrorCode.none]


def test_no_coordinator_and_no_broker_is_found_at_an_added_listener(simulation: Simulation) -> None:
    client = at_added(simulation)
    ask(simulation.connect(), FIND_COORDINATOR, 4, key_type=0, coordinator_keys=("g",))  # creates the topic
    [coordinator] = ask(client, FIND_COORDINATOR, 4, key_type=0, coordinator_keys=("g",)).coordinators
    assert (coordinator.error_code, coordinator.node_id) == (ErrorCode.coordinator_not_available, NOBODY)
    for version in served_versions(DESCRIBE_CLUSTER):
        cluster = ask(client, DESCRIBE_CLUSTER, version, endpoint_type=1, include_fenced_brokers=True)
        assert (list(cluster.brokers), cluster.controller_id) == ([], NOBODY)


def test_other_descriptions_at_an_added_listener(simulation: Simulation) -> None:
    simulation.topic("t", replicas=2)
    client = at_added(simulation)
    answer = ask(client, DESCRIBE_TOPIC_PARTITIONS, 0, topics=[{"name": "t"}], response_partition_limit=9, cursor=None)
    [partition] = answer.topics[0].partitions
    description = partition.error_code, partition.leader_id, tuple(partition.offline_replicas)
    assert description == (ErrorCode.none, NO_LEADER, (1, 2))
    topics: list[dict[str, Any]] = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
    [node] = ask(client, DESCRIBE_QUORUM, 2, topics=topics).nodes
    assert [(listener.host, listener.port) for listener in node.listeners] == [("kafka.test", 9092)]


def test_a_removed_listener_closes_its_connections_and_no_other(simulation: Simulation) -> None:
    client, other = at_added(simulation), simulation.connect()
    alter(simulation, {"listeners": OWN})
    assert (client.closed, other.closed) == ("broker 1 has no listener OUT any more", None)
    assert added(simulation) == {}


def test_the_settings_of_the_start_remove_what_was_added(simulation: Simulation) -> None:
    client = at_added(simulation)
    alter(simulation, dict.fromkeys(ADDED))
    assert client.closed is not None
    assert added(simulation) == {}


def test_another_address_of_a_known_listener_changes_nothing(simulation: Simulation) -> None:
    client = at_added(simulation)
    alter(simulation, {"listeners": "PLAINTEXT://:1,out://127.0.0.1:2"})
    assert client.closed is None
    assert added(simulation) == {"OUT": ("PLAINTEXT", "127.0.0.1", 29092)}


def test_a_listener_outlives_the_process_of_its_broker(simulation: Simulation) -> None:
    alter(simulation, ADDED)
    simulation.stop(1)
    simulation.start(1)
    assert added(simulation) == {"OUT": ("PLAINTEXT", "127.0.0.1", 29092)}


LISTED = "Error creating broker listeners from '[{}]': {}"
UNSUITED = (
    "Invalid value org.apache.kafka.common.config.ConfigException: {} for configuration Invalid dynamic configuration"
)
NAMED = "Each listener must have a different name"
APART = "Each listener must have a different port"
APART_OR_TWO = f"{APART} unless exactly one listener has an IPv4 address and the other IPv6 address"
TWO = "If you have two listeners on the same port then one needs to be IPv4 and the other IPv6"
REQUIRED = (
    "requirement failed: advertised.listeners listener names must be equal to or a subset of the ones defined in "
)


def shared(reason: str) -> str:
    return f"{reason}, listeners: {{}}, port: 5"


def listed(texts: str, reason: str) -> str:
    return LISTED.format(texts.replace(",", ", "), reason.replace("{}", f"[{texts.replace(',', ', ')}]"))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (f"{OWN},LOST://:1", listed(f"{OWN},LOST://:1", "No security protocol defined for listener LOST")),
        ("nonsense", listed("nonsense", "Unable to parse nonsense to a broker endpoint")),
        (f"{OWN},{OWN}", "Configuration 'listeners' values must not be duplicated."),
        (f"{OWN},out://:1,OUT://:2", listed(f"{OWN},out://:1,OUT://:2", f"{NAMED}, listeners: {{}}")),
        (f"{OWN},OUT://:5,OTHER://:5", listed(f"{OWN},OUT://:5,OTHER://:5", f"{APART}, listeners: {{}}")),
        (f"{OWN},OUT://1.1.1.1:5,OTHER://a:5", listed(f"{OWN},OUT://1.1.1.1:5,OTHER://a:5", shared(APART_OR_TWO))),
        (f"{OWN},OUT://1.1.1.1:5,OTHER://1.1.1.2:5", listed(f"{OWN},OUT://1.1.1.1:5,OTHER://1.1.1.2:5", shared(TWO))),
        (
            "OUT://:1",
            f"{REQUIRED}listeners. Found PLAINTEXT. The valid options based on the current configuration are OUT",
        ),
    ],
)
def test_a_refused_value_changes_nothing(simulation: Simulation, texts: str, expected: str) -> None:
    client = at_added(simulation)
    assert refusal(simulation, {"listeners": texts}) == expected
    assert client.closed is None
    assert list(added(simulation)) == ["OUT"]


@pytest.mark.parametrize("texts", [f"{OWN},OUT://127.0.0.1:5,OTHER://[::1]:5", f"{OWN},OUT://:0,OTHER://:0"])
def test_listeners_may_share_a_port_of_both_families_or_take_free_ones(simulation: Simulation, texts: str) -> None:
    alter(simulation, {"listeners": texts} | PROTOCOLS)
    assert list(added(simulation)) == ["OUT", "OTHER"]


@pytest.mark.parametrize(
    ("protocols", "expected"),
    [
        ("PLAINTEXT:PLAINTEXT,OUT:BOGUS", f"Invalid security protocol `BOGUS` defined in {MAP}"),
        ("PLAINTEXT:PLAINTEXT", listed(ADDED["listeners"], "No security protocol defined for listener OUT")),
        (
            "PLAINTEXT:PLAINTEXT,OUT:SSL",
            UNSUITED.format("Security protocol cannot be updated for existing listener ListenerName(OUT)"),
        ),
    ],
)
def test_the_protocol_of_a_listener_cannot_change(simulation: Simulation, protocols: str, expected: str) -> None:
    alter(simulation, ADDED)
    assert refusal(simulation, {MAP: protocols}) == expected


def test_the_protocols_have_to_name_the_listeners_of_the_start(simulation: Simulation) -> None:
    assert refusal(simulation, {MAP: "OUT:SSL"}) == listed(OWN, "No security protocol defined for listener PLAINTEXT")


def test_a_listener_that_was_given_settings_of_its_own_cannot_stay(simulation: Simulation) -> None:
    fixed, dynamic = "listener.name.out.ssl.client.auth", "listener.name.out.ssl.keystore.location"
    alter(simulation, ADDED | {fixed: "required"})
    wider = ADDED["listeners"] + ",OTHER://:5"
    assert refusal(simulation, {"listeners": wider}) == UNSUITED.format(
        "Configs cannot be updated dynamically for existing listener ListenerName(OUT), restart broker or create a new "
        "listener for update"
    )
    alter(simulation, {fixed: None, dynamic: "/a/store"})
    alter(simulation, {"listeners": wider})
    assert list(added(simulation)) == ["OUT", "OTHER"]


@pytest.mark.parametrize(
    ("roles", "texts", "expected"),
    [
        ("broker,controller", OWN, "controller.listener.names must contain at least one value appearing in the"),
        ("broker", f"{OWN},CONTROLLER://:1", "controller.listener.names must not contain a value appearing in the"),
        ("broker,controller", f"{OWN},CONTROLLER://:1", None),
        ("broker", OWN, None),
    ],
)
def test_the_listener_of_a_controller_has_to_fit_the_roles(roles: str, texts: str, expected: str | None) -> None:
    simulation = Simulation(brokers=1, config={"process.roles": roles, "controller.listener.names": "CONTROLLER"})
    if expected is None:
        alter(simulation, {"listeners": texts})
        assert added(simulation) == {}
    else:
        assert expected in refusal(simulation, {"listeners": texts})


def test_the_listeners_of_all_brokers_cannot_be_set(simulation: Simulation) -> None:
    with pytest.raises(KafkaError, match=r"broker id must be specified: \[listeners\]"):
        simulation.cluster.members.broker_configs.alter({"listeners": OWN})


def test_advertised_listeners_cannot_be_altered(simulation: Simulation) -> None:
    expected = "Cannot update these configs dynamically: [advertised.listeners]"
    assert refusal(simulation, {"advertised.listeners": OWN}) == expected
