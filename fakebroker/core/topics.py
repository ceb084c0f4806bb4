"""Topics: their names, their making, and where their replicas lie.

Source   metadata/.../controller/ReplicationControlManager.java createTopic; clients/.../internals/Topic.java validate.
Differs  Replicas are laid out by rule instead of at random, so that a test can say who leads: partition p has its
         leader on broker p mod N, its followers on the next ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from uuid import UUID

from fakebroker.apis.context import NewTopic
from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.config import ClusterConfig, TopicConfig
from fakebroker.core.partition import Partition
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

MAX_PARTITIONS = 10_000  # KRaft's limit for the partitions of one CreateTopics request

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class Topic:
    """A topic: `partitions[i]` is partition i; `configs` are its settings as they were given."""

    __slots__ = ("configs", "name", "partitions", "topic_id")

    def __init__(
        self, name: str, topic_id: UUID, partitions: Sequence[Partition], configs: Mapping[str, str | None]
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions
        self.configs = dict(configs)


def validate_name(name: str) -> None:
    """Raise INVALID_TOPIC_EXCEPTION, in Kafka's words, unless the name is legal."""
    problem = None
    if not name:
        problem = "the empty string is not allowed"
    elif name in (".", ".."):
        problem = "'.' or '..' is not allowed"
    elif len(name) > 249:
        problem = f"the length of '{name}' is longer than the max allowed length 249"
    elif not _LEGAL_NAME.fullmatch(name):
        problem = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    if problem is not None:
        raise KafkaError(ErrorCode.invalid_topic_exception, f"Topic name is invalid: {problem}")


def place_replicas(topic: NewTopic, broker_ids: Sequence[int], config: ClusterConfig) -> list[tuple[int, ...]]:
    """The broker ids of each partition, the preferred leader first; raises KafkaError with CreateTopics' errors."""
    if topic.assignments:
        return _checked_assignments(topic, broker_ids)
    partitions = config.num_partitions if topic.num_partitions == -1 else topic.num_partitions
    factor = topic.replication_factor
    factor = config.replication_factor(len(broker_ids)) if factor == -1 else factor
    if partitions < 1:
        raise KafkaError(ErrorCode.invalid_partitions, "Number of partitions was set to an invalid non-positive value.")
    if partitions > MAX_PARTITIONS:
        raise KafkaError(
            ErrorCode.policy_violation,
            f"Excessively large number of partitions per request: {partitions}, at most {MAX_PARTITIONS}.",
        )
    if factor < 1:
        raise KafkaError(
            ErrorCode.invalid_replication_factor,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if factor > len(broker_ids):
        raise KafkaError(
            ErrorCode.invalid_replication_factor,
            f"Unable to replicate the partition {factor} time(s): The target replication factor of {factor} cannot be "
            f"reached because only {len(broker_ids)} broker(s) are registered.",
        )
    count = len(broker_ids)
    return [tuple(broker_ids[(index + step) % count] for step in range(factor)) for index in range(partitions)]


def check_placement_is_alive(topic: NewTopic, placement: Sequence[Sequence[int]], brokers: BrokerRegistry) -> None:
    """Raise CreateTopics' error unless each partition has a replica that can lead it: stopped brokers are registered,
    so they get replicas, but they are in no ISR."""
    for index, replicas in enumerate(placement):
        if brokers.alive(replicas):
            continue
        if topic.assignments:
            raise KafkaError(
                ErrorCode.invalid_replica_assignment,
                f"All brokers specified in the manual partition assignment for partition {index} are fenced or in "
                "controlled shutdown.",
            )
        raise KafkaError(
            ErrorCode.invalid_replication_factor,
            f"Unable to replicate the partition {len(replicas)} time(s): All brokers are currently fenced.",
        )


def _checked_assignments(topic: NewTopic, broker_ids: Sequence[int]) -> list[tuple[int, ...]]:
    if topic.num_partitions != -1 or topic.replication_factor != -1:
        raise KafkaError(
            ErrorCode.invalid_request,
            "Partition count and replication factor must be -1 when a manual partition assignment is given.",
        )
    if sorted(topic.assignments) != list(range(len(topic.assignments))):
        raise KafkaError(
            ErrorCode.invalid_replica_assignment, "partitions should be a consecutive 0-based integer sequence"
        )
    placed = [tuple(topic.assignments[index]) for index in range(len(topic.assignments))]
    for index, replicas in enumerate(placed):
        if not replicas or len(set(replicas)) != len(replicas) or len(replicas) != len(placed[0]):
            raise KafkaError(
                ErrorCode.invalid_replica_assignment,
                f"The manual assignment of partition {index} is empty, names a broker twice, or differs in length.",
            )
        unknown = set(replicas) - set(broker_ids)
        if unknown:
            raise KafkaError(
                ErrorCode.invalid_replica_assignment,
                f"The manual partition assignment includes broker {min(unknown)}, but no such broker is registered.",
            )
    return placed


def topic_config(topic: NewTopic, config: ClusterConfig) -> TopicConfig:
    """The settings of a new topic; raises INVALID_CONFIG."""
    return TopicConfig.of(topic.configs, config.topic_defaults())
