"""The accumulator of Kafka 4.3: expiry by `delivery.timeout.ms`, exponential back-off, built-in choice of partitions.

Theory   Since KIP-91 a batch expires by its age, muted or not. Since KIP-580 the delay before each retry is twice the
         previous one. Since KIP-951 there is no delay if the leader has changed. Since KIP-794 BuiltInPartitioner
         chooses the partition of a record that has neither key nor partition. Its choice depends on the lengths of the
         queues. It skips a node that accepts nothing for `partitioner.availability.timeout.ms`.
Source   clients/.../producer/internals/RecordAccumulator.java of 4.3.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from fakebroker.producer.append import RecordAppend
from fakebroker.producer.built_in_partitioner import BuiltInPartitioner, StickyPartitionInfo
from fakebroker.producer.copy_on_write_map import CopyOnWriteMap
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.exponential_backoff import ExponentialBackoff
from fakebroker.producer.metadata_snapshot import NO_LEADER, MetadataSnapshot
from fakebroker.producer.partitioner import UNKNOWN_PARTITION
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.ready_check_result import ReadyCheckResult
from fakebroker.producer.record_accumulator import NO_DELAY_MS, RecordAccumulator
from fakebroker.producer.topic_info import TopicInfo, size_of_last
from fakebroker.producer.transactions.transaction_manager import TransactionManager
from fakebroker.protocol.java_hash import java_hash
from fakebroker.protocol.topic_partition import TopicPartition

_MULTIPLIER = 2  # CommonClientConfigs.RETRY_BACKOFF_EXP_BASE
RETRY_BACKOFF_JITTER = 0.2  # CommonClientConfigs


class _NodeLatencyStats:
    def __init__(self, now_ms: int) -> None:
        self.ready_ms = now_ms
        self.drain_ms = now_ms


class RecordAccumulator43(RecordAccumulator):
    """`random_partition` returns a number from 0 to 2^31 - 1, `random` a number from 0 up to 1."""

    def __init__(
        self,
        config: ProducerConfig,
        random_partition: Callable[[], int],
        random: Callable[[], float],
        jitter: float = RETRY_BACKOFF_JITTER,
        transaction_manager: TransactionManager | None = None,
    ) -> None:
        super().__init__(config, transaction_manager)
        self.next_expiry_ms = NO_DELAY_MS
        self.held_back_nodes: set[int] = (
            set()
        )  # of the last drain: nodes that drained nothing because a batch is held back
        self._topics: CopyOnWriteMap[str, TopicInfo] = CopyOnWriteMap(java_hash)
        self._random_partition = random_partition
        self._backoff = ExponentialBackoff(
            config.retry_backoff_ms, _MULTIPLIER, config.retry_backoff_max_ms, jitter, random
        )
        self._muted: set[TopicPartition] = set()
        self._drain_indexes: dict[int, int] = {}
        self._node_stats: dict[int, _NodeLatencyStats] = {}
        self._sticky: dict[RecordAppend, StickyPartitionInfo | None] = {}  # of the appends that wait for memory

    def begin(self, append: RecordAppend, now_ms: int) -> None:
        try:
            self._begin(append, now_ms)
        except ProducerError as error:
            self.end(append, error)

    def _begin(self, append: RecordAppend, now_ms: int) -> None:
        topic = self._get_or_create_topic(append.topic)
        while True:
            info: StickyPartitionInfo | None = None
            if append.wanted_partition == UNKNOWN_PARTITION:
                info = topic.partitioner.peek_current_partition_info(append.metadata)
                append.partition = info.partition
            queue = topic.get_or_create_queue(append.partition)
            if topic.partition_changed(info, queue, append.metadata):
                continue
            size = size_of_last(queue)
            if self.try_append(append, queue, now_ms):
                self._appended(append, topic, info, queue, size_of_last(queue) - size)
                return
            if append.abort_on_new_batch:
                append.abort_for_new_batch = True
                self.end(append, None)
                return
            if not append.taken and not self.take_memory(append, now_ms):
                self._sticky[append] = info
                return
            if self._append_with_memory(append, topic, info, queue, now_ms):
                return

    def go_on_with(self, append: RecordAppend, now_ms: int) -> None:
        info = self._sticky.pop(append)
        topic = self._get_or_create_topic(append.topic)
        queue = topic.get_or_create_queue(append.partition)
        try:
            if not self._append_with_memory(append, topic, info, queue, now_ms):
                self._begin(append, now_ms)
        except ProducerError as error:
            self.end(append, error)

    def end(self, append: RecordAppend, error: ProducerError | None) -> None:
        self._sticky.pop(append, None)
        super().end(append, error)

    def _append_with_memory(
        self,
        append: RecordAppend,
        topic: TopicInfo,
        info: StickyPartitionInfo | None,
        queue: deque[ProducerBatch],
        now_ms: int,
    ) -> bool:
        """Append with the memory that was taken. Return False if the partitioner has switched, so the caller has to
        retry."""
        if topic.partition_changed(info, queue, append.metadata):
            return False
        size = size_of_last(queue)
        if self.try_append(append, queue, now_ms):
            appended = size_of_last(queue) - size
        else:
            appended = self.append_new_batch(append, queue, now_ms).estimated_size_in_bytes()
        self._appended(append, topic, info, queue, appended)
        return True

    def _appended(
        self,
        append: RecordAppend,
        topic: TopicInfo,
        info: StickyPartitionInfo | None,
        queue: deque[ProducerBatch],
        appended_bytes: int,
    ) -> None:
        topic.appended(info, queue, appended_bytes, append.metadata)
        self.end(append, None)

    def ready(self, metadata: MetadataSnapshot, now_ms: int) -> ReadyCheckResult:
        ready_nodes: list[int] = []
        unknown: set[str] = set()
        delay_ms = NO_DELAY_MS
        for name, topic in self._topics.items():
            if topic.is_idle_as_before(metadata, not self._may_be_undrained):
                continue
            delay_ms = self._partition_ready(metadata, now_ms, name, topic, delay_ms, ready_nodes, unknown)
        return ReadyCheckResult(ready_nodes, delay_ms, unknown)

    def _partition_ready(
        self,
        metadata: MetadataSnapshot,
        now_ms: int,
        name: str,
        topic: TopicInfo,
        delay_ms: int,
        ready_nodes: list[int],
        unknown: set[str],
    ) -> int:
        """Do the work of `ready` for one topic, and give its queue lengths to the partitioner. Return the delay."""
        queue_sizes: list[int] | None = None
        if self.config.partitioner_adaptive_partitioning_enable and len(topic.queues) >= len(
            metadata.partitions_for_topic(name)
        ):
            queue_sizes = [0] * len(topic.queues)
        partitions = [0] * len(topic.queues)
        leaders = metadata.leaders_of(name)
        at = -1
        for index, queue in topic.queues.items():
            leader = leaders.get(index, NO_LEADER)
            if leader != NO_LEADER and queue_sizes is not None:
                at += 1
                partitions[at] = index
            if not queue:
                continue
            partition = queue[0].partition
            queue[0].maybe_update_leader_epoch(metadata.leader_epoch_for(partition))
            if leader == NO_LEADER:
                unknown.add(name)
                continue
            if queue_sizes is not None:
                queue_sizes[at] = len(queue)
            if self._is_unavailable(leader):
                at -= 1
            if leader not in ready_nodes and partition not in self._muted:
                left_ms = self._time_left_ms(queue, now_ms)
                if left_ms is None:
                    ready_nodes.append(leader)
                else:
                    delay_ms = min(delay_ms, left_ms)
        topic.partitioner.update_partition_load_stats(queue_sizes, partitions, at + 1)
        return delay_ms

    def _is_unavailable(self, node: int) -> bool:
        limit_ms = self.config.partitioner_availability_timeout_ms
        stats = self._node_stats.get(node)
        return limit_ms > 0 and stats is not None and stats.ready_ms - stats.drain_ms > limit_ms

    def _time_left_ms(self, queue: deque[ProducerBatch], now_ms: int) -> int | None:
        """Return the time until the first batch of the queue can be sent, None if it can be sent now."""
        batch = queue[0]
        waited_ms = batch.waited_time_ms(now_ms)
        backing_off = self._should_back_off(batch, waited_ms)
        to_wait_ms = self._backoff.backoff_ms(batch.attempts - 1) if backing_off else self.config.linger_ms
        if not backing_off and (
            len(queue) > 1
            or batch.is_full()
            or waited_ms >= to_wait_ms
            or self.free.queued() > 0
            or self.is_closed
            or self.flush_in_progress()
            or (self.transaction_manager is not None and self.transaction_manager.is_completing)
        ):
            return None
        return max(to_wait_ms - waited_ms, 0)

    def _should_back_off(self, batch: ProducerBatch, waited_ms: int) -> bool:
        should_wait = batch.attempts > 0 and waited_ms < self._backoff.backoff_ms(batch.attempts - 1)
        return should_wait and not batch.has_leader_changed_for_the_ongoing_retry()

    def drain(
        self, metadata: MetadataSnapshot, nodes: Iterable[int], max_size: int, now_ms: int
    ) -> dict[int, list[ProducerBatch]]:
        self.held_back_nodes.clear()
        return {node: self._drain_batches_for_one_node(metadata, node, max_size, now_ms) for node in nodes}

    def _drain_batches_for_one_node(
        self, metadata: MetadataSnapshot, node: int, max_size: int, now_ms: int
    ) -> list[ProducerBatch]:
        infos = metadata.partitions_for_node(node)
        ready: list[ProducerBatch] = []
        size = 0
        start = self._drain_indexes.get(node, 0)
        for step in range(len(infos)):
            index = (start + step) % len(infos)
            self._drain_indexes[node] = index
            partition = infos[index].partition
            queue = None if partition in self._muted else self.queue_of(partition)
            if not queue:
                continue
            first = queue[0]
            first.maybe_update_leader_epoch(metadata.leader_epoch_for(partition))
            if self._should_back_off(first, first.waited_time_ms(now_ms)):
                continue
            if size + first.estimated_size_in_bytes() > max_size and ready:
                break
            if self.is_held_back(first):
                if not ready:
                    self.held_back_nodes.add(node)
                break
            ready.append(self.drain_first(queue, now_ms))
            size += len(first.records())
        return ready

    def update_node_latency_stats(self, node: int, now_ms: int, can_drain: bool) -> None:
        """Record that the node has batches to send, and whether it can accept them."""
        if self.config.partitioner_availability_timeout_ms <= 0:
            return
        stats = self._node_stats.setdefault(node, _NodeLatencyStats(now_ms))
        if can_drain:
            stats.drain_ms = now_ms
        stats.ready_ms = now_ms

    def expired_batches(self, now_ms: int) -> list[ProducerBatch]:
        """Remove and return the expired batches. In each queue the search stops at the first batch that has not
        expired."""
        expired: list[ProducerBatch] = []
        if not self._may_be_undrained:
            return expired
        self._may_be_undrained = False
        for topic in self._topics.values():
            for queue in topic.queues.values():
                while queue:
                    if not queue[0].has_reached_delivery_timeout(self.config.delivery_timeout_ms, now_ms):
                        self._may_be_undrained = True
                        self.maybe_update_next_batch_expiry_time(queue[0])
                        break
                    batch = queue.popleft()
                    batch.abort_record_appends()
                    expired.append(batch)
        return expired

    def reset_next_batch_expiry_time(self) -> None:
        self.next_expiry_ms = NO_DELAY_MS

    def maybe_update_next_batch_expiry_time(self, batch: ProducerBatch) -> None:
        """Include this batch in the time at which the sender next looks for expired batches."""
        self.next_expiry_ms = min(self.next_expiry_ms, batch.created_ms + self.config.delivery_timeout_ms)

    def mute_partition(self, partition: TopicPartition) -> None:
        self._muted.add(partition)

    def unmute_partition(self, partition: TopicPartition, throttle_until_ms: int) -> None:
        self._muted.discard(partition)

    def queue_of(self, partition: TopicPartition) -> deque[ProducerBatch] | None:
        topic = self._topics.get(partition.topic)
        return None if topic is None else topic.queues.get(partition.partition)

    def get_or_create_queue(self, partition: TopicPartition) -> deque[ProducerBatch]:
        return self._get_or_create_topic(partition.topic).get_or_create_queue(partition.partition)

    def queues(self) -> Iterator[deque[ProducerBatch]]:
        for topic in self._topics.values():
            yield from topic.queues.values()

    def forget_queues(self) -> None:
        self._topics.clear()

    def _get_or_create_topic(self, name: str) -> TopicInfo:
        topic = self._topics.get(name)
        if topic is None:
            topic = TopicInfo(BuiltInPartitioner(name, self.batch_size, self._random_partition))
            self._topics.put_new(name, topic)
        return topic
