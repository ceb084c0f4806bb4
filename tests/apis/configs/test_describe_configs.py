"""DescribeConfigs, every version (apis/configs/describe_configs.py, core/config/config_helper.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask, served_versions
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.broker_configs.ours import KAFKA_DEFAULTS
from fakebroker.core.config.config_helper import BrokerConfigLayers
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.security.identity import PLAINTEXT
from fakebroker.protocol.slices import finish

DESCRIBE_CONFIGS = 32
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


@pytest.fixture
def simulation() -> Simulation:
    return Simulation(brokers=2, config={"log.retention.ms": "60000"})


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


def ask_all(client: SimulatedClient, *resources: tuple[int, str], version: int = 4, **flags: Any) -> Any:
    keys = flags.pop("keys", None)
    requested = [{"resource_type": kind, "resource_name": name, "configuration_keys": keys} for kind, name in resources]
    values = {"resources": requested, "include_synonyms": False, "include_documentation": False}
    return ask(client, DESCRIBE_CONFIGS, version, **values | flags).results


def described(client: SimulatedClient, kind: int, name: str, *keys: str, version: int = 4, **flags: Any) -> Any:
    (result,) = ask_all(client, (kind, name), version=version, keys=keys or None, **flags)
    assert (result.error_code, result.error_message) == (0, "")
    assert (result.resource_type, result.resource_name) == (kind, name)
    return {config.name: config for config in result.configs}


def synonyms(config: Any) -> list[tuple[str, str | None, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms]


@pytest.mark.parametrize("version", served_versions(DESCRIBE_CONFIGS))
def test_a_topic_has_its_own_and_the_brokers_settings(
    simulation: Simulation, client: SimulatedClient, version: int
) -> None:
    simulation.topic("t", replicas=1, segment_bytes=2_000_000)
    configs = described(client, TOPIC, "t", version=version, include_synonyms=True)
    assert list(configs) == sorted(configs)
    assert (configs["segment.bytes"].value, configs["segment.bytes"].config_source) == ("2000000", 1)
    assert synonyms(configs["segment.bytes"]) == [
        ("segment.bytes", "2000000", 1),
        ("log.segment.bytes", "1073741824", 5),
    ]
    assert synonyms(configs["retention.ms"]) == [("log.retention.ms", "60000", 4), ("log.retention.hours", "168", 5)]
    assert synonyms(configs["min.insync.replicas"]) == [
        ("min.insync.replicas", "1", 3),
        ("min.insync.replicas", "1", 5),
    ]
    assert synonyms(configs["flush.ms"]) == []
    assert not any(config.read_only or config.is_sensitive for config in configs.values())
    assert getattr(configs["segment.bytes"], "config_type", 3) == 3


def test_only_what_is_named(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.topic("t", replicas=1)
    assert list(described(client, TOPIC, "t", "segment.ms", "nobody")) == ["segment.ms"]


def test_documentation_on_request(client: SimulatedClient) -> None:
    name = "num.io.threads"
    assert described(client, BROKER, "1", name, include_documentation=True)[name].documentation
    assert described(client, BROKER, "1", name)[name].documentation is None


def test_each_broker_tells_of_itself(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.cluster.members.broker_configs.alter({"message.max.bytes": "7000"}, broker_id=2)
    simulation.cluster.members.broker_configs.alter({"message.max.bytes": "6000"})
    here = described(client, BROKER, "1", include_synonyms=True)
    there = described(simulation.connect(2), BROKER, "2", include_synonyms=True)
    assert (here["node.id"].value, there["node.id"].value) == ("1", "2")
    assert synonyms(here["message.max.bytes"]) == [
        ("message.max.bytes", "6000", 3),
        ("message.max.bytes", "1048588", 5),
    ]
    assert synonyms(there["message.max.bytes"])[0] == ("message.max.bytes", "7000", 2)
    assert there["message.max.bytes"].value == "7000"
    default = described(client, BROKER, "", include_synonyms=True)
    assert {name: synonyms(config) for name, config in default.items()} == {
        "message.max.bytes": [("message.max.bytes", "6000", 3)],
        "min.insync.replicas": [("min.insync.replicas", "1", 3)],
    }
    assert (here["broker.id"].read_only, here["message.max.bytes"].read_only) == (True, False)
    assert "log.initial.task.delay.ms" not in here  # internal


_FACTORS = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
)


@pytest.mark.parametrize("brokers", [1, 2, 3, 5])
def test_replication_factors_are_told_as_they_hold(brokers: int) -> None:
    simulation = Simulation(brokers=brokers, config={"offsets.topic.replication.factor": "0"})
    client = simulation.connect()
    configs = described(client, BROKER, "1", *_FACTORS, include_synonyms=True)
    for name in _FACTORS:
        assert synonyms(configs[name]) == [(name, str(min(3, brokers)), 5)]
    topic = simulation.cluster.admin.create_topic(NewTopic("t"), simulation.now)
    assert len(topic.partitions[0].replicas) == int(configs["default.replication.factor"].value)


def test_a_replication_factor_that_is_given_is_told_as_given() -> None:
    simulation = Simulation(brokers=3, config={"default.replication.factor": "2"})
    configs = described(simulation.connect(), BROKER, "1", "default.replication.factor", include_synonyms=True)
    assert synonyms(configs["default.replication.factor"]) == [
        ("default.replication.factor", "2", 4),
        ("default.replication.factor", "3", 5),
    ]


def test_defaults_of_kafka_are_told_as_defaults() -> None:
    config = BrokerConfig().with_defaults(KAFKA_DEFAULTS).of_cluster(2)
    configs = {description.name: description for description in BrokerConfigLayers(config, {}, {}, {}).describe()}
    assert {name: synonyms(configs[name]) for name in (*_FACTORS, "log.memory.bytes")} == {
        "default.replication.factor": [("default.replication.factor", "1", 5)],
        "offsets.topic.replication.factor": [("offsets.topic.replication.factor", "3", 5)],
        "transaction.state.log.replication.factor": [("transaction.state.log.replication.factor", "3", 5)],
        "log.memory.bytes": [("log.memory.bytes", "-1", 5)],
    }


def test_each_broker_tells_its_rack() -> None:
    simulation = Simulation(brokers=3, racks={2: "b"}, config={"broker.rack": "common"})
    described_by = {
        broker_id: described(
            simulation.connect(broker_id), BROKER, str(broker_id), "broker.rack", include_synonyms=True
        )
        for broker_id in (1, 2)
    }
    assert synonyms(described_by[1]["broker.rack"]) == [("broker.rack", "common", 4)]
    assert synonyms(described_by[2]["broker.rack"]) == [("broker.rack", "b", 4)]
    assert described_by[2]["broker.rack"].value == "b"
    nowhere = Simulation(brokers=1)
    assert described(nowhere.connect(), BROKER, "1", "broker.rack")["broker.rack"].value is None


@pytest.mark.parametrize(
    ("host", "port", "text"), [("0.0.0.0", 9092, "0.0.0.0:9092"), ("::", 5, "[::]:5"), ("", 7, ":7")]
)
def test_where_a_broker_listens_and_what_clients_are_told(
    simulation: Simulation, client: SimulatedClient, host: str, port: int, text: str
) -> None:
    simulation.cluster.registry[1].set_endpoint("kafka.test", 29092)
    simulation.cluster.registry[1].set_bound(host, port, PLAINTEXT)
    configs = described(client, BROKER, "1", "listeners", "advertised.listeners", include_synonyms=True)
    assert synonyms(configs["listeners"])[0] == ("listeners", f"PLAINTEXT://{text}", 4)
    assert synonyms(configs["advertised.listeners"])[0] == ("advertised.listeners", "PLAINTEXT://kafka.test:29092", 4)


def test_changed_listeners_are_described_as_they_were_given(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.cluster.registry[1].set_endpoint("kafka.test", 9092)
    started, given = "PLAINTEXT://kafka.test:9092", "PLAINTEXT://:1,OUT://:2"
    configs = simulation.cluster.members.broker_configs
    configs.alter({"listeners": given, "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUT:SSL"}, broker_id=1)
    listeners = described(client, BROKER, "1", "listeners", include_synonyms=True)["listeners"]
    assert (listeners.value, listeners.config_source) == (given, 2)
    assert synonyms(listeners)[:2] == [("listeners", given, 2), ("listeners", started, 4)]

    configs.alter({"listeners": None}, broker_id=1)
    listeners = described(client, BROKER, "1", "listeners")["listeners"]
    assert (listeners.value, listeners.config_source) == (started, 4)


def test_a_topic_is_told_as_the_broker_has_it_that_is_asked(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.topic("t", replicas=1)
    simulation.cluster.members.broker_configs.alter({"message.max.bytes": "7000"}, broker_id=2)
    there = described(simulation.connect(2), TOPIC, "t")["max.message.bytes"]
    assert (there.value, there.config_source) == ("7000", 2)
    assert described(client, TOPIC, "t")["max.message.bytes"].config_source == 5


def test_what_is_secret_or_unknown_is_not_told(simulation: Simulation, client: SimulatedClient) -> None:
    finish(simulation.cluster.members.broker_configs.set_in_slices({"my.plugin.key": "secret"}, None))
    configs = described(client, BROKER, "1", "my.plugin.key", "ssl.keystore.password", include_synonyms=True)
    for config in configs.values():
        assert (config.value, config.is_sensitive) == (None, True)
    assert synonyms(configs["my.plugin.key"]) == [("my.plugin.key", None, 3)]
    assert (configs["my.plugin.key"].config_type, configs["ssl.keystore.password"].config_type) == (0, 9)


def test_groups_and_subscriptions(simulation: Simulation, client: SimulatedClient) -> None:
    controller = simulation.cluster.controller
    controller.group_configs.set("g", {"consumer.session.timeout.ms": "50000"})
    controller.client_metrics.set("m", {"interval.ms": "1000"})
    group = described(client, GROUP, "g", include_synonyms=True)
    assert synonyms(group["consumer.session.timeout.ms"]) == [
        ("consumer.session.timeout.ms", "50000", 8),
        ("group.consumer.session.timeout.ms", "45000", 5),
    ]
    assert synonyms(group["share.isolation.level"]) == [("share.isolation.level", "read_uncommitted", 5)]
    assert "streams.num.warmup.replicas" not in group
    metrics = described(client, CLIENT_METRICS, "m", include_synonyms=True)
    assert {name: (config.value, config.config_source) for name, config in metrics.items()} == {
        "interval.ms": ("1000", 7),
        "match": ("", 5),
        "metrics": ("", 5),
    }
    assert described(client, BROKER_LOGGER, "1")["root"].value == "INFO"


@pytest.mark.parametrize(
    ("kind", "name", "code", "message"),
    [
        (TOPIC, "nobody", 3, ""),
        (TOPIC, "a/b", 17, "Topic name is invalid"),
        (BROKER, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
        (BROKER_LOGGER, "", 42, "Broker id must not be empty"),
        (BROKER_LOGGER, "2", 42, "Unexpected broker id, expected 1 but received 2"),
        (GROUP, "", 42, "Group name must not be empty"),
        (CLIENT_METRICS, "", 42, "Client metrics subscription name must not be empty"),
    ],
)
def test_what_is_not_there(client: SimulatedClient, kind: int, name: str, code: int, message: str) -> None:
    bad, good = ask_all(client, (kind, name), (BROKER, ""))
    assert (bad.error_code, bad.configs) == (code, ())
    assert bad.error_message.startswith(message)
    assert good.error_code == 0


def test_a_kind_that_is_none_spoils_all(client: SimulatedClient) -> None:
    answers = ask_all(client, (BROKER, ""), (3, "x"))
    assert [int(answer.error_code) for answer in answers] == [42, 42]


def test_settings_of_listeners_are_described_as_given_at_the_start() -> None:
    prefix = "listener.name.sasl_plaintext"
    jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required;"
    config = {f"{prefix}.connections.max.reauth.ms": "7000", f"{prefix}.plain.sasl.jaas.config": jaas}
    simulation = Simulation(brokers=1, config=config)
    configs = described(simulation.connect(), BROKER, "1", *config, include_synonyms=True)
    lifetime, module = (configs[name] for name in config)
    assert (lifetime.value, lifetime.read_only, lifetime.is_sensitive) == ("7000", True, False)
    assert synonyms(lifetime) == [
        (f"{prefix}.connections.max.reauth.ms", "7000", 4),
        ("connections.max.reauth.ms", "0", 5),
    ]
    assert (module.value, module.read_only, module.is_sensitive) == (None, True, True)
    assert set(config) <= set(described(simulation.connect(), BROKER, "1"))


def test_settings_of_the_authorizer_are_hidden_as_unknown_ones() -> None:
    names = ("super.users", "allow.everyone.if.no.acl.found")
    simulation = Simulation(brokers=1, config={"super.users": "User:x"})
    configs = described(simulation.connect(), BROKER, "1", *names)
    assert list(configs) == ["super.users"]
    assert (configs["super.users"].value, configs["super.users"].is_sensitive) == (None, True)
    assert not set(names) & set(described(Simulation(brokers=1).connect(), BROKER, "1"))
