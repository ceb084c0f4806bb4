"""The settings of a topic: all that Kafka knows, with its types, bounds and defaults.

A setting without `by` is checked, kept and reported, without effect here.

Source   storage/.../log/LogConfig.java @ 4.4 (read out of the released jar), its validate;
         core/.../server/ControllerConfigurationValidator.scala; metadata/.../ConfigurationControlManager.java
         incrementalAlterConfigResource; metadata/.../KafkaConfigSchema.java resolveEffectiveTopicConfig @ 4.0.
Differs  Of several unknown names Kafka reports the first in its hash table; here it is the first of the request.
         Removing a setting that does not exist is refused; Kafka does nothing. `internal.segment.bytes`, for Kafka's
         own tests, is unknown here.
Units    bytes and milliseconds, as the names say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from fakebroker.core.config.config_def import (
    BOOLEAN,
    DOUBLE,
    INT,
    LIST,
    LONG,
    STRING,
    Value,
    at_least,
    between,
    invalid,
    one_of,
    some_of,
    to_text,
)
from fakebroker.core.config.setting import Config, ConfigEntry, Setting, UpdateMode
from fakebroker.core.errors import ConfigError

# The source of a setting (DescribeConfigsResponse.ConfigSource).
DYNAMIC_TOPIC_CONFIG = 1
DYNAMIC_BROKER_CONFIG = 2
DYNAMIC_DEFAULT_BROKER_CONFIG = 3
STATIC_BROKER_CONFIG = 4
DEFAULT_CONFIG = 5
DYNAMIC_BROKER_LOGGER_CONFIG = 6
CLIENT_METRICS_CONFIG = 7
GROUP_CONFIG = 8

_MAX_LONG = 2**63 - 1
_DAY_MS = 86_400_000

T = TypeVar("T")


def gzip_level(name: str, value: Value) -> None:
    """Check the value as CompressionType.GZIP.levelValidator does."""
    assert isinstance(value, int)
    if value != -1 and not 1 <= value <= 9:
        raise invalid(name, value, "Value must be between 1 and 9 or equal to -1")


def throttled_replicas(name: str, value: Value) -> None:
    """Check the value as ThrottledReplicaListValidator does."""
    assert isinstance(value, tuple)
    proposed = [item.strip() for item in value]
    if not all(re.fullmatch("([0-9]+:[0-9]+)?", item) for item in proposed) and "".join(proposed) != "*":
        raise invalid(
            name,
            f"[{', '.join(value)}]",
            f"{name} must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
        )


class TopicSetting(Setting[T]):
    """A setting of a topic. All of them may be changed at any time."""

    __slots__ = ()
    usual_mode = UpdateMode.DYNAMIC


_Strings = TopicSetting[tuple[str, ...]]


class TopicConfig(Config):
    """The settings of a topic, in Kafka's order of definition, which decides the error that is reported first."""

    # Kafka 4.0 lacks this bound for topics (14 there); 4.1 has it: KAFKA-19080.
    segment_bytes = TopicSetting(
        INT,
        1_073_741_824,
        at_least(1_048_576),
        by="core/log/append",
        doc="size of a segment, and the largest size of a batch",
    )
    segment_ms = TopicSetting(
        LONG, 7 * _DAY_MS, at_least(1), by="core/log/compaction/cleaning", doc="time after which a segment is closed"
    )
    segment_jitter_ms = TopicSetting(LONG, 0, at_least(0), doc="largest random part that is subtracted from segment.ms")
    segment_index_bytes = TopicSetting(INT, 10_485_760, at_least(4), doc="size of the index of a segment")
    flush_messages = TopicSetting(LONG, _MAX_LONG, at_least(1), doc="records after which a log is flushed")
    flush_ms = TopicSetting(LONG, _MAX_LONG, at_least(0), doc="time after which a log is flushed")
    retention_bytes = TopicSetting(
        LONG,
        -1,
        by="core/replication/partition",
        doc="size of a partition above which its oldest records are deleted; -1 keeps them",
    )
    retention_ms = TopicSetting(
        LONG,
        7 * _DAY_MS,
        at_least(-1),
        by="cluster/housekeeping",
        doc="age above which records are deleted; -1 keeps them",
    )
    max_message_bytes = TopicSetting(INT, 1_048_588, at_least(0), by="core/log/append", doc="largest batch")
    max_decompressed_message_bytes = TopicSetting(
        INT,
        2_147_483_639,
        between(1, 2_147_483_639),
        by="core/log/log_validator",
        doc="largest record of a compressed batch",
    )
    index_interval_bytes = TopicSetting(INT, 4096, at_least(0), doc="bytes between two entries of a segment's index")
    delete_retention_ms = TopicSetting(
        LONG,
        _DAY_MS,
        at_least(0),
        by="core/log/compaction/cleaning",
        doc="time for which a compacted topic keeps a tombstone",
    )
    min_compaction_lag_ms = TopicSetting(
        LONG, 0, at_least(0), by="core/log/compaction/cleaning", doc="shortest time until a record may be compacted"
    )
    max_compaction_lag_ms = TopicSetting(
        LONG, _MAX_LONG, at_least(1), by="core/log/compaction/cleaning", doc="longest time until a record is compacted"
    )
    file_delete_delay_ms = TopicSetting(LONG, 60_000, at_least(0), doc="time for which deleted files stay")
    min_cleanable_dirty_ratio = TopicSetting(
        DOUBLE,
        0.5,
        between(0, 1),
        by="core/replication/compaction",
        doc="dirty part of a log from which on it is compacted",
    )
    cleanup_policy = _Strings(
        LIST,
        ("delete",),
        some_of("compact", "delete", may_be_empty=True),
        by="core/replication/partition",
        doc="treatment of old records: delete, compact, both or nothing",
    )
    unclean_leader_election_enable = TopicSetting(
        BOOLEAN,
        False,
        by="core/controller/leadership",
        doc="whether a replica outside of the ISR may lead if no other can",
    )
    min_insync_replicas = TopicSetting(
        INT,
        1,
        at_least(1),
        by="core/replication/partition",
        doc="ISR size below which acks=all is refused",
    )
    compression_type = TopicSetting(
        STRING,
        "producer",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        by="core/log/log_validator",
        doc="codec of stored batches; producer keeps the producer's",
    )
    compression_gzip_level = TopicSetting(INT, -1, gzip_level, doc="level of gzip; -1 is its default")
    compression_lz4_level = TopicSetting(INT, 9, between(1, 17), doc="level of lz4")
    compression_zstd_level = TopicSetting(INT, 3, between(-131_072, 22), doc="level of zstd")
    preallocate = TopicSetting(BOOLEAN, False, doc="whether the file of a segment is created in its full size")
    message_timestamp_type = TopicSetting(
        STRING,
        "CreateTime",
        one_of("CreateTime", "LogAppendTime"),
        by="core/log/log_validator",
        doc="CreateTime: the producer's time; LogAppendTime: the broker's time",
    )
    message_timestamp_before_max_ms = TopicSetting(
        LONG, _MAX_LONG, at_least(0), by="core/log/log_validator", doc="most time that a timestamp may be before now"
    )
    message_timestamp_after_max_ms = TopicSetting(
        LONG, 3_600_000, at_least(0), by="core/log/log_validator", doc="most time that a timestamp may be after now"
    )
    leader_replication_throttled_replicas = _Strings(
        LIST, (), throttled_replicas, by="core/quota/replication", doc="replicas that are throttled as leaders"
    )
    follower_replication_throttled_replicas = _Strings(
        LIST, (), throttled_replicas, by="core/quota/replication", doc="replicas that are throttled as followers"
    )
    remote_storage_enable = TopicSetting(BOOLEAN, False, doc="whether the topic uses tiered storage")
    local_retention_ms = TopicSetting(
        LONG, -2, at_least(-2), doc="age above which tiered records leave the broker; -2: retention.ms"
    )
    local_retention_bytes = TopicSetting(
        LONG, -2, at_least(-2), doc="size above which tiered records leave the broker; -2: retention.bytes"
    )
    remote_log_copy_disable = TopicSetting(BOOLEAN, False, doc="whether copying to tiered storage is off")
    remote_copy_lag_ms = TopicSetting(
        LONG, 0, at_least(-1), doc="age at which records are copied to tiered storage; -1: as late as possible"
    )
    remote_copy_lag_bytes = TopicSetting(
        LONG, -1, at_least(-1), doc="bytes after which records are copied to tiered storage; -1: as late as possible"
    )
    remote_log_delete_on_disable = TopicSetting(
        BOOLEAN, False, doc="whether tiered records are deleted when tiered storage is turned off"
    )
    errors_deadletterqueue_group_enable = TopicSetting(
        BOOLEAN, False, doc="whether share groups may write records that they gave up to this topic"
    )

    def check(self) -> None:
        minimum, maximum = self.min_compaction_lag_ms, self.max_compaction_lag_ms
        if minimum > maximum:
            raise ConfigError(
                f"conflict topic config setting min.compaction.lag.ms ({minimum}) > max.compaction.lag.ms ({maximum})"
            )
        if self.remote_storage_enable:
            raise ConfigError(
                "Tiered Storage functionality is disabled in the broker. "
                "Topic cannot be configured with remote log storage."
            )

    @classmethod
    def of(cls, configs: Mapping[str, str | None], defaults: TopicConfig) -> TopicConfig:
        """Return the settings of a topic with these of its own. Raise ConfigError for any that Kafka would refuse."""
        texts = _refuse_null(configs)
        refuse_unknown(texts)
        config = defaults.with_own(texts)
        config.check()
        return config

    def with_own(self, texts: Mapping[str, str]) -> TopicConfig:
        """Return these defaults with a topic's own settings. Contradictions are not checked: after a change of a
        default Kafka does not check them either."""
        return TopicConfig(**{**self.given, **self.parse(texts)}) if texts else self


def refuse_unknown(names: Mapping[str, str | None]) -> None:
    """Raise ConfigError for the first name that is no setting of topics."""
    for name in names:
        if name not in TopicConfig.SETTINGS:
            raise ConfigError(f"Unknown topic config name: {name}")


def _refuse_null(configs: Mapping[str, str | None]) -> dict[str, str]:
    texts = {name: text for name, text in configs.items() if text is not None}
    if len(texts) != len(configs):
        nulls = ",".join(name for name, text in configs.items() if text is None)
        raise ConfigError(f"Null value not supported for topic configs: {nulls}")
    return texts


def altered(own: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return a topic's own settings after some were set, or removed with None. Raise ConfigError for an unknown
    name."""
    refuse_unknown(changes)
    both = {**own, **changes}
    return {name: text for name, text in both.items() if text is not None}


def effective_configs(own: Mapping[str, str], inherited: Mapping[str, ConfigEntry]) -> list[ConfigEntry]:
    """Return all settings of a topic, sorted by name: its own, else the brokers' if they have one, else Kafka's
    default."""
    entries = []
    for name, key in sorted(TopicConfig.SETTINGS.items()):
        if name in own:
            entries.append(ConfigEntry(name, own[name], DYNAMIC_TOPIC_CONFIG))
        else:
            entries.append(inherited.get(name) or ConfigEntry(name, to_text(key.default), DEFAULT_CONFIG))
    return entries
