"""Topics, and who leads them: what KRaft's controller decides, and what the brokers then do.

Theory   A broker that stops is fenced: it leaves every ISR (unless it is the last one in it), and what it led goes to
         another (elections.py). A broker that starts is the leader of what only it may lead, and a follower of the
         rest. Once it is in the ISR, what it is the preferred leader of comes back to it with the next balancing, every
         300 s. Whatever changes, the order is Kafka's: the metadata first, then the new leader, then the followers,
         then those who wait at a broker that does not lead any more (answer 6), or for a topic that is gone (answer 3).
Units    monotonic milliseconds.
Source   metadata/.../controller/ReplicationControlManager.java @ 4.0: createTopic, deleteTopic, handleBrokerFenced,
         handleBrokerUnfenced, maybeBalancePartitionLeaders; core/.../server/ReplicaManager.scala applyDelta,
         stopPartitions.
Differs  In one step, without a metadata log in between: everybody knows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, final
from uuid import UUID

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.topic_config import TopicConfig, altered, effective_configs
from fakebroker.core.controller.elections import elect_any_leader
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.controller.placement import place_replicas
from fakebroker.core.controller.producer_ids import ProducerIdBlocks
from fakebroker.core.controller.topics import (
    TOPICS_OF_A_SLICE,
    NewTopic,
    RecordsOfOperation,
    Topic,
    new_name_error,
    validate_total_number_of_partitions,
)
from fakebroker.core.log.memory import LogMemory
from fakebroker.core.log.store import Store
from fakebroker.core.probe import Probe
from fakebroker.core.replication.followers import FollowerSet
from fakebroker.core.replication.isr import check_invariants, maybe_shrink_isr, note_last_fetch
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.core.replication.wakeups import Wakeups
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices, finish
from fakebroker.protocol.topic_partition import TopicPartition

_PARTITIONS_OF_A_SLICE: Final = 8  # some 40 us each


@final
class Controller:
    """Makes and deletes topics, and decides who leads them. `registry` has all brokers there are."""

    def __init__(
        self,
        config: BrokerConfig,
        registry: BrokerRegistry,
        metadata: MetadataCache,
        followers: FollowerSet,
        wakeups: Wakeups,
        probe: Probe,
        random: Random,
        store: Store | None = None,
    ) -> None:
        self.config = config
        self.registry = registry
        self.metadata = metadata
        self.producer_ids = ProducerIdBlocks()
        self.log_memory = LogMemory(config.log_memory_bytes, config.log_memory_full, store)
        self._followers = followers
        self._wakeups = wakeups
        self._probe = probe
        self._random = random

    # Topics.

    def create_topics(
        self, topics: Sequence[NewTopic], now: Now, validate_only: bool = False
    ) -> list[Topic | KafkaError]:
        """Make topics: what became of each, in order. Raises KafkaError if the request as a whole is refused.

        All names are held against the topics that were there before, so names of one request cannot collide.
        """
        return finish(self.create_topics_in_slices(topics, lambda: now, validate_only))

    def create_topics_in_slices(
        self, topics: Sequence[NewTopic], now: Callable[[], Now], validate_only: bool = False
    ) -> Slices[list[Topic | KafkaError]]:
        """The same in slices. Each topic is there at once or not at all; one that somebody else makes meanwhile was
        there before."""
        yield from validate_total_number_of_partitions(topics, self.config.num_partitions)
        errors: list[KafkaError | None] = []
        for new in topics:
            errors.append(new_name_error(new.name, self.metadata.names, self.metadata.names_by_unified_name))
            if len(errors) % TOPICS_OF_A_SLICE == 0:
                yield
        records = RecordsOfOperation()
        for index, new in enumerate(topics):
            if errors[index] is None:
                try:
                    _, placement = self._plan(new)
                except KafkaError as error:
                    errors[index] = error
                else:
                    records.add_topic(len(new.configs), len(placement))
                yield
        results: list[Topic | KafkaError] = []
        for new, name_error in zip(topics, errors, strict=True):
            if name_error is not None:
                results.append(name_error)
                continue
            try:
                topic = yield from self._create_topic(new, now, validate_only)
                results.append(topic)
            except KafkaError as failure:
                results.append(failure)
            yield
        return results

    def _plan(self, new: NewTopic) -> tuple[TopicConfig, list[tuple[int, ...]]]:
        """The settings of a new topic, and where its replicas go."""
        config = TopicConfig.of(new.configs, self.config.topic_defaults)
        return config, place_replicas(new, self.registry.broker_ids, self.registry, self.config)

    def _create_topic(self, new: NewTopic, now: Callable[[], Now], validate_only: bool) -> Slices[Topic]:
        partitions: list[Partition] = []
        placement: list[tuple[int, ...]] = []
        alive: list[int] | None = None
        broker_config = self.config
        while alive is None or len(partitions) < len(placement):
            if (
                alive is None
                or alive != self.registry.alive(self.registry.broker_ids)
                or broker_config is not self.config
            ):
                # For the first time; or the world has changed, and nobody told partitions that are not there yet.
                alive, broker_config = self.registry.alive(self.registry.broker_ids), self.config
                config, placement = self._plan(new)
                partitions.clear()
            for index in range(len(partitions), min(len(partitions) + _PARTITIONS_OF_A_SLICE, len(placement))):
                partitions.append(
                    Partition(
                        TopicPartition(new.name, index),
                        placement[index],
                        config,
                        self.config.replica_lag_time_max_ms,
                        now().mono_ms,
                        self.registry,
                        self.log_memory,
                        self._probe,
                    )
                )
            if len(partitions) < len(placement):
                yield
        if new.name in self.metadata.names:
            raise KafkaError(ErrorCode.topic_already_exists, f"Topic '{new.name}' already exists.")
        topic_id = UUID(int=self._random.getrandbits(128), version=4)
        own = {name: text for name, text in new.configs.items() if text is not None}
        topic = Topic(new.name, topic_id, partitions, own, effective_configs(own, self.config.topic_entries))
        if not validate_only:
            self.metadata.add(topic)
            for partition in partitions:
                self._followers.add(partition)
            for listener in self._probe.listeners:
                listener.topic_created(topic.name, topic_id, placement)
            for partition in partitions:
                partition.tell_leader()
        return topic

    def delete_topic(self, name: str) -> None:
        """Delete a topic and all its records; who waits for it is answered UNKNOWN_TOPIC_OR_PARTITION."""
        topic = self.metadata.topic(name)
        if topic is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, "This server does not host this topic-partition.")
        for listener in self._probe.listeners:
            listener.topic_deleted(name)
        self.metadata.remove(topic)
        for partition in topic.partitions:
            partition.is_deleted = True
            self._followers.remove(partition)
        for partition in topic.partitions:
            self._wakeups.complete_when_not_leader(partition, partition.replicas)
        for partition in topic.partitions:
            partition.drop_records()

    # Brokers.

    def stop_broker(self, broker_id: int, now: Now) -> None:
        """Fence a broker that has stopped. Nobody waits there any more."""
        for listener in self._probe.listeners:
            listener.broker_stopped(broker_id)
        for partition in self.metadata.partitions():
            if broker_id in partition.replicas:
                note_last_fetch(partition, broker_id, now.mono_ms)
        self.registry.fence(broker_id)
        for partition in self.metadata.partitions():
            if broker_id in partition.replicas:
                if broker_id in partition.isr:
                    self._elect(partition, partition.isr - {broker_id}, now)
                self._followers.of_broker(partition, broker_id).on_leader_change(now)

    def start_broker(self, broker_id: int, now: Now) -> None:
        """Unfence a broker that has started."""
        for listener in self._probe.listeners:
            listener.broker_started(broker_id)
        self.registry.unfence(broker_id)
        for partition in self.metadata.partitions():
            if broker_id in partition.replicas:
                if partition.leader_id == NO_LEADER:
                    self._elect(partition, partition.isr, now)
                else:
                    self._followers.of_broker(partition, broker_id).on_leader_change(now)

    def move_leader(self, topic_partition: TopicPartition, broker_id: int, now: Now) -> None:
        """Make an in-sync replica the leader; nothing happens if it is. Raises KafkaError in words that say what is
        wrong."""
        partition = self.metadata.find_partition(topic_partition.topic, topic_partition.partition)
        if partition is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, f"There is no partition {topic_partition}.")
        problem = None
        if broker_id not in partition.replicas:
            problem = f"its replicas are on {partition.replica_ids}"
        elif not self.registry.is_alive(broker_id):
            problem = "that broker is stopped"
        elif broker_id not in partition.isr:
            problem = f"it is not in the ISR {partition.isr_ids}, and acknowledged records could be lost"
        if problem is not None:
            raise KafkaError(
                ErrorCode.eligible_leaders_not_available,
                f"Broker {broker_id} cannot lead {topic_partition}: {problem}.",
            )
        if broker_id != partition.leader_id:
            self._make_leader(partition, broker_id, partition.isr, now)

    def _elect(self, partition: Partition, target_isr: set[int], now: Now) -> None:
        election = elect_any_leader(partition, target_isr)
        if election.leader_id == NO_LEADER:
            if partition.leader_id != NO_LEADER:
                partition.lose_leader()
                self._followers.on_leader_change(partition, now)
                self._wakeups.complete_when_not_leader(partition, partition.replicas)
        elif election.leader_id != partition.leader_id:
            self._make_leader(partition, election.leader_id, set(election.isr), now)
        elif partition.update_isr(election.isr, now.mono_ms):
            self._wakeups.try_complete_delayed_requests(partition)

    def _make_leader(self, partition: Partition, broker_id: int, isr: set[int], now: Now) -> None:
        if partition.become_leader(broker_id, isr, now.mono_ms):
            self._wakeups.try_complete_delayed_requests(partition)
        self._followers.on_leader_change(partition, now)
        others = [other for other in partition.replicas if other != broker_id]
        self._wakeups.complete_when_not_leader(partition, others)

    # Periodically.

    def maybe_shrink_isrs(self, now: Now) -> None:
        """ReplicaManager.maybeShrinkIsr, for all brokers."""
        for partition in self.metadata.partitions():
            if partition.leader_id != NO_LEADER and maybe_shrink_isr(partition, now.mono_ms):
                self._wakeups.try_complete_delayed_requests(partition)  # the watermark may pass those who left

    def balance_leaders(self, now: Now) -> None:
        """ReplicationControlManager.maybeBalancePartitionLeaders: let the first replica lead wherever it may."""
        for partition in self.metadata.partitions():
            preferred = partition.replica_ids[0]
            if NO_LEADER != partition.leader_id != preferred and preferred in self.registry.alive(partition.isr):
                self._make_leader(partition, preferred, partition.isr, now)

    def maybe_elect_unclean_leaders(self, now: Now) -> None:
        """ReplicationControlManager.maybeElectUncleanLeaders: leaderless partitions whose topic now allows it."""
        for partition in self.metadata.partitions():
            if partition.leader_id == NO_LEADER and partition.config.unclean_leader_election_enable:
                self._elect(partition, partition.isr, now)

    # Settings.

    def alter_topic_configs(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Set some of a topic's settings, or take them back with None; raises KafkaError, and nothing is changed. Who
        waits is not woken, as in Kafka: what was altered counts from the next time that it is asked for."""
        topic = self.metadata.topic(name)
        if topic is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, f"The topic '{name}' does not exist.")
        own = altered(topic.configs, changes)
        self._configure_topic(topic, own, TopicConfig.of(own, self.config.topic_defaults))

    def configure(self, config: BrokerConfig) -> None:
        """The settings of the brokers have changed, and with them what topics have that set nothing of their own."""
        self.config = config
        self.log_memory.configure(config.log_memory_bytes, config.log_memory_full)
        for topic in self.metadata.topics():
            self._configure_topic(topic, topic.configs, config.topic_defaults.with_own(topic.configs))

    def _configure_topic(self, topic: Topic, own: Mapping[str, str], config: TopicConfig) -> None:
        topic.configs = own
        topic.effective_configs = effective_configs(own, self.config.topic_entries)
        for partition in topic.partitions:
            partition.configure(config)

    def check_invariants(self) -> None:
        for partition in self.metadata.partitions():
            check_invariants(partition)
        self.log_memory.check_invariants()
