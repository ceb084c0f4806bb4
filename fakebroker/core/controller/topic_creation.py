"""Creation of topics: placed, opened on their brokers, and published.

Source   metadata/.../controller/ReplicationControlManager.java @ 4.0: createTopics, createTopic.
Differs  In one step, without a metadata log in between: all brokers know at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import final
from uuid import UUID

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.topic_config import TopicConfig, effective_configs
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.controller.partition_creation import PartitionCreation
from fakebroker.core.controller.placement import place_replicas
from fakebroker.core.controller.topics import (
    TOPICS_OF_A_SLICE,
    NewTopic,
    RecordsOfOperation,
    Topic,
    new_name_error,
    validate_total_number_of_partitions,
)
from fakebroker.core.journal.events import TopicCreated
from fakebroker.core.probe import Probe
from fakebroker.core.quota.controller_mutation import ControllerMutationQuota
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices


@final
class TopicCreation:
    """The creation of topics. `config` is the present one of the brokers."""

    def __init__(
        self,
        config: BrokerConfig,
        registry: BrokerRegistry,
        metadata: MetadataCache,
        partitions: PartitionCreation,
        probe: Probe,
        random: Random,
    ) -> None:
        self.config = config
        self.registry = registry
        self.metadata = metadata
        self._partitions = partitions
        self._probe = probe
        self._random = random

    def create_topics(
        self,
        topics: Sequence[NewTopic],
        now: Callable[[], Now],
        validate_only: bool = False,
        quota: ControllerMutationQuota | None = None,
    ) -> Slices[list[Topic | KafkaError]]:
        """Create topics; see Controller. Return the topic or the error of each, in order. Each topic is created in one
        step or not at all. A topic of the same name that another request creates meanwhile counts as existing."""
        yield from validate_total_number_of_partitions(topics, self.config.num_partitions)
        errors: list[KafkaError | None] = []
        for new in topics:
            errors.append(new_name_error(new.name, self.metadata.names, self.metadata.names_by_unified_name))
            if len(errors) % TOPICS_OF_A_SLICE == 0:
                yield
        records = RecordsOfOperation()
        sizes = [0] * len(topics)
        for index, new in enumerate(topics):
            if errors[index] is None:
                try:
                    _, placement = self._plan(new)
                except KafkaError as error:
                    errors[index] = error.with_traceback(None)  # otherwise it would keep all locals alive
                else:
                    sizes[index] = len(placement)
                    records.add_topic(len(new.configs), sizes[index])
                yield
        results: list[Topic | KafkaError] = []
        for index, new in enumerate(topics):
            name_error = errors[index]
            if name_error is not None:
                results.append(name_error)
                continue
            try:
                if quota is not None:
                    quota.record(sizes[index], now().mono_ms)
                topic = yield from self._create_topic(new, now, validate_only)
                results.append(topic)
            except KafkaError as failure:
                results.append(failure.with_traceback(None))
            yield
        return results

    def _plan(self, new: NewTopic) -> tuple[TopicConfig, list[tuple[int, ...]]]:
        """Return the settings of a new topic, and the placement of its replicas."""
        config = TopicConfig.of(new.configs, self.config.topic_defaults)
        return config, place_replicas(new, self.registry.broker_ids, self.registry, self.config)

    def _create_topic(self, new: NewTopic, now: Callable[[], Now], validate_only: bool) -> Slices[Topic]:
        (_, placement), added = yield from self._partitions.open(new.name, 0, lambda: self._plan(new), now)
        if new.name in self.metadata.names:
            raise KafkaError(ErrorCode.topic_already_exists, f"Topic '{new.name}' already exists.")
        topic_id = UUID(int=self._random.getrandbits(128), version=4)
        own = {name: text for name, text in new.configs.items() if text is not None}
        partitions = [partition for partition, _ in added]
        topic = Topic(new.name, topic_id, partitions, own, effective_configs(own, self.config.topic_entries))
        if not validate_only:
            self.metadata.add(topic)
            self._partitions.publish(added)
            probe = self._probe
            if probe.listeners:
                probe.tell(TopicCreated(*probe.times, topic.name, str(topic_id), tuple(map(tuple, placement))))
            self._partitions.tell_leaders(added)
        return topic
