"""The replicas of a new topic, and its first leaders.

Source   metadata/.../controller/ReplicationControlManager.java createTopic, validateManualPartitionAssignment;
         metadata/.../placement/StripedReplicaPlacer.java place;
         BrokerHeartbeatManager.java UsableBrokerIterator @ 4.0.
Differs  Replicas are placed by rule instead of at random, so that a test can name the leader. With N running brokers,
         number p mod N leads partition p and the next ones follow. Each rack gets one replica before any gets two.
         Stopped brokers follow only when the running ones are used up.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import lcm

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.controller.topics import NewTopic
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


def place_replicas(
    topic: NewTopic, broker_ids: Sequence[int], brokers: BrokerRegistry, config: BrokerConfig
) -> list[tuple[int, ...]]:
    """Return the broker ids of each partition, the preferred leader first. Raise KafkaError with CreateTopics' errors.
    Each partition has a replica that can lead it. Stopped brokers are registered and may get replicas, out of sync;
    brokers in controlled shutdown get none."""
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
    factor = config.default_replication_factor if topic.replication_factor == -1 else topic.replication_factor
    alive = brokers.active(broker_ids)
    if not alive:
        raise _cannot_replicate(factor, "All brokers are currently fenced.")
    usable = brokers.usable(broker_ids)
    if factor > len(usable):
        raise _cannot_replicate(
            factor,
            f"The target replication factor of {factor} cannot be reached because only {len(usable)} broker(s) are "
            "registered or some brokers have all their log directories cordoned.",
        )
    stopped = [broker_id for broker_id in usable if broker_id not in alive]
    orders = [
        _over_racks(_rotated(alive, start), brokers) + _over_racks(_rotated(stopped, start), brokers)
        for start in range(min(partitions, _period(len(alive), len(stopped))))
    ]
    return [orders[index % len(orders)][:factor] for index in range(partitions)]


def _rotated(broker_ids: Sequence[int], start: int) -> tuple[int, ...]:
    count = len(broker_ids)
    return tuple(broker_ids[(start + step) % count] for step in range(count))


def _period(alive: int, stopped: int) -> int:
    """Return the number of partitions after which the orders repeat."""
    return lcm(alive, stopped) if stopped else alive


def _over_racks(broker_ids: tuple[int, ...], brokers: BrokerRegistry) -> tuple[int, ...]:
    """Return the brokers reordered: the first of each rack, then the second of each, and so on. Brokers without a rack
    count as one rack."""
    by_rack: dict[str | None, list[int]] = {}
    for broker_id in broker_ids:
        by_rack.setdefault(brokers[broker_id].rack, []).append(broker_id)
    if len(by_rack) < 2:
        return broker_ids
    rounds = zip_longest(*by_rack.values())
    return tuple(broker_id for round_ in rounds for broker_id in round_ if broker_id is not None)


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
        validate_manual_partition_assignment(replicas, broker_ids, factor)
        factor = len(replicas)
        if not brokers.active(replicas):
            raise _invalid_assignment(
                f"All brokers specified in the manual partition assignment for partition {index} are fenced or in "
                "controlled shutdown."
            )
        placed[index] = tuple(replicas)
    if sorted(placed) != list(range(len(placed))):
        raise _invalid_assignment("partitions should be a consecutive 0-based integer sequence")
    return [placed[index] for index in range(len(placed))]


def validate_manual_partition_assignment(
    replicas: Sequence[int], broker_ids: Sequence[int], factor: int | None
) -> None:
    """Raise INVALID_REPLICA_ASSIGNMENT unless these may be the replicas of a partition. `factor` is the required
    number, if that is known."""
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
