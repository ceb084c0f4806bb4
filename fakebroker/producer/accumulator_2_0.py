"""The accumulator of Kafka 2.0: batches expire by `request.timeout.ms`, in the queue only; all nodes share one drain
index.

Theory   A partition is muted until a time: for ever when it is drained, then until the end of the throttle time when
         its response arrives. A muted partition is neither drained nor expired.
Source   clients/.../producer/internals/RecordAccumulator.java of 2.0.
Differs  A node that leads no partition drains nothing; 2.0 divides by the number of its partitions there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from fakebroker.producer.append import RecordAppend
from fakebroker.producer.copy_on_write_map import CopyOnWriteMap, hash_of_partition
from fakebroker.producer.errors import ProducerClosedError, ProducerError
from fakebroker.producer.metadata_snapshot import NO_LEADER, MetadataSnapshot
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.ready_check_result import ReadyCheckResult
from fakebroker.producer.record_accumulator import NO_DELAY_MS, RecordAccumulator
from fakebroker.producer.transactions.transaction_manager import TransactionManager
from fakebroker.protocol.topic_partition import TopicPartition

_FOR_EVER = 2**63 - 1


class RecordAccumulator20(RecordAccumulator):
    def __init__(self, config: ProducerConfig, transaction_manager: TransactionManager | None = None) -> None:
        super().__init__(config, transaction_manager)
        self._queues: CopyOnWriteMap[TopicPartition, deque[ProducerBatch]] = CopyOnWriteMap(hash_of_partition)
        self._muted_until_ms: dict[TopicPartition, int] = {}
        self._drain_index = 0

    def begin(self, append: RecordAppend, now_ms: int) -> None:
        queue = self.get_or_create_queue(TopicPartition(append.topic, append.partition))
        try:
            if self.try_append(append, queue, now_ms):
                self.end(append, None)
            elif self.take_memory(append, now_ms):
                self.go_on_with(append, now_ms)
        except ProducerError as error:
            self.end(append, error)

    def go_on_with(self, append: RecordAppend, now_ms: int) -> None:
        queue = self.get_or_create_queue(TopicPartition(append.topic, append.partition))
        try:
            if not self.try_append(append, queue, now_ms):
                self.append_new_batch(append, queue, now_ms)
        except ProducerClosedError as error:
            self.end(append, error)
        else:
            self.end(append, None)

    def ready(self, metadata: MetadataSnapshot, now_ms: int) -> ReadyCheckResult:
        ready_nodes: list[int] = []
        delay_ms = NO_DELAY_MS
        unknown: set[str] = set()
        exhausted = self.free.queued() > 0
        for partition, queue in self._queues.items():
            leader = metadata.leader_for(partition)
            if leader == NO_LEADER:
                if queue:
                    unknown.add(partition.topic)
                continue
            if leader in ready_nodes or self._is_muted(partition, now_ms) or not queue:
                continue
            batch = queue[0]
            waited_ms = batch.waited_time_ms(now_ms)
            backing_off = self._is_backing_off(batch, now_ms)
            to_wait_ms = self.config.retry_backoff_ms if backing_off else self.config.linger_ms
            is_full = len(queue) > 1 or batch.is_full()
            has_lingered = waited_ms >= to_wait_ms
            sendable = is_full or has_lingered or exhausted or self.is_closed or self.flush_in_progress()
            if sendable and not backing_off:
                ready_nodes.append(leader)
            else:
                delay_ms = min(max(to_wait_ms - waited_ms, 0), delay_ms)
        return ReadyCheckResult(ready_nodes, delay_ms, unknown)

    def drain(
        self, metadata: MetadataSnapshot, nodes: Iterable[int], max_size: int, now_ms: int
    ) -> dict[int, list[ProducerBatch]]:
        return {node: self._drain_node(metadata, node, max_size, now_ms) for node in nodes}

    def _drain_node(self, metadata: MetadataSnapshot, node: int, max_size: int, now_ms: int) -> list[ProducerBatch]:
        infos = metadata.partitions_for_node(node)
        ready: list[ProducerBatch] = []
        if not infos:
            return ready
        size = 0
        self._drain_index %= len(infos)
        for _ in range(len(infos)):
            partition = infos[self._drain_index].partition
            queue = None if self._is_muted(partition, now_ms) else self._queues.get(partition)
            if queue and not self._is_backing_off(queue[0], now_ms):
                if size + queue[0].estimated_size_in_bytes() > max_size and ready:
                    break
                if self.is_held_back(queue[0]):
                    break
                batch = self.drain_first(queue, now_ms)
                size += len(batch.records())
                ready.append(batch)
            self._drain_index = (self._drain_index + 1) % len(infos)
        return ready

    def expired_batches(self, now_ms: int) -> list[ProducerBatch]:
        """Remove and return the expired batches. In each queue the search stops at the first batch that has not
        expired."""
        config = self.config
        expired: list[ProducerBatch] = []
        for partition, queue in self._queues.items():
            if self._is_muted(partition, now_ms):
                continue
            while queue:
                batch = queue[0]
                is_full = len(queue) > 1 or batch.is_full()
                if not batch.maybe_expire(
                    config.request_timeout_ms, config.retry_backoff_ms, now_ms, config.linger_ms, is_full
                ):
                    break
                expired.append(queue.popleft())
        return expired

    def time_outs_ms(self, now_ms: int) -> list[int]:
        """Return when the first batch of each queue expires."""
        config = self.config
        return [
            queue[0].expires_ms(
                config.request_timeout_ms,
                config.retry_backoff_ms,
                config.linger_ms,
                len(queue) > 1 or queue[0].is_full(),
            )
            for partition, queue in self._queues.items()
            if queue and not self._is_muted(partition, now_ms)
        ]

    def mute_partition(self, partition: TopicPartition) -> None:
        self._muted_until_ms[partition] = _FOR_EVER

    def unmute_partition(self, partition: TopicPartition, throttle_until_ms: int) -> None:
        self._muted_until_ms[partition] = throttle_until_ms

    def queue_of(self, partition: TopicPartition) -> deque[ProducerBatch] | None:
        return self._queues.get(partition)

    def get_or_create_queue(self, partition: TopicPartition) -> deque[ProducerBatch]:
        queue = self._queues.get(partition)
        if queue is None:
            queue = deque()
            self._queues.put_new(partition, queue)
        return queue

    def queues(self) -> Iterable[deque[ProducerBatch]]:
        return self._queues.values()

    def forget_queues(self) -> None:
        self._queues.clear()

    def _is_muted(self, partition: TopicPartition, now_ms: int) -> bool:
        return self._muted_until_ms.get(partition, now_ms) > now_ms

    def _is_backing_off(self, batch: ProducerBatch, now_ms: int) -> bool:
        return batch.attempts > 0 and batch.waited_time_ms(now_ms) < self.config.retry_backoff_ms
