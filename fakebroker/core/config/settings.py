"""Settings by Kafka's names, with Kafka's defaults.

A setting is a dataclass field; its Kafka name is the same with dots for underscores. Values given as text
(command line, CreateTopics) are read as Kafka reads them: core/config/config_def.py. What a topic may be told is in
core/config/log_config.py; `TopicConfig` is what this broker acts on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Self, cast

from fakebroker.core.config import log_config
from fakebroker.core.config.config_def import Type, parse_type, to_text
from fakebroker.core.config.ip_overrides import parse_overrides
from fakebroker.core.errors import ConfigError

# The settings of brokers whose numbers have 64 bits, by how their names end; others have 32.
_LONG_ENDINGS = (".ms", ".us", ".retention.bytes", ".memory.bytes")


@dataclass(frozen=True, slots=True)
class _Config:
    def with_text(self, values: Mapping[str, str | None]) -> Self:
        """This configuration with the named settings changed; raises ConfigError naming the bad one."""
        known = {field.name.replace("_", "."): field for field in fields(self)}
        changed: dict[str, int | str | bool] = {}
        for name, text in values.items():
            if name not in known:
                raise ConfigError(f"Unknown configuration {name!r}. Known: {', '.join(sorted(known))}.")
            if text is None:
                raise ConfigError(f"Null value not supported for configuration {name}.")
            changed[known[name].name] = _parse(name, getattr(self, known[name].name), text)
        result = replace(self, **changed)
        result.check()
        return result

    def check(self) -> None:
        """Raise ConfigError unless every value is within its bounds."""

    def _at_least(self, minimum: int, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if value < minimum:
                kafka_name = name.replace("_", ".")
                raise ConfigError(
                    f"Invalid value {value} for configuration {kafka_name}: Value must be at least {minimum}"
                )

    def _one_of(self, name: str, *choices: str) -> None:
        value = getattr(self, name)
        if value not in choices:
            raise ConfigError(
                f"Invalid value {value} for configuration {name.replace('_', '.')}: String must be one of: "
                f"{', '.join(choices)}"
            )


def _parse(name: str, default: int | str | bool, text: str) -> int | str | bool:
    if isinstance(default, bool):
        config_type = Type.BOOLEAN
    elif isinstance(default, int):
        config_type = Type.LONG if name.endswith(_LONG_ENDINGS) else Type.INT
    else:
        config_type = Type.STRING
    return cast(int | str | bool, parse_type(name, text, config_type))


@dataclass(frozen=True, slots=True)
class TopicConfig(_Config):
    """Settings of a topic (org.apache.kafka.common.config.TopicConfig, defaults of Kafka 4.0)."""

    min_insync_replicas: int = 1
    max_message_bytes: int = 1_048_588
    message_timestamp_type: str = "CreateTime"
    unclean_leader_election_enable: bool = False
    message_timestamp_before_max_ms: int = 2**63 - 1
    message_timestamp_after_max_ms: int = 3_600_000
    cleanup_policy: str = "delete"
    compression_type: str = "producer"
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    segment_bytes: int = 1_073_741_824
    max_decompressed_message_bytes: int = 2_147_483_639

    def check(self) -> None:
        self._at_least(1, "min_insync_replicas", "max_decompressed_message_bytes")
        self._at_least(0, "max_message_bytes", "message_timestamp_before_max_ms", "message_timestamp_after_max_ms")
        self._at_least(-1, "retention_ms")
        self._at_least(1_048_576, "segment_bytes")
        self._one_of("message_timestamp_type", "CreateTime", "LogAppendTime")
        self._one_of("compression_type", "uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
        for policy in self.cleanup_policy.split(","):
            if policy.strip() not in ("compact", "delete"):
                raise ConfigError(
                    f"Invalid value {policy.strip()} for configuration cleanup.policy: String must be one of: compact, "
                    "delete"
                )

    @classmethod
    def of(cls, values: Mapping[str, str | None], defaults: TopicConfig) -> TopicConfig:
        """The configuration of a new topic; raises ConfigError for any setting that Kafka would refuse."""
        parsed = log_config.validate(values)
        known = {field.name: field.name.replace("_", ".") for field in fields(cls)}
        chosen = {name: parsed[kafka_name] for name, kafka_name in known.items() if kafka_name in parsed}
        # What is a LIST in Kafka is kept as its text.
        texts = {name: to_text(value) for name, value in chosen.items() if isinstance(value, tuple)}
        return replace(defaults, **(chosen | texts))  # type: ignore[arg-type]

    def set_by_brokers(self) -> dict[str, str]:
        """By Kafka's names, what the brokers' settings made different from Kafka's defaults."""
        return {
            name: to_text(value)
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default
            and (name := field.name.replace("_", ".")) in log_config.TOPIC_CONFIGS
        }


@dataclass(frozen=True, slots=True)
class ClusterConfig(_Config):
    """Settings of all brokers (Kafka's server.properties, defaults of Kafka 4.0 unless a comment says otherwise)."""

    socket_request_max_bytes: int = 104_857_600
    connections_max_idle_ms: int = 600_000
    max_connections: int = 2**31 - 1
    max_connections_per_ip: int = 2**31 - 1
    max_connections_per_ip_overrides: str = ""
    quota_window_num: int = 11
    quota_window_size_seconds: int = 1
    # Not Kafka's: what each request counts for request_percentage quotas (core/quota/quota.py), in microseconds.
    fakebroker_request_handler_time_us: int = 100
    message_max_bytes: int = 1_048_588
    min_insync_replicas: int = 1
    num_partitions: int = 1
    # Kafka has 1. Here 0 means: as many as there are brokers, at most 3, since replication is what this
    # broker is for (docs/decisions.md).
    default_replication_factor: int = 0
    auto_create_topics_enable: bool = True
    replica_lag_time_max_ms: int = 30_000
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_seconds: int = 300
    log_message_timestamp_type: str = "CreateTime"
    unclean_leader_election_enable: bool = False
    producer_purgatory_purge_interval_requests: int = 1000
    fetch_purgatory_purge_interval_requests: int = 1000
    fetch_max_bytes: int = 57_671_680
    log_message_timestamp_before_max_ms: int = 2**63 - 1
    log_message_timestamp_after_max_ms: int = 3_600_000
    log_cleanup_policy: str = "delete"
    compression_type: str = "producer"
    log_retention_bytes: int = -1
    log_retention_ms: int = 604_800_000
    log_segment_bytes: int = 1_073_741_824
    log_initial_task_delay_ms: int = 30_000
    log_retention_check_interval_ms: int = 300_000
    # Not Kafka's: the bytes of all logs together, so that a forgotten broker does not eat the machine
    # (docs/decisions.md). -1 is no bound.
    log_memory_bytes: int = 268_435_456
    producer_id_expiration_ms: int = 86_400_000
    producer_id_expiration_check_interval_ms: int = 600_000

    def check(self) -> None:
        self._at_least(
            1,
            "socket_request_max_bytes",
            "min_insync_replicas",
            "num_partitions",
            "replica_lag_time_max_ms",
            "leader_imbalance_check_interval_seconds",
            "log_retention_check_interval_ms",
            "producer_id_expiration_ms",
            "producer_id_expiration_check_interval_ms",
        )
        self._at_least(1, "quota_window_num", "quota_window_size_seconds")
        self._at_least(0, "max_connections", "max_connections_per_ip", "fakebroker_request_handler_time_us")
        if not parse_overrides(self.max_connections_per_ip_overrides) and not self.max_connections_per_ip:
            raise ConfigError("max.connections.per.ip can be 0 only if max.connections.per.ip.overrides is set")
        self._at_least(
            0,
            "message_max_bytes",
            "default_replication_factor",
            "producer_purgatory_purge_interval_requests",
            "fetch_purgatory_purge_interval_requests",
            "log_initial_task_delay_ms",
        )
        self._at_least(-1, "log_memory_bytes")
        self._at_least(1024, "fetch_max_bytes")
        self.topic_defaults().check()

    def topic_defaults(self) -> TopicConfig:
        """What a topic has that was created without settings of its own."""
        return TopicConfig(
            min_insync_replicas=self.min_insync_replicas,
            max_message_bytes=self.message_max_bytes,
            message_timestamp_type=self.log_message_timestamp_type,
            unclean_leader_election_enable=self.unclean_leader_election_enable,
            message_timestamp_before_max_ms=self.log_message_timestamp_before_max_ms,
            message_timestamp_after_max_ms=self.log_message_timestamp_after_max_ms,
            cleanup_policy=self.log_cleanup_policy,
            compression_type=self.compression_type,
            retention_bytes=self.log_retention_bytes,
            retention_ms=self.log_retention_ms,
            segment_bytes=self.log_segment_bytes,
        )

    def replication_factor(self, brokers: int) -> int:
        """The replication factor of a topic created without one."""
        return self.default_replication_factor or min(3, brokers)
