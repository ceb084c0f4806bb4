"""The settings of a topic: all that Kafka knows, with its types, bounds and defaults.

What this broker acts on is in `core.config.TopicConfig`; the rest is checked, kept and told.

Source   storage/.../log/LogConfig.java validate; core/.../server/ControllerConfigurationValidator.scala;
         metadata/.../KafkaConfigSchema.java resolveEffectiveTopicConfig @ 4.0, with KIP-1030 (bounds and defaults),
         KIP-724 (no message.format.version) and without message.downconversion.enable.
Differs  Of several unknown names Kafka tells whichever its hash table has first; here it is the first of the request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from fakebroker.core.config.config_def import (
    ConfigKey,
    Type,
    Value,
    at_least,
    between,
    by_name,
    invalid,
    one_of,
    to_text,
)
from fakebroker.core.errors import ConfigError

# Where a setting comes from (DescribeConfigsResponse.ConfigSource).
DYNAMIC_TOPIC_CONFIG = 1
STATIC_BROKER_CONFIG = 4
DEFAULT_CONFIG = 5

_MAX_LONG = 2**63 - 1
_DAY_MS = 86_400_000
_BOOLEAN, _DOUBLE, _INT, _LIST, _LONG, _STRING = (
    Type.BOOLEAN, Type.DOUBLE, Type.INT, Type.LIST, Type.LONG, Type.STRING
)  # fmt: skip


class ConfigEntry(NamedTuple):
    """A setting of a topic: its value as text, and the number of Kafka's ConfigSource that it comes from."""

    name: str
    value: str
    source: int


def _gzip_level(name: str, value: Value) -> None:
    """CompressionType.GZIP.levelValidator."""
    assert isinstance(value, int)
    if value != -1 and not 1 <= value <= 9:
        raise invalid(name, value, "Value must be between 1 and 9 or equal to -1")


def _throttled_replicas(name: str, value: Value) -> None:
    """ThrottledReplicaListValidator."""
    assert isinstance(value, tuple)
    proposed = [item.strip() for item in value]
    if not all(re.fullmatch("([0-9]+:[0-9]+)?", item) for item in proposed) and "".join(proposed) != "*":
        raise invalid(
            name,
            f"[{', '.join(value)}]",
            f"{name} must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
        )


# In Kafka's order of definition, which decides what is complained about first. Times are milliseconds.
TOPIC_CONFIGS = by_name(
    (
        # Kafka 4.0 forgot this bound for topics (14 there); 4.1 has it: KAFKA-19080.
        ConfigKey("segment.bytes", _INT, 1_073_741_824, at_least(1_048_576)),
        ConfigKey("segment.ms", _LONG, 7 * _DAY_MS, at_least(1)),
        ConfigKey("segment.jitter.ms", _LONG, 0, at_least(0)),
        ConfigKey("segment.index.bytes", _INT, 10_485_760, at_least(4)),
        ConfigKey("flush.messages", _LONG, _MAX_LONG, at_least(1)),
        ConfigKey("flush.ms", _LONG, _MAX_LONG, at_least(0)),
        ConfigKey("retention.bytes", _LONG, -1),
        ConfigKey("retention.ms", _LONG, 7 * _DAY_MS, at_least(-1)),
        ConfigKey("max.message.bytes", _INT, 1_048_588, at_least(0)),
        ConfigKey("index.interval.bytes", _INT, 4096, at_least(0)),
        ConfigKey("delete.retention.ms", _LONG, _DAY_MS, at_least(0)),
        ConfigKey("min.compaction.lag.ms", _LONG, 0, at_least(0)),
        ConfigKey("max.compaction.lag.ms", _LONG, _MAX_LONG, at_least(1)),
        ConfigKey("file.delete.delay.ms", _LONG, 60_000, at_least(0)),
        ConfigKey("min.cleanable.dirty.ratio", _DOUBLE, 0.5, between(0, 1)),
        ConfigKey("cleanup.policy", _LIST, ("delete",), one_of("compact", "delete")),
        ConfigKey("unclean.leader.election.enable", _BOOLEAN, False),
        ConfigKey("min.insync.replicas", _INT, 1, at_least(1)),
        ConfigKey(
            "compression.type", _STRING, "producer", one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
        ),
        ConfigKey("compression.gzip.level", _INT, -1, _gzip_level),
        ConfigKey("compression.lz4.level", _INT, 9, between(1, 17)),
        ConfigKey("compression.zstd.level", _INT, 3, between(-131_072, 22)),
        ConfigKey("preallocate", _BOOLEAN, False),
        ConfigKey("message.timestamp.type", _STRING, "CreateTime", one_of("CreateTime", "LogAppendTime")),
        ConfigKey("message.timestamp.before.max.ms", _LONG, _MAX_LONG, at_least(0)),
        ConfigKey("message.timestamp.after.max.ms", _LONG, 3_600_000, at_least(0)),
        ConfigKey("leader.replication.throttled.replicas", _LIST, (), _throttled_replicas),
        ConfigKey("follower.replication.throttled.replicas", _LIST, (), _throttled_replicas),
        ConfigKey("remote.storage.enable", _BOOLEAN, False),
        ConfigKey("local.retention.ms", _LONG, -2, at_least(-2)),
        ConfigKey("local.retention.bytes", _LONG, -2, at_least(-2)),
        ConfigKey("remote.log.copy.disable", _BOOLEAN, False),
        ConfigKey("remote.log.delete.on.disable", _BOOLEAN, False),
        # New in 4.4; their place in the order is not known.
        ConfigKey("remote.copy.lag.ms", _LONG, 0, at_least(-1)),
        ConfigKey("remote.copy.lag.bytes", _LONG, -1, at_least(-1)),
        ConfigKey("errors.deadletterqueue.group.enable", _BOOLEAN, False),
        ConfigKey("max.decompressed.message.bytes", _INT, 2_147_483_639, at_least(1)),
    )
)


def validate(configs: Mapping[str, str | None]) -> dict[str, Value]:
    """The values of a topic's settings; raises ConfigError, in Kafka's words, for the first that is wrong."""
    texts = {name: text for name, text in configs.items() if text is not None}
    if len(texts) != len(configs):
        nulls = ",".join(name for name, text in configs.items() if text is None)
        raise ConfigError(f"Null value not supported for topic configs: {nulls}")
    for name in texts:
        if name not in TOPIC_CONFIGS:
            raise ConfigError(f"Unknown topic config name: {name}")
    values = {name: key.parse(texts[name]) for name, key in TOPIC_CONFIGS.items() if name in texts}
    _validate_values({name: values.get(name, key.default) for name, key in TOPIC_CONFIGS.items()})
    return values


def _validate_values(values: Mapping[str, Value]) -> None:
    minimum, maximum = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    assert isinstance(minimum, int)
    assert isinstance(maximum, int)
    if minimum > maximum:
        raise ConfigError(
            f"conflict topic config setting min.compaction.lag.ms ({minimum}) > max.compaction.lag.ms ({maximum})"
        )
    if values["remote.storage.enable"]:
        raise ConfigError(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )


def effective_configs(own: Mapping[str, str], brokers: Mapping[str, str]) -> list[ConfigEntry]:
    """All settings of a topic by name: its own, else the brokers' if they have one, else Kafka's default."""
    entries = []
    for name, key in sorted(TOPIC_CONFIGS.items()):
        if name in own:
            entries.append(ConfigEntry(name, own[name], DYNAMIC_TOPIC_CONFIG))
        elif name in brokers:
            entries.append(ConfigEntry(name, brokers[name], STATIC_BROKER_CONFIG))
        else:
            entries.append(ConfigEntry(name, to_text(key.default), DEFAULT_CONFIG))
    return entries
