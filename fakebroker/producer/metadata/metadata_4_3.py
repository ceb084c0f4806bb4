"""The producer's metadata of Kafka 4.3.

Theory   A request for new topics names only these, and the partial response is merged into the snapshot (KIP-526). When
         a response arrives, topics that were not used for `metadata.max.idle.ms` are dropped. The newest leader epoch
         of a partition counts: an older one is ignored, unless the topic was created again. The back-off grows after
         failures (KIP-580), and after responses without changes.
Source   clients/.../clients/{Metadata,MetadataSnapshot}.java, clients/.../producer/internals/ProducerMetadata.java of
         4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

from fakebroker.producer.copy_on_write_map import hash_of_partition
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.exponential_backoff import ExponentialBackoff
from fakebroker.producer.hash_map import HashMap
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.metadata.metadata_response import (
    NO_TOPIC_ID,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
)
from fakebroker.producer.metadata_snapshot import (
    NO_EPOCH,
    NO_LEADER,
    MetadataSnapshot,
    Node,
    PartitionInfo,
    shared_info,
)
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import BrokerError, is_invalid_metadata
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.java_hash import java_hash
from fakebroker.protocol.topic_partition import TopicPartition, shared

_SHARED: Final = 256  # cached snapshots
_MULTIPLIER = 2  # CommonClientConfigs.RETRY_BACKOFF_EXP_BASE
_JITTER = 0.2  # CommonClientConfigs.RETRY_BACKOFF_JITTER
_TOPIC_ERRORS = (ErrorCode.topic_authorization_failed, ErrorCode.invalid_topic_exception)


class Metadata43(Metadata):
    """The metadata of 4.3. `random` returns a number from 0 up to 1; `jitter` is the largest relative deviation of a
    back-off."""

    def __init__(self, config: ProducerConfig, random: Callable[[], float], jitter: float = _JITTER) -> None:
        super().__init__(config)
        self._backoff = ExponentialBackoff(
            config.retry_backoff_ms, _MULTIPLIER, config.retry_backoff_max_ms, jitter, random
        )
        self._request_version = 0  # incremented with each new topic
        self._attempts = 0
        self._equivalent_responses = 0
        self._need_full_update = False
        self._need_partial_update = False
        self._last_seen_epochs: dict[TopicPartition, int] = {}
        self._topic_ids: dict[str, str] = {}
        self._new_topics: HashMap[str, bool] = HashMap(java_hash)
        self._bootstrap_nodes: list[Node] = []
        self._errors: dict[str, int] = {}
        self._recoverable: dict[str, int] = {}

    def bootstrap(self, nodes: Sequence[Node], now_ms: int) -> None:
        self._bootstrap_nodes = list(nodes)
        self.rebootstrap()

    def rebootstrap(self) -> None:
        """Restart from the bootstrap addresses (KIP-899). Leader epochs are kept."""
        self._need_full_update = True
        self.update_version += 1
        self._snapshot = MetadataSnapshot(nodes=self._bootstrap_nodes)
        self._topic_ids = {}
        self.cluster_id = None

    def add(self, topic: str, now_ms: int) -> None:
        is_new = not self.contains_topic(topic)
        self._topics.put(topic, now_ms + self.config.metadata_max_idle_ms)
        if is_new:
            self._new_topics.put(topic, True)
            self._request_update_for_new_topics()

    def request_update(self, reset_equivalent_response_backoff: bool = False) -> int:
        self._need_full_update = True
        if reset_equivalent_response_backoff:
            self._equivalent_responses = 0
        return self.update_version

    def request_update_for_topic(self, topic: str) -> int:
        if self._new_topics.get(topic):
            return self._request_update_for_new_topics()
        return self.request_update()

    def update_requested(self) -> bool:
        return self._need_full_update or self._need_partial_update

    def time_to_allow_update_ms(self, now_ms: int) -> int:
        for_attempts_ms = self._last_refresh_ms + self._backoff.backoff_ms(max(self._attempts - 1, 0)) - now_ms
        if self._is_expired(now_ms):
            self._equivalent_responses = 0
        for_equivalent_ms = self._last_refresh_ms - now_ms
        if self._equivalent_responses > 0:
            for_equivalent_ms += self._backoff.backoff_ms(self._equivalent_responses - 1)
        allowed_ms = max(for_attempts_ms, for_equivalent_ms)
        return max(allowed_ms, 0)

    def new_request(self, now_ms: int) -> MetadataRequest:
        is_partial = not self._need_full_update and not self._is_expired(now_ms)
        topics = [topic for topic, _ in self._new_topics.items()] if is_partial else self.topics()
        return MetadataRequest(topics, self._request_version, is_partial)

    def update(self, request: MetadataRequest, response: MetadataResponse, now_ms: int) -> None:
        self._need_partial_update = request.request_version < self._request_version
        self._last_refresh_ms = now_ms
        self._attempts = 0
        self.answers += 1
        self.update_version += 1
        if not request.is_partial_update:
            self._need_full_update = False
            self._last_successful_refresh_ms = now_ms
        self._equivalent_responses += 1  # reset below if the response has changes
        self.cluster_id = response.cluster_id
        self._snapshot = self._handle_response(response, request.is_partial_update, now_ms)
        self._recoverable = dict(self._snapshot.topic_errors)
        for partition in list(self._last_seen_epochs):
            if not self._retain_topic(partition.topic, now_ms):
                del self._last_seen_epochs[partition]
        self._errors = response.errors()
        for topic in response.topics:
            if self._new_topics.get(topic.name):
                self._new_topics.remove(topic.name)

    def failed_update(self, now_ms: int) -> None:
        self._last_refresh_ms = now_ms
        self._attempts += 1
        self._equivalent_responses = 0

    def update_partition_leadership(
        self, leaders: Iterable[PartitionInfo], nodes: Iterable[Node]
    ) -> set[TopicPartition]:
        """Apply the leaders named in a Produce response (KIP-951). Return the partitions that have changed."""
        known = {node.node_id: node for node in self._snapshot.nodes} | {node.node_id: node for node in nodes}
        news: list[PartitionInfo] = []
        for info in leaders:
            epoch = self._last_seen_epochs.get(info.partition, NO_EPOCH)
            if info.leader_epoch == NO_EPOCH or info.leader == NO_LEADER or info.leader not in known:
                continue
            if self._snapshot.told(info.partition) is not None and info.leader_epoch > epoch:
                news.append(info)
                self._last_seen_epochs[info.partition] = info.leader_epoch
        if news:
            merged = self._merged(news, lambda topic: True)
            self._snapshot = MetadataSnapshot(merged, _by_id(known.values()), self._snapshot.topic_errors)
        return {info.partition for info in news}

    def take_error_for_topic(self, topic: str) -> ProducerError | None:
        code = self._recoverable.get(topic)
        self._recoverable = {}
        return None if code is None else BrokerError(code)

    def error_of(self, topic: str) -> int:
        return self._errors.get(topic, ErrorCode.none)

    def topic_ids(self) -> dict[str, str]:
        return self._topic_ids

    def last_seen_leader_epoch(self, partition: TopicPartition) -> int:
        return self._last_seen_epochs.get(partition, NO_EPOCH)

    def _is_expired(self, now_ms: int) -> bool:
        return self._last_successful_refresh_ms + self.config.metadata_max_age_ms <= now_ms

    def _request_update_for_new_topics(self) -> int:
        self._last_refresh_ms = 0
        self._need_partial_update = True
        self._equivalent_responses = 0
        self._request_version += 1
        return self.update_version

    def _retain_topic(self, topic: str, now_ms: int) -> bool:
        expire_ms = self._topics.get(topic)
        if expire_ms is None:
            return False
        if self._new_topics.get(topic) or expire_ms > now_ms:
            return True
        self._topics.remove(topic)
        return False

    def _handle_response(self, response: MetadataResponse, is_partial: bool, now_ms: int) -> MetadataSnapshot:
        named = {topic.name for topic in response.topics}
        topic_ids = {topic.name: topic.topic_id for topic in response.topics if topic.topic_id != NO_TOPIC_ID}
        partitions: list[PartitionInfo] = []
        refused: dict[str, int] = {}
        for topic in response.topics:
            if self._retain_topic(topic.name, now_ms):
                self._handle_topic(topic, response.has_reliable_leader_epochs, partitions, refused)
        nodes = _by_id(response.brokers)
        if not is_partial:
            self._topic_ids = topic_ids
            if refused:
                return MetadataSnapshot(_in_table(partitions), nodes, refused)
            return _shared_snapshot(tuple(partitions), tuple(nodes))

        def retain(topic: str) -> bool:
            return topic not in named and self._retain_topic(topic, now_ms)

        kept_ids = {topic: topic_id for topic, topic_id in self._topic_ids.items() if retain(topic)}
        self._topic_ids = kept_ids | {
            info.partition.topic: topic_ids[info.partition.topic]
            for info in partitions
            if info.partition.topic in topic_ids
        }
        merged = self._merged(partitions, retain)
        kept_errors = {topic: code for topic, code in self._snapshot.topic_errors.items() if retain(topic)}
        return MetadataSnapshot(merged, nodes, kept_errors | refused)

    def _handle_topic(
        self, topic: TopicMetadata, is_reliable: bool, partitions: list[PartitionInfo], refused: dict[str, int]
    ) -> None:
        generation = self.config.generation
        if topic.error != ErrorCode.none:
            if is_invalid_metadata(topic.error, generation):
                self.request_update()
            if topic.error in _TOPIC_ERRORS:
                refused[topic.name] = topic.error
            return
        old_id = self._topic_ids.get(topic.name, NO_TOPIC_ID)
        is_another = topic.topic_id not in (NO_TOPIC_ID, old_id)
        for partition in topic.partitions:
            info = self._update_latest_metadata(topic.name, partition, is_reliable, is_another)
            if info is not None:
                partitions.append(info)
            if is_invalid_metadata(partition.error, generation):
                self.request_update()

    def _update_latest_metadata(
        self, topic: str, metadata: PartitionMetadata, is_reliable: bool, is_another: bool
    ) -> PartitionInfo | None:
        """Return the partition info to keep, None for none. An older leader epoch is ignored."""
        partition = shared(topic, metadata.partition)
        if not is_reliable or metadata.leader_epoch == NO_EPOCH:
            self._last_seen_epochs.pop(partition, None)
            self._equivalent_responses = 0
            return shared_info(topic, metadata.partition, metadata.leader, NO_EPOCH)
        current = self._last_seen_epochs.get(partition)
        if current is not None and not is_another and metadata.leader_epoch < current:
            return self._snapshot.told(partition)
        if current is None or is_another or metadata.leader_epoch > current:
            self._equivalent_responses = 0
        self._last_seen_epochs[partition] = metadata.leader_epoch
        return shared_info(topic, metadata.partition, metadata.leader, metadata.leader_epoch)

    def _merged(self, added: list[PartitionInfo], retain: Callable[[str], bool]) -> list[PartitionInfo]:
        merged: HashMap[TopicPartition, PartitionInfo] = HashMap(hash_of_partition, len(added))
        for info in added:
            merged.put(info.partition, info)
        for info in self._snapshot.all_told():
            if retain(info.partition.topic) and merged.get(info.partition) is None:
                merged.put(info.partition, info)
        return _in_table([info for _, info in merged.items()])


@lru_cache(maxsize=_SHARED)
def _shared_snapshot(partitions: tuple[PartitionInfo, ...], nodes: tuple[Node, ...]) -> MetadataSnapshot:
    """Return a cached snapshot: producers usually receive the same metadata again."""
    return MetadataSnapshot(_in_table(partitions), nodes)


def _in_table(infos: Sequence[PartitionInfo]) -> list[PartitionInfo]:
    """Return the partitions in the iteration order of Kafka's MetadataSnapshot, which is that of a HashMap."""
    table: HashMap[TopicPartition, PartitionInfo] = HashMap(hash_of_partition, len(infos))
    for info in infos:
        table.put(info.partition, info)
    return [info for _, info in table.items()]


def _by_id(nodes: Iterable[Node]) -> list[Node]:
    return sorted({node.node_id: node for node in nodes}.values())
