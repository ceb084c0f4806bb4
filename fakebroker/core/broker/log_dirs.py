"""The log directories of a broker, by name. Nothing is stored in them.

Theory   Kafka has a replica in one of the directories of log.dirs. Here logs are in memory. The directory of a replica
         is reported, and may be changed, as in Kafka. A replica with a directory that is not configured (any more) is
         in the first one.
Source   server-common/.../config/ServerLogConfigs (log.dirs, log.dir); core/.../server/ReplicaManager.scala
         alterReplicaLogDirs; core/.../log/LogManager.scala isLogDirOnline @ 4.0.
Differs  A replica moves at once. New ones go to the first directory, Kafka's to the one with the fewest.
"""

from __future__ import annotations

from typing import Final

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.topic_partition import TopicPartition

_MAX_NAME: Final = 255  # of a file


def _future_dir_length(topic_partition: TopicPartition) -> int:
    """Return the length of Kafka's directory name for a replica that moves: topic, partition, an id of 32 digits."""
    return len(f"{topic_partition}.{'0' * 32}-future")


def all_log_dirs(config: BrokerConfig) -> tuple[str, ...]:
    """Return the directories in the configured order; at least one."""
    return config.log_dirs or config.log_dir


def alter_replica_log_dir(
    config: BrokerConfig,
    topic_partition: TopicPartition,
    partition: Partition | None,
    broker_id: int,
    destination: str,
) -> None:
    """Move a broker's replica to another directory. Raise KafkaError."""
    if _future_dir_length(topic_partition) > _MAX_NAME:
        raise KafkaError(ErrorCode.invalid_topic_exception, "The topic name is too long.")
    if destination not in all_log_dirs(config):
        raise KafkaError(ErrorCode.log_dir_not_found, f"Log dir {destination} is not found in the config.")
    if partition is None:
        raise KafkaError(ErrorCode.unknown_topic_or_partition, "Unknown topic or partition.")
    replica = partition.replicas.get(broker_id)
    if replica is None:
        raise KafkaError(ErrorCode.replica_not_available, "No replica of it is here.")
    replica.log_dir = destination
