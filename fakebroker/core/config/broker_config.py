"""The settings of the brokers: those of server.properties, and those altered since.

A setting without `by` is checked, kept and shown, without effect here.

Source   server/.../config/{AbstractKafkaConfig,ServerTopicConfigSynonyms}.java @ 4.4 (the tables were read out of the
         released jars); core/.../server/KafkaConfig.scala validateValues; metadata/.../KafkaConfigSchema.java
         resolveEffectiveTopicConfig @ 4.0.
Differs  The settings given at the start are the same for all brokers. An unknown name is refused there; Kafka keeps it
         for plugins. Of settings that contradict each other only those with an effect here are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, Self

from fakebroker.core.config.broker_configs.controller import ControllerConfigs
from fakebroker.core.config.broker_configs.groups import GroupConfigs
from fakebroker.core.config.broker_configs.log import LogConfigs
from fakebroker.core.config.broker_configs.network import NetworkConfigs
from fakebroker.core.config.broker_configs.ours import OurConfigs
from fakebroker.core.config.broker_configs.quotas_and_metrics import QuotaAndMetricConfigs
from fakebroker.core.config.broker_configs.remote_storage import RemoteStorageConfigs
from fakebroker.core.config.broker_configs.replication import ReplicationConfigs
from fakebroker.core.config.broker_configs.sasl import SaslServerConfigs
from fakebroker.core.config.broker_configs.security import SecurityConfigs
from fakebroker.core.config.broker_configs.share_groups import ShareGroupConfigs
from fakebroker.core.config.broker_configs.transactions import TransactionConfigs
from fakebroker.core.config.config_def import Value, to_text
from fakebroker.core.config.ip_overrides import parse_overrides
from fakebroker.core.config.listener_names import of_listener
from fakebroker.core.config.setting import Config, ConfigEntry, Setting
from fakebroker.core.config.topic_config import (
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    STATIC_BROKER_CONFIG,
    TopicConfig,
)
from fakebroker.core.errors import ConfigError
from fakebroker.spelling import near_to_it


class BrokerConfig(
    NetworkConfigs,
    ReplicationConfigs,
    LogConfigs,
    TransactionConfigs,
    QuotaAndMetricConfigs,
    OurConfigs,
    GroupConfigs,
    ShareGroupConfigs,
    ControllerConfigs,
    SecurityConfigs,
    SaslServerConfigs,
    RemoteStorageConfigs,
    Config,
):
    """The settings of a broker, in three layers: given at the start, set for all brokers at run time, and set for this
    broker. Each layer hides those before it."""

    # Values by attribute. `given` is all three together.
    static: Mapping[str, Value]
    altered: Mapping[str, Value]
    own: Mapping[str, Value]
    other_defaults: Mapping[str, Value] = {}  # by attribute; they replace those of the entries
    listener_texts: Mapping[str, str] = {}  # given at the start for single listeners, by their whole names

    def __init__(self, **given: Value) -> None:
        super().__init__(**given)
        vars(self).update(static=given, altered={}, own={})

    def layered(self, altered: Mapping[str, Value], own: Mapping[str, Value]) -> Self:
        """Return the values given at the start of this configuration under others that were set since. Unchecked."""
        static = self.static
        config = self._again({**static, **altered, **own})
        vars(config).update(static=static, altered=altered, own=own)
        return config._of_defaults(self.other_defaults)

    def with_defaults(self, values: Mapping[str, Value]) -> Self:
        """Return this configuration with other defaults, by attribute. They count as defaults, not as given."""
        config = self._again(self.static)._of_defaults(values).layered(self.altered, self.own)
        config.check()
        return config

    def of_cluster(self, brokers: int) -> Self:
        """Return this configuration with each replication factor of 0 replaced by the default for a cluster of so many
        brokers."""
        defaults = {**dict.fromkeys(_FACTORS, min(3, brokers)), **self.other_defaults}
        static = {name: value for name, value in self.static.items() if value or name not in _FACTORS}
        return self._again(static)._of_defaults(defaults).layered(self.altered, self.own)

    def _again(self, static: Mapping[str, Value]) -> Self:
        """Return a configuration with these settings given at the start, and the same ones of listeners."""
        config = type(self)(**static)
        vars(config)["listener_texts"] = self.listener_texts
        return config

    def _of_defaults(self, values: Mapping[str, Value]) -> Self:
        """Set other defaults, while the configuration is built."""
        defaults = {name: value for name, value in values.items() if name not in self.given}
        vars(self).update(defaults, other_defaults=values)
        return self

    def with_text(self, texts: Mapping[str, str | None]) -> Self:
        """Return this configuration with other settings given at the start. Raise ConfigError with the name of an
        invalid one."""
        of_listeners = {name: text for name, text in texts.items() if is_of_listener(name)}
        of_brokers = {name: text for name, text in texts.items() if name not in of_listeners}
        config = self._again({**self.static, **self.parse(_known(of_brokers))})
        vars(config)["listener_texts"] = {**self.listener_texts, **parsed_of_listeners(of_listeners)}
        config = config._of_defaults(self.other_defaults).layered(self.altered, self.own)
        config.check()
        return config

    def check(self) -> None:
        if not parse_overrides(self.max_connections_per_ip_overrides) and not self.max_connections_per_ip:
            raise ConfigError("max.connections.per.ip can be 0 only if max.connections.per.ip.overrides is set")
        if not self.topic_defaults.retention_ms:
            raise ConfigError("log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
        if 0 < self.queued_max_request_bytes < self.socket_request_max_bytes:
            raise ConfigError("queued.max.request.bytes must be larger or equal to socket.request.max.bytes")
        delay_ms, idle_ms = self.connection_failed_authentication_delay_ms, self.connections_max_idle_ms
        if 0 <= idle_ms <= delay_ms:
            raise ConfigError(
                f"connection.failed.authentication.delay.ms={delay_ms} should always be less than "
                f"connections.max.idle.ms={idle_ms} to prevent failed authentication responses from timing out"
            )

    @cached_property
    def topic_defaults(self) -> TopicConfig:
        """The settings of a topic without settings of its own."""
        values = {TopicConfig.SETTINGS[topic].attribute: value for topic, (value, _) in self._topic_values().items()}
        retention_ms = values.get("retention_ms")
        if isinstance(retention_ms, int) and retention_ms < 0:  # of any unit
            values["retention_ms"] = -1
        return TopicConfig(**values)

    @cached_property
    def topic_entries(self) -> Mapping[str, ConfigEntry]:
        """The settings that topics inherit from the brokers instead of Kafka's defaults, by the topics' names for
        them."""
        return {
            topic: ConfigEntry(topic, to_text(value), source) for topic, (value, source) in self._topic_values().items()
        }

    def _topic_values(self) -> dict[str, tuple[Value, int]]:
        """Return the given values for topics, and their sources. Of several names for one setting the first given one
        counts. Altered values count before those given at the start."""
        merged: dict[str, tuple[Value, int]] = {}
        for given, source in (
            (self.own, DYNAMIC_BROKER_CONFIG),
            (self.altered, DYNAMIC_DEFAULT_BROKER_CONFIG),
            (self.static, STATIC_BROKER_CONFIG),
        ):
            here: dict[str, tuple[Value, int]] = {}
            for key in _TOPIC_DEFAULTS:
                value = given.get(key.attribute)
                if value is not None and key.topic is not None:
                    here.setdefault(key.topic, (value * key.unit if key.unit != 1 else value, source))
            merged = here | merged
        return merged

    @property
    def without_effect(self) -> list[str]:
        """The names of given settings without effect, sorted. Of those of a listener only SASL's and TLS's have one."""
        names = [name for name, key in self.SETTINGS.items() if not key.applied_by and key.attribute in self.given]
        names += [name for name in self.listener_texts if _entry(name).applied_by not in _PER_LISTENER]
        return sorted(names)


# The modules that read settings listener by listener.
_PER_LISTENER: Final = (
    "cluster/cluster",
    "cluster/sasl/mechanisms",
    "server/tls/contexts",
    "server/tls/reconfiguration",
    "server/tls/stores",
)
_FACTORS = (
    "default_replication_factor",
    "offsets_topic_replication_factor",
    "transaction_state_log_replication_factor",
)
_TOPIC_DEFAULTS = [key for key in BrokerConfig.SETTINGS.values() if key.topic is not None]


def entry_of(name: str) -> Setting[Any] | None:
    """Return the definition of a setting of brokers; for one of a listener that of the setting which it hides. None if
    there is no such setting."""
    parts = of_listener(name)
    names = (name,) if parts is None else parts.settings
    return next(
        (BrokerConfig.SETTINGS[setting_name] for setting_name in names if setting_name in BrokerConfig.SETTINGS), None
    )


def is_of_listener(name: str) -> bool:
    """Return True for `listener.name.NAME.SETTING`, and with a mechanism of SASL before the setting."""
    return of_listener(name) is not None and entry_of(name) is not None


def parsed_of_listeners(texts: Mapping[str, str | None]) -> dict[str, str]:
    """Return the texts of settings of listeners. Raise ConfigError for an invalid one."""
    parsed = {}
    for name, text in texts.items():
        if text is None:
            raise ConfigError(f"Null value not supported for configuration {name}.")
        _entry(name).parse(text)
        parsed[name] = text
    return parsed


def _entry(name: str) -> Setting[Any]:
    entry = entry_of(name)
    assert entry is not None
    return entry


def refuse_unknown(names: Mapping[str, str | None]) -> None:
    """Raise ConfigError for the first name that is no setting of brokers."""
    for name in names:
        if entry_of(name) is None:
            raise ConfigError(f"Unknown configuration {name!r}. {near_to_it(name, BrokerConfig.SETTINGS)}")


def _known(configs: Mapping[str, str | None]) -> dict[str, str]:
    """Return the texts. Raise ConfigError for an unknown name."""
    texts = {}
    refuse_unknown(configs)
    for name, text in configs.items():
        if text is None:
            raise ConfigError(f"Null value not supported for configuration {name}.")
        texts[name] = text
    return texts
