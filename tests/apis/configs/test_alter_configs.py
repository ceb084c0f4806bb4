"""IncrementalAlterConfigs and AlterConfigs, every version (apis/configs/, core/controller/configuration_control.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask, served_versions
from support.simulation import SimulatedClient, Simulation

ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS = 33, 44
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
INVALID_CONFIG, INVALID_REQUEST, UNKNOWN_TOPIC, UNKNOWN, POLICY = 40, 42, 3, -1, 44


@pytest.fixture
def simulation() -> Simulation:
    simulation = Simulation(brokers=2)
    simulation.topic("t", replicas=1, retention_ms=1000)
    return simulation


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


def incremental(client: SimulatedClient, *resources: Any, version: int = 1, validate_only: bool = False) -> Any:
    """Resources are (type, name, [(key, operation, value)])."""
    resources_ = [
        {
            "resource_type": kind,
            "resource_name": name,
            "configs": [{"name": key, "config_operation": op, "value": value} for key, op, value in ops],
        }
        for kind, name, ops in resources
    ]
    answer = ask(client, INCREMENTAL_ALTER_CONFIGS, version, resources=resources_, validate_only=validate_only)
    assert [(response.resource_type, response.resource_name) for response in answer.responses] == [
        resource[:2] for resource in resources
    ]
    return [int(response.error_code) for response in answer.responses]


def alter(client: SimulatedClient, *resources: Any, version: int = 2, validate_only: bool = False) -> Any:
    """Resources are (type, name, {key: value})."""
    resources_ = [
        {
            "resource_type": kind,
            "resource_name": name,
            "configs": [{"name": key, "value": value} for key, value in configs.items()],
        }
        for kind, name, configs in resources
    ]
    answer = ask(client, ALTER_CONFIGS, version, resources=resources_, validate_only=validate_only)
    return [int(response.error_code) for response in answer.responses]


def own(simulation: Simulation, topic: str = "t") -> dict[str, str]:
    metadata = simulation.cluster.metadata.topic(topic)
    assert metadata is not None
    return dict(metadata.configs)


@pytest.mark.parametrize("version", served_versions(INCREMENTAL_ALTER_CONFIGS))
def test_set_and_taken_back(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    ops = [("segment.ms", SET, "5"), ("retention.ms", DELETE, None)]
    assert incremental(client, (TOPIC, "t", ops), version=version) == [0]
    assert own(simulation) == {"segment.ms": "5"}
    assert simulation.partition().config.segment_ms == 5


def test_lists_made_longer_and_shorter(simulation: Simulation, client: SimulatedClient) -> None:
    for operation, value, expected in (
        (APPEND, "compact", "delete,compact"),
        (APPEND, "delete", "delete,compact"),
        (SUBTRACT, "delete,nobody", "compact"),
    ):
        assert incremental(client, (TOPIC, "t", [("cleanup.policy", operation, value)])) == [0]
        assert own(simulation)["cleanup.policy"] == expected


@pytest.mark.parametrize("version", served_versions(ALTER_CONFIGS))
def test_what_is_not_named_is_taken_back(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    assert alter(client, (TOPIC, "t", {"segment.ms": "5"}), version=version, validate_only=True) == [0]
    assert own(simulation) == {"retention.ms": "1000"}
    assert alter(client, (TOPIC, "t", {"segment.ms": "5"}), version=version) == [0]
    assert own(simulation) == {"segment.ms": "5"}


@pytest.mark.parametrize(
    ("ops", "code"),
    [
        ([("segment.ms", SET, "0")], INVALID_CONFIG),
        ([("nobody", SET, "0")], INVALID_CONFIG),
        ([("segment.ms", SET, None)], INVALID_REQUEST),
        ([("segment.ms", SET, "5"), ("segment.ms", DELETE, None)], INVALID_REQUEST),
        ([("segment.ms", APPEND, "5")], INVALID_CONFIG),
        ([("segment.ms", 9, "5")], UNKNOWN),
        ([("leader.replication.throttled.replicas", APPEND, ",".join(["0:1", "1:2"] * 4000))], 0),
        ([("leader.replication.throttled.replicas", APPEND, ",".join(f"{n}:1" for n in range(4000)))], INVALID_CONFIG),
    ],
)
def test_what_is_refused_changes_nothing(simulation: Simulation, client: SimulatedClient, ops: Any, code: int) -> None:
    simulation.topic("other", replicas=1)
    if ops[0][1] == APPEND and code == INVALID_CONFIG and len(ops[0][2]) > 5:
        first = [("leader.replication.throttled.replicas", SET, ",".join(f"{n}:2" for n in range(4000)))]
        incremental(client, (TOPIC, "t", first))
    before = own(simulation)
    answers = incremental(client, (TOPIC, "t", ops), (TOPIC, "other", [("segment.ms", SET, "5")]))
    assert answers == [code, UNKNOWN if code == UNKNOWN else 0]
    assert code == 0 or own(simulation) == before
    assert own(simulation, "other") == ({} if code == UNKNOWN else {"segment.ms": "5"})


def test_one_request_makes_no_more_than_so_many_records(simulation: Simulation, client: SimulatedClient) -> None:
    """BoundedList of QuorumController.MAX_RECORDS_PER_USER_OP: brokers' settings count whatever they are."""
    ops = [(f"plugin.{number}", SET, "1") for number in range(9_999)]
    assert incremental(client, (BROKER, "", ops), (TOPIC, "t", [("segment.ms", SET, "5")])) == [0, 0]
    more = [*ops, ("plugin.more", SET, "1")]
    assert incremental(client, (BROKER, "", more), (TOPIC, "t", [("segment.ms", SET, "6")])) == [POLICY, POLICY]
    assert own(simulation)["segment.ms"] == "5"


def test_names_that_cannot_be(client: SimulatedClient) -> None:
    answers = incremental(
        client,
        (TOPIC, "nobody", [("segment.ms", SET, "5")]),
        (TOPIC, "nobody-2", [("segment.ms", SET, "x")]),
        (TOPIC, "", []),
        (TOPIC, "a/b", []),
        (BROKER, "2", []),
        (BROKER, "x", []),
        (GROUP, "", []),
        (CLIENT_METRICS, "", []),
        (BROKER_LOGGER, "2", []),
        (3, "x", []),
    )
    assert answers == [UNKNOWN_TOPIC, INVALID_CONFIG, 42, 17, 42, 42, 42, 42, 42, 42]


def test_a_resource_that_comes_twice(simulation: Simulation, client: SimulatedClient) -> None:
    twice = (TOPIC, "t", [("segment.ms", SET, "5")])
    assert incremental(client, twice, (GROUP, "g", []), twice) == [INVALID_REQUEST, 0, INVALID_REQUEST]
    assert alter(client, (TOPIC, "t", {}), (TOPIC, "t", {})) == [INVALID_REQUEST, INVALID_REQUEST]
    assert own(simulation) == {"retention.ms": "1000"}


def test_brokers_all_and_one(simulation: Simulation, client: SimulatedClient) -> None:
    configs = simulation.cluster.members.broker_configs
    assert incremental(client, (BROKER, "", [("message.max.bytes", SET, "7000"), ("any.plugin", SET, "x")])) == [0]
    assert incremental(client, (BROKER, "1", [("message.max.bytes", SET, "8000")])) == [0]
    assert (configs.of(1).message_max_bytes, configs.of(2).message_max_bytes) == (8000, 7000)
    assert configs.texts(None)["any.plugin"] == "x"
    assert incremental(client, (BROKER, "", [("log.dirs", SET, "x")]), (BROKER, "1", [("log.dirs", SET, "x")])) == [
        INVALID_REQUEST,
        INVALID_REQUEST,
    ]
    assert incremental(client, (BROKER, "", [("log.cleanup.policy", APPEND, "compact")])) == [0]
    assert configs.current.log_cleanup_policy == ("delete", "compact")
    assert incremental(client, (BROKER, "1", [("nobody", APPEND, "x")])) == [INVALID_CONFIG]
    assert alter(client, (BROKER, "1", {}), (BROKER, "", {})) == [0, INVALID_CONFIG]  # min.insync.replicas stays
    assert alter(client, (BROKER, "", {"min.insync.replicas": "1"})) == [0]
    assert configs.current.message_max_bytes == 1_048_588


@pytest.mark.parametrize(
    ("level", "name", "operation", "told"),
    [
        (1, "1", SET, INVALID_CONFIG),
        (1, "", SET, 0),
        (1, "", DELETE, INVALID_CONFIG),
        (0, "1", SET, 0),
        (0, "", DELETE, 0),
    ],
)
def test_the_minimum_is_one_for_all_brokers_while_leaders_may_be_eligible(
    simulation: Simulation, client: SimulatedClient, level: int, name: str, operation: int, told: int
) -> None:
    simulation.cluster.controller.features.format({"eligible.leader.replicas.version": level})
    value = "2" if operation == SET else None
    assert incremental(client, (BROKER, name, [("min.insync.replicas", operation, value)])) == [told]


def test_connections_of_one_broker(simulation: Simulation, client: SimulatedClient) -> None:
    """A broker's own settings apply to its own connections."""
    assert incremental(client, (BROKER, "1", [("max.connections", SET, "1")])) == [0]
    quotas = simulation.cluster.sockets.connections.quotas
    assert not quotas[1].connection_slot_available()
    assert quotas[2].connection_slot_available()


def test_groups_and_subscriptions(simulation: Simulation, client: SimulatedClient) -> None:
    controller = simulation.cluster.controller
    group, metrics = ("consumer.session.timeout.ms", SET, "50000"), ("interval.ms", SET, "1000")
    assert incremental(client, (GROUP, "g", [group]), (CLIENT_METRICS, "m", [metrics])) == [0, 0]
    assert controller.group_configs.of("g").consumer_session_timeout_ms == 50_000
    assert controller.group_configs.of("other").consumer_session_timeout_ms == 45_000
    assert controller.client_metrics.own("m") == {"interval.ms": "1000"}
    bad = ("consumer.session.timeout.ms", SET, "1"), ("interval.ms", SET, "1")
    assert incremental(client, (GROUP, "g", [bad[0]]), (CLIENT_METRICS, "m", [bad[1]])) == [
        INVALID_CONFIG,
        INVALID_REQUEST,
    ]
    assert alter(client, (GROUP, "g", {}), (CLIENT_METRICS, "m", {})) == [0, 0]
    assert controller.group_configs.group_ids() == controller.client_metrics.names() == []


def test_loggers(simulation: Simulation, client: SimulatedClient) -> None:
    levels = simulation.cluster.brokers[1].loggers.levels
    assert incremental(client, (BROKER_LOGGER, "1", [("root", SET, "trace")]), validate_only=True) == [0]
    assert levels == {"root": "INFO"}
    assert incremental(client, (BROKER_LOGGER, "1", [("root", SET, "trace")])) == [0]
    assert levels == {"root": "TRACE"}
    for change, code in (
        (("root", DELETE, None), INVALID_REQUEST),
        (("root", SET, "LOUD"), INVALID_CONFIG),
        (("nobody", SET, "INFO"), INVALID_CONFIG),
        (("root", APPEND, "INFO"), INVALID_REQUEST),
        (("root", 9, "INFO"), INVALID_REQUEST),
    ):
        assert incremental(client, (BROKER_LOGGER, "1", [change])) == [code]
    assert alter(client, (BROKER_LOGGER, "1", {"root": "INFO"})) == [INVALID_REQUEST]
