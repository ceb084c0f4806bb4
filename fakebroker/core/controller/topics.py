"""Topics: their making, and where their replicas lie.

Source   metadata/.../controller/ReplicationControlManager.java createTopics, createTopic, validateNewTopicNames,
         validateManualPartitionAssignment; core/.../server/ControllerApis.scala createTopics @ 4.0.
         metadata/.../placement/StripedReplicaPlacer.java place.
Differs  Replicas are laid out by rule instead of at random, so that a test can say who leads: of the N brokers that
         run, number p mod N leads partition p and the next ones follow; stopped ones follow only when those run out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from fakebroker.apis.context import ConfigEntry, NewTopic
from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol import topic_name
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

MAX_PARTITIONS_PER_BATCH = 10_000  # of all topics of one request


class Topic:
    """A topic: `partitions[i]` is partition i. `configs` are its own settings, as they were given."""

    __slots__ = ("configs", "effective_configs", "name", "partitions", "topic_id")

    def __init__(
        self,
        name: str,
        topic_id: UUID,
        partitions: list[Partition],
        configs: Mapping[str, str],
        effective_configs: Sequence[ConfigEntry],
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions
        self.configs = configs
        self.effective_configs = effective_configs


def new_name_error(
    name: str, topics: Collection[str], by_unified_name: Mapping[str, Collection[str]]
) -> KafkaError | None:
    """What is wrong with the name of a new topic. `by_unified_name` finds the topics whose names would collide."""
    if name == topic_name.CLUSTER_METADATA_TOPIC_NAME:
        return KafkaError(ErrorCode.invalid_request, f"Creation of internal topic {name} is prohibited.")
    if name in topics:
        return KafkaError(ErrorCode.topic_already_exists, f"Topic '{name}' already exists.")
    if topic_name.has_collision_chars(name):
        colliding = by_unified_name.get(topic_name.unify_collision_chars(name))
        if colliding:
            return KafkaError(
                ErrorCode.invalid_topic_exception,
                f"Topic '{name}' collides with existing topic: {next(iter(colliding))}",
            )
    try:
        topic_name.validate(name)
    except KafkaError as error:
        return error
    return None


def validate_total_number_of_partitions(topics: Sequence[NewTopic], default: int) -> None:
    """Raise POLICY_VIOLATION if one request asks for too many partitions, whether it could have them or not."""
    total = 0
    for topic in topics:
        if topic.name != topic_name.CLUSTER_METADATA_TOPIC_NAME:
            count = default if topic.num_partitions == -1 else max(topic.num_partitions, 0)
            total += len(topic.assignments) or count
    if total > MAX_PARTITIONS_PER_BATCH:
        raise KafkaError(ErrorCode.policy_violation, "Excessively large number of partitions per request.")


def place_replicas(
    topic: NewTopic, broker_ids: Sequence[int], brokers: BrokerRegistry, config: BrokerConfig
) -> list[tuple[int, ...]]:
    """The broker ids of each partition, the preferred leader first; raises KafkaError with CreateTopics' errors. Each
    partition has a replica that can lead it. Stopped brokers are registered and may get replicas, out of sync."""
    if topic.assignments:
        return _checked_assignments(topic, broker_ids, brokers)
    if topic.replication_factor < -1 or topic.replication_factor == 0:
        raise KafkaError(
            ErrorCode.invalid_replication_factor,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if topic.num_partitions < -1 or topic.num_partitions == 0:
        raise KafkaError(ErrorCode.invalid_partitions, "Number of partitions was set to an invalid non-positive value.")
    partitions = config.num_partitions if topic.num_partitions == -1 else topic.num_partitions
    factor = topic.replication_factor
    factor = (config.default_replication_factor or min(3, len(broker_ids))) if factor == -1 else factor
    alive = brokers.alive(broker_ids)
    if not alive:
        raise _cannot_replicate(factor, "All brokers are currently fenced.")
    if factor > len(broker_ids):
        raise _cannot_replicate(
            factor,
            f"The target replication factor of {factor} cannot be reached because only {len(broker_ids)} broker(s) are "
            "registered or some brokers have all their log directories cordoned.",
        )
    stopped = [broker_id for broker_id in broker_ids if broker_id not in alive]
    return [(_rotated(alive, index) + _rotated(stopped, index))[:factor] for index in range(partitions)]


def _rotated(broker_ids: Sequence[int], start: int) -> tuple[int, ...]:
    count = len(broker_ids)
    return tuple(broker_ids[(start + step) % count] for step in range(count))


def _cannot_replicate(factor: int, why: str) -> KafkaError:
    return KafkaError(
        ErrorCode.invalid_replication_factor, f"Unable to replicate the partition {factor} time(s): {why}"
    )


def _checked_assignments(topic: NewTopic, broker_ids: Sequence[int], brokers: BrokerRegistry) -> list[tuple[int, ...]]:
    if topic.replication_factor != -1:
        raise KafkaError(
            ErrorCode.invalid_request,
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        )
    if topic.num_partitions != -1:
        raise KafkaError(
            ErrorCode.invalid_request,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        )
    placed: dict[int, tuple[int, ...]] = {}
    factor = None
    for index, replicas in topic.assignments:
        if index in placed:
            raise _invalid_assignment(f"Found multiple manual partition assignments for partition {index}")
        _validate_manual_partition_assignment(replicas, broker_ids, factor)
        factor = len(replicas)
        if not brokers.alive(replicas):
            raise _invalid_assignment(
                f"All brokers specified in the manual partition assignment for partition {index} are fenced or in "
                "controlled shutdown."
            )
        placed[index] = tuple(replicas)
    if sorted(placed) != list(range(len(placed))):
        raise _invalid_assignment("partitions should be a consecutive 0-based integer sequence")
    return [placed[index] for index in range(len(placed))]


def _validate_manual_partition_assignment(
    replicas: Sequence[int], broker_ids: Sequence[int], factor: int | None
) -> None:
    if not replicas:
        raise _invalid_assignment("The manual partition assignment includes an empty replica list.")
    previous = None
    for broker_id in sorted(replicas):
        if broker_id not in broker_ids:
            raise _invalid_assignment(
                f"The manual partition assignment includes broker {broker_id}, but no such broker is registered."
            )
        if broker_id == previous:
            raise _invalid_assignment(
                f"The manual partition assignment includes the broker {broker_id} more than once."
            )
        previous = broker_id
    if factor is not None and len(replicas) != factor:
        raise _invalid_assignment(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not "
            f"consistent with previous partitions, which have {factor} replica(s)."
        )


def _invalid_assignment(message: str) -> KafkaError:
    return KafkaError(ErrorCode.invalid_replica_assignment, message)
