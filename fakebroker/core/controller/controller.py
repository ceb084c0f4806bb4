"""KRaft's controller: topics, their settings, and their leaders.

Theory   This is the entry to the controller. Leaders are decided in leadership.py, topics are created in
         topic_creation.py. A deleted topic is gone at once, and requests parked for it get error 3.
Units    monotonic milliseconds.
Source   metadata/.../controller/{QuorumController,ReplicationControlManager}.java @ 4.0: deleteTopic;
         core/.../server/ReplicaManager.scala stopPartitions.
Differs  In one step, without a metadata log in between: all brokers know at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, final

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.client_metrics_config import ClientMetricsSubscriptions
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.config.group_config_manager import GroupConfigManager
from fakebroker.core.config.topic_config import TopicConfig, altered, effective_configs
from fakebroker.core.controller.alter_partition import AlterPartitionManager
from fakebroker.core.controller.cluster_control import ClusterControl
from fakebroker.core.controller.features import FeatureControl
from fakebroker.core.controller.leadership import Leadership
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.controller.partition_creation import NewPartitions, PartitionCreation
from fakebroker.core.controller.producer_ids import ProducerIdBlocks
from fakebroker.core.controller.reassignments import Reassignments
from fakebroker.core.controller.topic_creation import TopicCreation
from fakebroker.core.controller.topics import NewTopic, Topic
from fakebroker.core.controller_events import ControllerEvents
from fakebroker.core.journal.events import TopicDeleted
from fakebroker.core.life import Life
from fakebroker.core.log.memory import LogMemory
from fakebroker.core.log.store import Store
from fakebroker.core.probe import Probe
from fakebroker.core.quota.controller_mutation import ControllerMutationQuota
from fakebroker.core.replication.followers import FollowerSet
from fakebroker.core.replication.isr import check_invariants
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.core.replication.wakeups import Wakeups
from fakebroker.core.security.authorizer import authorizer_of
from fakebroker.core.security.delegation_tokens import DelegationTokens
from fakebroker.core.security.scram_credentials import ScramCredentials
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices, finish
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel import SystemTimer

_PARTITIONS_OF_A_SLICE: Final = 64  # a few us each
_TOPICS_OF_A_SLICE: Final = 8  # some 30 us each, for the settings of a topic


@final
class Controller:
    """The controller of the cluster: it creates and deletes topics, and decides their leaders. `registry` has all
    brokers."""

    def __init__(
        self,
        broker_configs: DynamicBrokerConfig,
        registry: BrokerRegistry,
        metadata: MetadataCache,
        followers: FollowerSet,
        wakeups: Wakeups,
        probe: Probe,
        random: Random,
        life: Life,
        timer: SystemTimer,
        read_now: Callable[[], Now],
        events: ControllerEvents,
        store: Store | None = None,
    ) -> None:
        """Create the controller. `timer` is that of the followers."""
        self.broker_configs = broker_configs
        self.config = config = broker_configs.current
        self.group_configs = GroupConfigManager(lambda: self.config)
        self.client_metrics = ClientMetricsSubscriptions()
        self.scram_credentials = ScramCredentials()
        self.authorizer = authorizer_of(
            config.authorizer_class_name, config.super_users, config.allow_everyone_if_no_acl_found
        )
        self.delegation_tokens = DelegationTokens(
            config.delegation_token_secret_key,
            config.delegation_token_max_lifetime_ms,
            config.delegation_token_expiry_time_ms,
            life.token_ids(),
        )
        self.features = FeatureControl()
        self.registry = registry
        self.metadata = metadata
        self.producer_ids = ProducerIdBlocks(life.producer_id)
        self.earlier_cluster_ids = life.cluster_ids
        self.log_memory = LogMemory(config.log_memory_bytes, config.log_memory_full, store)
        self.leadership = Leadership(registry, metadata, followers, wakeups, probe, self._configure_for_leader)
        self.cluster_control = ClusterControl(registry, self.leadership, broker_configs, probe, timer, read_now, events)
        self.reassignments = Reassignments(self.leadership, metadata, timer, read_now)
        isrs = AlterPartitionManager(broker_configs, timer, wakeups, read_now)
        self._partition_creation = PartitionCreation(
            config, registry, metadata, followers, self.log_memory, probe, isrs.submit, life.leader_epoch
        )
        self._topic_creation = TopicCreation(config, registry, metadata, self._partition_creation, probe, random)
        self._followers = followers
        self._wakeups = wakeups
        self._probe = probe
        metadata.note_leader_epoch(life.leader_epoch - 1)

    # Topics.

    def create_topics(
        self, topics: Sequence[NewTopic], now: Now, validate_only: bool = False
    ) -> list[Topic | KafkaError]:
        """Create topics. Return the topic or the error of each, in order. Raise KafkaError if the whole request is
        refused.

        All names are compared with the topics that existed before, so names of one request cannot collide.
        """
        return finish(self.create_topics_in_slices(topics, lambda: now, validate_only))

    def create_topics_in_slices(
        self,
        topics: Sequence[NewTopic],
        now: Callable[[], Now],
        validate_only: bool = False,
        quota: ControllerMutationQuota | None = None,
    ) -> Slices[list[Topic | KafkaError]]:
        """Create topics in slices. `quota` limits the client that sent the request."""
        results = yield from self._topic_creation.create_topics(topics, now, validate_only, quota)
        if self.broker_configs.have_own:
            for topic in results:
                for partition in () if isinstance(topic, KafkaError) else topic.partitions:
                    self._configure_for_leader(partition)
        return results

    def create_partitions(
        self,
        topics: Sequence[NewPartitions],
        now: Callable[[], Now],
        validate_only: bool = False,
        quota: ControllerMutationQuota | None = None,
    ) -> Slices[list[KafkaError | None]]:
        """Add partitions to topics. Return the error of each, in order; None where all is well. Raise KafkaError if the
        whole request is refused."""
        results = yield from self._partition_creation.create_partitions(topics, now, validate_only, quota)
        if self.broker_configs.have_own:
            for new_partitions in topics:
                topic = self.metadata.topic(new_partitions.name)
                for partition in () if topic is None else topic.partitions:
                    self._configure_for_leader(partition)
        return results

    def delete_topic(self, name: str) -> None:
        """Delete a topic and all its records. Parked requests get UNKNOWN_TOPIC_OR_PARTITION."""
        finish(self.delete_topic_in_slices(name))

    def delete_topic_in_slices(self, name: str) -> Slices[None]:
        """Delete a topic in slices: the first one removes it and its partitions, the others clean up."""
        topic = self.metadata.topic(name)
        if topic is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, "This server does not host this topic-partition.")
        if self._probe.listeners:
            self._probe.tell(TopicDeleted(*self._probe.times, name))
        self.metadata.remove(topic)
        for partition in topic.partitions:
            partition.is_deleted = True
        for number, partition in enumerate(topic.partitions, 1):
            self._followers.remove(partition)
            self.leadership.views.deleted(partition)
            if number % _PARTITIONS_OF_A_SLICE == 0:
                yield
        for number, partition in enumerate(topic.partitions, 1):
            self._wakeups.complete_when_not_leader(partition, partition.replicas)
            if number % _PARTITIONS_OF_A_SLICE == 0:
                yield
        for number, partition in enumerate(topic.partitions, 1):
            partition.drop_records()
            if number % _PARTITIONS_OF_A_SLICE == 0:
                yield

    # Brokers: cluster_control.py.

    def move_leader(self, topic_partition: TopicPartition, broker_id: int, now: Now) -> None:
        """Make an in-sync replica the leader, unless it is already. Raise KafkaError with a message that names the
        problem."""
        self.leadership.move_leader(topic_partition, broker_id, now)

    # Settings.

    def existing(self, name: str) -> Topic:
        """Return the topic. Raise KafkaError if there is none."""
        topic = self.metadata.topic(name)
        if topic is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, f"The topic '{name}' does not exist.")
        return topic

    def alter_topic_configs_in_slices(self, name: str, changes: Mapping[str, str | None]) -> Slices[None]:
        """Set some of a topic's settings, or remove them with None. Raise KafkaError and change nothing if one is
        invalid."""
        topic = self.existing(name)
        own = altered(topic.configs, changes)
        TopicConfig.of(own, self.config.topic_defaults)
        yield from self.set_topic_configs_in_slices(topic, own)

    def set_topic_configs_in_slices(self, topic: Topic, own: Mapping[str, str]) -> Slices[None]:
        """Replace the topic's own settings, which are valid; its partitions apply them in slices. Parked requests are
        not re-checked, as in Kafka: a new value counts from its next use on."""
        topic.configs = own
        defaults: TopicConfig | None = None
        done = 0
        while done < len(topic.partitions) and topic.configs is own:  # else a newer change goes on
            if defaults is not self.config.topic_defaults:
                defaults = self.config.topic_defaults
                topic.effective_configs = effective_configs(own, self.config.topic_entries)
                config = defaults.with_own(own)
            for partition in topic.partitions[done : done + _PARTITIONS_OF_A_SLICE]:
                partition.configure(config)
                self._configure_for_leader(partition)
                self._followers.on_configs_change(partition)
            done += _PARTITIONS_OF_A_SLICE
            if done < len(topic.partitions):
                yield

    def configure_in_slices(self, config: BrokerConfig) -> Slices[None]:
        """Apply changed settings of the brokers, which are the defaults of topics; those apply them in slices."""
        self.config = self._topic_creation.config = self._partition_creation.config = config
        self.log_memory.configure(config.log_memory_bytes, config.log_memory_full)
        for number, topic in enumerate(list(self.metadata.topics()), 1):
            yield from self.set_topic_configs_in_slices(topic, topic.configs)
            if number % _TOPICS_OF_A_SLICE == 0:
                yield

    def _configure_for_leader(self, partition: Partition) -> None:
        """Apply a broker's own settings to a partition that it leads."""
        topic = self.metadata.topic(partition.topic_partition.topic)
        if self.broker_configs.have_own and topic is not None and partition.leader_id != NO_LEADER:
            defaults = self.broker_configs.of(partition.leader_id).topic_defaults
            partition.configure(defaults.with_own(topic.configs))

    @property
    def next_leader_epoch(self) -> int:
        """A leader epoch above those of all partitions, deleted ones included."""
        return 1 + self.metadata.highest_leader_epoch

    def check_invariants(self) -> None:
        for partition in self.metadata.partitions():
            assert partition.leader_epoch <= self.metadata.highest_leader_epoch
            check_invariants(partition)
        self.leadership.views.check_invariants()
        self.log_memory.check_invariants()
