"""Settings as they are described to clients: the effective value, its source, and its synonyms.

Theory   A setting may be set in several places, and under several names (log.retention.ms, .minutes, .hours). All set
         values, and the defaults, are its synonyms: the nearest place first, and in each place the names by precedence.
         Those before the first one of its own name are left out. The source is that of the first one, even if the value
         is that of another name: Kafka does so.
Source   core/.../server/ConfigHelper.scala; server/.../config/DynamicBrokerConfig.java brokerConfigSynonyms @ 4.4;
         DescribeConfigsResponse.java ConfigSource, ConfigType.
Differs  Sorted by name; Kafka returns them in the order of a hash table. The documentation is ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from fakebroker.core.config.broker_config import BrokerConfig, entry_of, is_of_listener
from fakebroker.core.config.broker_quota_config import BrokerQuotaConfig
from fakebroker.core.config.client_metrics_config import ClientMetricsConfig
from fakebroker.core.config.config_def import PASSWORD, Value, to_text
from fakebroker.core.config.group_config import GroupConfig, settings
from fakebroker.core.config.listener_endpoints import Endpoint, endpoint_text
from fakebroker.core.config.setting import Setting, UpdateMode
from fakebroker.core.config.topic_config import (
    CLIENT_METRICS_CONFIG,
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_BROKER_LOGGER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    DYNAMIC_TOPIC_CONFIG,
    GROUP_CONFIG,
    STATIC_BROKER_CONFIG,
    TopicConfig,
)

# ConfigType of DescribeConfigsResponse.
_UNKNOWN: Final = 0
_TYPES: Final = {
    kind: number
    for number, kind in enumerate(
        ("BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"), 1
    )
}

_ALTERNATIVES: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_FLUSH: Final = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")  # the second is the default of the first


# Settings that StandardAuthorizer reads by itself: to a broker of Kafka they are unknown.
_OF_AUTHORIZER: Final = frozenset(("allow.everyone.if.no.acl.found", "super.users"))

# Settings of brokers that are described only if they are set (ConfigDef.defineInternal; read out of the released jars).
_INTERNAL: Final = frozenset(
    [
        "controller.performance.always.log.threshold.ms",
        "controller.performance.sample.period.ms",
        "group.consumer.assignor.offload.enable",
        "group.consumer.regex.refresh.interval.ms",
        "group.share.assignor.offload.enable",
        "group.share.dlq.manager.class.name",
        "group.share.initialize.retry.interval.ms",
        "group.share.persister.class.name",
        "group.streams.acceptable.recovery.lag",
        "group.streams.assignor.offload.enable",
        "group.streams.max.warmup.replicas",
        "group.streams.min.task.offset.interval.ms",
        "group.streams.num.warmup.replicas",
        "group.streams.task.offset.interval.ms",
        "internal.metadata.delete.delay.millis",
        "internal.metadata.log.segment.bytes",
        "internal.metadata.max.batch.size.in.bytes",
        "log.initial.task.delay.ms",
        "producer.id.expiration.check.interval.ms",
        "remote.log.index.file.cache.ttl.ms",
        "remote.log.manager.task.retry.backoff.max.ms",
        "remote.log.manager.task.retry.backoff.ms",
        "remote.log.manager.task.retry.jitter",
        "server.max.startup.time.ms",
        "share.coordinator.cold.partition.snapshot.interval.ms",
        "share.coordinator.state.topic.prune.interval.ms",
        "unclean.leader.election.interval.ms",
        "unstable.api.versions.enable",
        "unstable.feature.versions.enable",
    ]
)


class Synonym(NamedTuple):
    """The value that a setting would have without those before it."""

    name: str
    value: str | None
    source: int


class DescribedConfig(NamedTuple):
    """One setting as it is described to clients."""

    name: str
    value: str | None
    read_only: bool
    source: int
    is_sensitive: bool
    synonyms: tuple[Synonym, ...]
    type: int
    documentation: str | None


class BrokerConfigLayers:
    """The settings of one broker, layer by layer."""

    def __init__(
        self,
        config: BrokerConfig,
        own: Mapping[str, str],
        altered: Mapping[str, str],
        identity: Mapping[str, str],
    ) -> None:
        """Create the layers. `own` and `altered` are the texts set for the broker and for all brokers. `identity` has
        the settings that differ from broker to broker."""
        self.config = config
        names = {key.attribute: name for name, key in BrokerConfig.SETTINGS.items()}
        static = {names[attribute]: _text(value) for attribute, value in config.static.items()}
        defaults = {names[attribute]: to_text(value) for attribute, value in config.other_defaults.items()}
        self._identity = identity
        self._layers: tuple[tuple[Mapping[str, str | None], int], ...] = (
            (own, DYNAMIC_BROKER_CONFIG),
            (altered, DYNAMIC_DEFAULT_BROKER_CONFIG),
            ({**config.listener_texts, **static, **identity}, STATIC_BROKER_CONFIG),
            (_DEFAULTS | defaults, DEFAULT_CONFIG),
        )

    def describe(self) -> Iterator[DescribedConfig]:
        """Yield the descriptions of all settings."""
        set_ = {name for layer, _ in self._layers[:3] for name in layer}
        for name in sorted(BrokerConfig.SETTINGS.keys() - _INTERNAL - _OF_AUTHORIZER | set_):
            key = BrokerConfig.SETTINGS.get(name)
            if key is None:
                synonyms = self.synonyms(name)
                value = synonyms[0].value if _key_of(name) is not None else None
                yield self._described(name, value, synonyms)
            else:
                value = _text(vars(self.config)[key.attribute])
                if name not in self._layers[0][0]:
                    value = self._identity.get(name) or value
                yield self._described(name, value, self.synonyms(name))

    def describe_default(self) -> Iterator[DescribedConfig]:
        """Yield the descriptions of the settings set for all brokers."""
        for name, text in sorted(self._layers[1][0].items()):
            of_all = [synonym for synonym in self.synonyms(name) if synonym.source == DYNAMIC_DEFAULT_BROKER_CONFIG]
            yield self._described(name, text, of_all)

    def synonyms(self, name: str) -> list[Synonym]:
        """Return the synonyms of a broker's setting."""
        is_sensitive = _is_sensitive(_key_of(name))
        synonyms = [
            Synonym(alias, None if is_sensitive else layer[alias], source)
            for layer, source in self._layers
            for alias in _names_of(name)
            if alias in layer
        ]
        while synonyms and synonyms[0].name != name:
            synonyms.pop(0)
        return synonyms

    def _described(self, name: str, value: str | None, synonyms: list[Synonym]) -> DescribedConfig:
        key = _key_of(name)
        read_only = key is None or key.mode is UpdateMode.READ_ONLY or is_of_listener(name)
        return _described(name, key, value, synonyms, read_only=read_only)


def _key_of(name: str) -> Setting[Any] | None:
    """Return the definition of a setting of brokers; for one of a listener that of the setting which it hides. None
    for those that Kafka's table does not have."""
    return None if name in _OF_AUTHORIZER else entry_of(name) or BrokerQuotaConfig.SETTINGS.get(name)


def identity_of(
    broker_id: int, bound: Iterable[Endpoint], advertised: Iterable[Endpoint], rack: str | None
) -> dict[str, str]:
    """Return the settings that differ from broker to broker: its id, where its listeners listen, the advertised
    addresses, and its rack."""
    in_rack = {} if rack is None else {"broker.rack": rack}
    return {
        **in_rack,
        "node.id": str(broker_id),
        "broker.id": str(broker_id),
        "listeners": ",".join(map(endpoint_text, bound)),
        "advertised.listeners": ",".join(map(endpoint_text, advertised)),
    }


def describe_topic(own: Mapping[str, str], brokers: BrokerConfigLayers) -> Iterator[DescribedConfig]:
    """Yield the descriptions of the settings of a topic with these of its own, at one broker."""
    config = brokers.config.topic_defaults.with_own(own)
    for name, key in sorted(TopicConfig.SETTINGS.items()):
        value = _text(vars(config)[key.attribute])
        synonyms = brokers.synonyms(_OF_BROKERS[name]) if name in _OF_BROKERS else []
        if name in own:
            synonyms.insert(0, Synonym(name, value, DYNAMIC_TOPIC_CONFIG))
        yield _described(name, key, value, synonyms)


def describe_group(own: Mapping[str, str], brokers: BrokerConfigLayers) -> Iterator[DescribedConfig]:
    """Yield the descriptions of the settings of a group with these of its own."""
    config = GroupConfig.of(own, brokers.config)
    for name, key in sorted(settings().items()):
        if key.is_internal and name not in own:
            continue
        value = _text(vars(config)[key.attribute])
        synonyms = brokers.synonyms(key.broker.name) if key.broker is not None else []
        if name in own:
            synonyms.insert(0, Synonym(name, value, GROUP_CONFIG))
        if key.broker is None:
            synonyms.append(Synonym(name, _text(key.default), DEFAULT_CONFIG))
        yield _described(name, key, value, synonyms)


def describe_client_metrics(own: Mapping[str, str]) -> Iterator[DescribedConfig]:
    """Yield the descriptions of the settings of a subscription to metrics with these of its own."""
    config = ClientMetricsConfig(**ClientMetricsConfig.parse(own))
    for name, key in sorted(ClientMetricsConfig.SETTINGS.items()):
        value = _text(vars(config)[key.attribute])
        yield _described(name, key, value, [Synonym(name, value, CLIENT_METRICS_CONFIG)] if name in own else [])


def describe_loggers(levels: Mapping[str, str]) -> Iterator[DescribedConfig]:
    """Yield the descriptions of the levels of a broker's loggers."""
    for name, level in sorted(levels.items()):
        yield DescribedConfig(name, level, False, DYNAMIC_BROKER_LOGGER_CONFIG, False, (), _UNKNOWN, "")


def _described(
    name: str, key: Setting[Any] | None, value: str | None, synonyms: list[Synonym], read_only: bool = False
) -> DescribedConfig:
    is_sensitive = _is_sensitive(key)
    return DescribedConfig(
        name,
        None if is_sensitive else value,
        read_only,
        synonyms[0].source if synonyms else DEFAULT_CONFIG,
        is_sensitive,
        tuple(synonyms),
        _UNKNOWN if key is None else _TYPES[key.type.value],
        None if key is None or is_of_listener(name) else key.doc,
    )


def _is_sensitive(key: Setting[Any] | None) -> bool:
    """Return True for a password, and for an unknown setting, which might be one."""
    return key is None or key.type is PASSWORD


def _names_of(name: str) -> tuple[str, ...]:
    if name == _FLUSH[0]:
        return _FLUSH
    if is_of_listener(name) and (key := entry_of(name)) is not None:
        return name, key.name
    return next((names for names in _ALTERNATIVES if name in names), (name,))


def _text(value: Value) -> str | None:
    return None if value is None else to_text(value)


_DEFAULTS: Final = {
    name: to_text(key.default)
    for name, key in BrokerConfig.SETTINGS.items()
    if key.default is not None and name not in _OF_AUTHORIZER
}
# The brokers' name of a topic's setting; of several, the one that counts first.
_OF_BROKERS: Final[dict[str, str]] = {}
for _key in BrokerConfig.SETTINGS.values():
    if _key.topic is not None:
        _OF_BROKERS.setdefault(_key.topic, _key.name)
