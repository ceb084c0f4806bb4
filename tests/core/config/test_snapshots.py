"""Snapshots of settings do not change; the holder of the brokers' snapshots notifies the affected listeners."""

from __future__ import annotations

import pytest

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.protocol.errors import KafkaError


def test_a_snapshot_does_not_change() -> None:
    config = TopicConfig(min_insync_replicas=2)
    with pytest.raises(AttributeError, match="a configuration does not change: min_insync_replicas"):
        config.min_insync_replicas = 3
    assert config.min_insync_replicas == 2
    assert config == TopicConfig(min_insync_replicas=2) != TopicConfig()
    assert hash(config) == hash(TopicConfig(min_insync_replicas=2))
    assert repr(config) == "TopicConfig(min_insync_replicas=2)"
    with pytest.raises(TypeError, match="TopicConfig has no min_isr"):
        TopicConfig(min_isr=2)


def test_a_value_is_found_in_the_snapshot_before_the_entry_is_asked() -> None:
    entry = BrokerConfig.num_partitions
    assert (entry.name, entry.default) == ("num.partitions", 1)
    config = BrokerConfig(num_partitions=7)
    assert config.num_partitions == vars(config)["num_partitions"] == 7
    assert not hasattr(type(entry), "__set__")


def test_a_topic_that_sets_nothing_shares_the_defaults() -> None:
    defaults = BrokerConfig(message_max_bytes=5).topic_defaults
    assert TopicConfig.of({}, defaults) is defaults
    assert TopicConfig.of({"retention.ms": "1"}, defaults).max_message_bytes == 5


def test_what_is_nearer_hides_what_is_farther() -> None:
    start = BrokerConfig().with_text({"message.max.bytes": "5", "num.partitions": "3"})
    altered = start.layered({"message_max_bytes": 6, "log_retention_bytes": 7}, {"message_max_bytes": 8})
    assert (altered.message_max_bytes, altered.log_retention_bytes, altered.num_partitions) == (8, 7, 3)
    assert altered.static == start.static == {"message_max_bytes": 5, "num_partitions": 3}
    assert altered.topic_entries["max.message.bytes"] == ("max.message.bytes", "8", 2)
    assert altered.topic_entries["retention.bytes"] == ("retention.bytes", "7", 3)
    back = altered.layered({}, {})
    assert back == start
    assert back.topic_entries["max.message.bytes"] == ("max.message.bytes", "5", 4)
    assert altered.with_text({"message.max.bytes": "9"}).message_max_bytes == 8
    assert start.message_max_bytes == 5


def test_what_a_broker_sets_holds_for_it_alone() -> None:
    configs = DynamicBrokerConfig(BrokerConfig(message_max_bytes=5))
    configs.alter({"message.max.bytes": "6"})
    configs.alter({"message.max.bytes": "7"}, broker_id=2)
    assert (configs.of(1).message_max_bytes, configs.of(2).message_max_bytes) == (6, 7)
    assert configs.current.message_max_bytes == 6
    configs.alter({"message.max.bytes": None, "log.retention.bytes": "9"})
    assert (configs.of(1).message_max_bytes, configs.of(2).message_max_bytes) == (5, 7)
    assert configs.of(2).log_retention_bytes == 9
    configs.alter({"message.max.bytes": None}, broker_id=2)
    assert configs.of(2) is configs.current
    assert not configs.have_own


def test_a_new_cluster_sets_one_thing_for_all_brokers() -> None:
    configs = DynamicBrokerConfig(BrokerConfig(min_insync_replicas=2))
    assert configs.texts(None) == {"min.insync.replicas": "2"}
    assert configs.current.topic_entries["min.insync.replicas"] == ("min.insync.replicas", "2", 3)


@pytest.mark.parametrize("name", ["log.memory.bytes", "log.memory.full"])
def test_memory_is_of_all_brokers_together(name: str) -> None:
    configs = DynamicBrokerConfig(BrokerConfig())
    text = "5" if name.endswith("bytes") else "delete"
    configs.alter({name: text})
    with pytest.raises(KafkaError, match="all brokers together"):
        configs.alter({name: text}, broker_id=1)


def test_the_first_name_that_is_given_counts() -> None:
    texts = {"log.retention.hours": "1", "log.retention.minutes": "2"}
    assert BrokerConfig().with_text(texts).topic_defaults.retention_ms == 120_000
    assert BrokerConfig().with_text(texts | {"log.retention.ms": "3"}).topic_defaults.retention_ms == 3
    assert BrokerConfig().with_text({"log.retention.hours": "-5"}).topic_defaults.retention_ms == -1


def test_only_readers_of_a_changed_setting_are_notified() -> None:
    configs = DynamicBrokerConfig(BrokerConfig(message_max_bytes=5))
    notified: list[tuple[str, BrokerConfig]] = []
    configs.on_change(["message.max.bytes", "min.insync.replicas"], lambda config: notified.append(("topics", config)))
    configs.on_change(["max.connections"], lambda config: notified.append(("sockets", config)))
    configs.alter({"max.connections": "7"})
    before = configs.current
    configs.alter({"message.max.bytes": "5", "num.io.threads": "5"})  # the value that it has
    assert notified == [("sockets", before)]
    configs.alter({"message.max.bytes": "6", "max.connections": None})
    assert [name for name, _ in notified[1:]] == ["topics", "sockets"]
    assert all(config is configs.current for _, config in notified[1:])
    with pytest.raises(KafkaError):
        configs.alter({"message.max.bytes": "7", "num.partitions": "1"})
    assert len(notified) == 3
    configs.alter({"message.max.bytes": "8"}, broker_id=3)
    assert [name for name, _ in notified[3:]] == ["topics"]


@pytest.mark.parametrize("name", ["num.partitions", "advertised.listeners"])
def test_a_listener_for_a_static_setting_is_refused(name: str) -> None:
    with pytest.raises(AssertionError, match="never altered"):
        DynamicBrokerConfig(BrokerConfig()).on_change([name], lambda config: None)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "process.roles",
            "",
            "Configuration 'process.roles' must not be empty. Valid values include: [broker, controller]",
        ),
        ("log.dirs", "", "Configuration 'log.dirs' must not be empty. Valid values include: any non-empty value"),
        ("metric.reporters", "a,", "Configuration 'metric.reporters' values must not be empty."),
        (
            "log.cleanup.policy",
            "x",
            "Invalid value x for configuration log.cleanup.policy: String must be one of: compact, delete",
        ),
        (
            "group.consumer.migration.policy",
            "Zz",
            "Invalid value Zz for configuration group.consumer.migration.policy: "
            "String must be one of (case insensitive): DISABLED, DOWNGRADE, UPGRADE, BIDIRECTIONAL",
        ),
        (
            "remote.log.storage.manager.impl.prefix",
            "",
            "Invalid value  for configuration remote.log.storage.manager.impl.prefix: String must be non-empty",
        ),
        (
            "offsets.topic.replication.factor",
            "40000",
            "Invalid value 40000 for configuration offsets.topic.replication.factor: Not a number of type SHORT",
        ),
        (
            "remote.log.manager.task.retry.jitter",
            "0.6",
            "Invalid value 0.6 for configuration remote.log.manager.task.retry.jitter: Value must be no more than 0.5",
        ),
        (
            "controller.quorum.voters",
            "x,x",
            "Invalid configuration value for controller.quorum.voters. "
            "Each entry should be in the form `{id}@{host}:{port}`.",
        ),
        (
            "controller.quorum.bootstrap.servers",
            "x,y",
            "Failed to parse host name from x for the configuration controller.quorum.bootstrap.servers. "
            'Each entry should be in the form "{host}:{port}"',
        ),
    ],
)
def test_a_value_is_refused_as_kafka_4_4_refuses_it(name: str, text: str, sentence: str) -> None:
    with pytest.raises(KafkaError) as raised:
        BrokerConfig().with_text({name: text})
    assert raised.value.message == sentence


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.cleanup.policy", ""),
        ("log.cleanup.policy", "delete,delete"),
        ("controller.quorum.voters", "1@localhost:9093,2@[::1]:9093"),
        ("group.consumer.migration.policy", "upgrade"),
        ("node.id", "0"),
        ("authorizer.class.name", ""),
    ],
)
def test_a_value_that_kafka_4_4_takes(name: str, text: str) -> None:
    BrokerConfig().with_text({name: text})
