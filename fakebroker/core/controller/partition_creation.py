"""Creation of partitions: those of a new topic, and more of an existing one.

Source   metadata/.../controller/ReplicationControlManager.java @ 4.4: createPartitions,
         validateTotalNumberOfPartitions.
Differs  In one step, without a metadata log in between: all brokers know at once. Replicas are placed by rule, as if
         the topic had been created with as many partitions (placement.py). A request is not refused for making too many
         records of the metadata log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple, final

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.controller.placement import place_replicas, validate_manual_partition_assignment
from fakebroker.core.controller.topics import MAX_PARTITIONS_PER_BATCH, TOPICS_OF_A_SLICE, NewTopic, Topic
from fakebroker.core.journal.events import LeaderChanged, PartitionsCreated
from fakebroker.core.log.memory import LogMemory
from fakebroker.core.probe import Probe
from fakebroker.core.quota.controller_mutation import ControllerMutationQuota
from fakebroker.core.replication.follower import Follower
from fakebroker.core.replication.followers import FollowerSet
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_partition import TopicPartition

_PARTITIONS_OF_A_SLICE: Final = 8  # some 40 us each

Plan = tuple[TopicConfig, Sequence[Sequence[int]]]  # settings, and the broker ids of each partition
Unpublished = list[tuple[Partition, list[Follower]]]


class NewPartitions(NamedTuple):
    """A request for more partitions. `total` is the new number of partitions of the topic, `assignments` the broker ids
    of each new one."""

    name: str
    total: int
    assignments: Sequence[Sequence[int]] | None = None


@final
class PartitionCreation:
    """The creation of partitions. `config` is the present one of the brokers."""

    def __init__(
        self,
        config: BrokerConfig,
        registry: BrokerRegistry,
        metadata: MetadataCache,
        followers: FollowerSet,
        log_memory: LogMemory,
        probe: Probe,
        alter_isr: Callable[[Partition, list[int]], bool],
        first_leader_epoch: int,
    ) -> None:
        self.config = config
        self.registry = registry
        self.metadata = metadata
        self._followers = followers
        self._log_memory = log_memory
        self._probe = probe
        self._alter_isr = alter_isr
        self._first_leader_epoch = first_leader_epoch

    def open(
        self, name: str, first: int, plan: Callable[[], Plan], now: Callable[[], Now]
    ) -> Slices[tuple[Plan, Unpublished]]:
        """Create partitions from number `first` on that are not published yet, and their followers. `plan` is called
        again when brokers, settings or behaviours have changed, since unpublished partitions get no updates; it raises
        KafkaError."""
        registry = self.registry
        alive, config, made_for = registry.active(registry.broker_ids), self.config, self._followers.made_for
        planned = plan()
        partitions: Unpublished = []
        while len(partitions) < len(planned[1]):
            if (
                alive != registry.active(registry.broker_ids)
                or config is not self.config
                or made_for != self._followers.made_for
            ):
                alive, config, made_for = registry.active(registry.broker_ids), self.config, self._followers.made_for
                planned = plan()
                partitions.clear()
            for replicas in planned[1][len(partitions) : len(partitions) + _PARTITIONS_OF_A_SLICE]:
                partition = Partition(
                    TopicPartition(name, first + len(partitions)),
                    replicas,
                    planned[0],
                    config.replica_lag_time_max_ms,
                    now().mono_ms,
                    registry,
                    self._log_memory,
                    self._probe,
                    self._first_leader_epoch,
                )
                partition.alter_isr = self._alter_isr
                partitions.append((partition, self._followers.new_for(partition)))
            if len(partitions) < len(planned[1]):
                yield
        return planned, partitions

    def publish(self, partitions: Unpublished) -> None:
        """Let the partitions of a topic that is in the metadata be copied by their followers."""
        self.metadata.note_leader_epoch(self._first_leader_epoch)
        for partition, followers in partitions:
            self._followers.add(partition, followers)

    def tell_leaders(self, partitions: Unpublished) -> None:
        """Report the first leaders of new partitions, which are empty, to the listeners."""
        probe = self._probe
        for partition, _ in partitions if probe.listeners else ():
            leader, isr = (partition.leader_id, partition.leader_epoch), tuple(partition.isr_ids)
            probe.tell(LeaderChanged(*probe.times, *partition.topic_partition, *leader, isr, 0, 0))

    def create_partitions(
        self,
        topics: Sequence[NewPartitions],
        now: Callable[[], Now],
        validate_only: bool,
        quota: ControllerMutationQuota | None = None,
    ) -> Slices[list[KafkaError | None]]:
        """Add partitions. Return the error of each topic, in order; None where all is well. Raise KafkaError if all are
        refused."""
        yield from self._validate_total_number_of_partitions(topics)
        results: list[KafkaError | None] = []
        for new_partitions in topics:
            try:
                yield from self._add_to(new_partitions, now, validate_only, quota)
                results.append(None)
            except KafkaError as error:
                results.append(error.with_traceback(None))
            yield
        return results

    def _validate_total_number_of_partitions(self, topics: Sequence[NewPartitions]) -> Slices[None]:
        total = 0
        for number, new_partitions in enumerate(topics, 1):
            topic = self.metadata.topic(new_partitions.name)
            if topic is not None and new_partitions.total >= 0:
                total += max(new_partitions.total - len(topic.partitions), 0)
                if total > MAX_PARTITIONS_PER_BATCH:
                    raise KafkaError(
                        ErrorCode.policy_violation, "Excessively large number of additional partitions per request."
                    )
            if number % TOPICS_OF_A_SLICE == 0:
                yield

    def _add_to(
        self,
        new_partitions: NewPartitions,
        now: Callable[[], Now],
        validate_only: bool,
        quota: ControllerMutationQuota | None,
    ) -> Slices[None]:
        while True:
            topic = self._topic_of(new_partitions)
            first = len(topic.partitions)
            (config, placement), added = yield from self.open(
                new_partitions.name, first, partial(self._plan, new_partitions, topic), now
            )
            # Other requests may have run in between.
            if (
                self.metadata.topic(new_partitions.name) is topic
                and len(topic.partitions) == first
                and topic.partitions[0].config is config
            ):
                break
        if quota is not None:
            quota.record(len(added), now().mono_ms)
        if validate_only:
            return
        topic.partitions.extend([partition for partition, _ in added])
        self.metadata.decisions += len(added)
        self.publish(added)
        probe = self._probe
        if probe.listeners:
            probe.tell(PartitionsCreated(*probe.times, topic.name, first, tuple(map(tuple, placement))))
        self.tell_leaders(added)
        self.metadata.publisher.partitions_created(topic)

    def _topic_of(self, new_partitions: NewPartitions) -> Topic:
        topic = self.metadata.topic(new_partitions.name)
        if topic is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, "")  # without a message, as in Kafka
        there = len(topic.partitions)
        if new_partitions.total == there:
            raise KafkaError(ErrorCode.invalid_partitions, f"Topic already has {there} partition(s).")
        if new_partitions.total < there:
            raise KafkaError(
                ErrorCode.invalid_partitions,
                f"The topic {new_partitions.name} currently has {there} partition(s); "
                f"{new_partitions.total} would not be an increase.",
            )
        additional = new_partitions.total - there
        if new_partitions.assignments is not None and len(new_partitions.assignments) != additional:
            raise KafkaError(
                ErrorCode.invalid_replica_assignment,
                f"Attempted to add {additional} additional partition(s), but only {len(new_partitions.assignments)} "
                "assignment(s) were specified.",
            )
        return topic

    def _plan(self, new_partitions: NewPartitions, topic: Topic) -> Plan:
        return topic.partitions[0].config, self._place(new_partitions, topic)

    def _place(self, new_partitions: NewPartitions, topic: Topic) -> list[tuple[int, ...]]:
        """Return the broker ids of the new partitions. The first partition of a topic gives the replication factor."""
        first, factor = len(topic.partitions), len(topic.partitions[0].replicas)
        broker_ids = self.registry.broker_ids
        if new_partitions.assignments is None:
            return place_replicas(
                NewTopic(new_partitions.name, new_partitions.total, factor), broker_ids, self.registry, self.config
            )[first:]
        for number, replicas in enumerate(new_partitions.assignments, first):
            validate_manual_partition_assignment(replicas, broker_ids, factor)
            if not self.registry.active(replicas):
                raise KafkaError(
                    ErrorCode.invalid_replica_assignment,
                    f"All brokers specified in the manual partition assignment for partition {number} are fenced or "
                    "in controlled shutdown.",
                )
        return [tuple(replicas) for replicas in new_partitions.assignments]
