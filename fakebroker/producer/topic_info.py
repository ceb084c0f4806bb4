"""The queues of one topic, and its partitioner.

Source   RecordAccumulator.TopicInfo, partitionChanged and allBatchesFull of 4.3.
"""

from __future__ import annotations

from collections import deque

from fakebroker.producer.built_in_partitioner import BuiltInPartitioner, StickyPartitionInfo
from fakebroker.producer.copy_on_write_map import CopyOnWriteMap
from fakebroker.producer.metadata_snapshot import MetadataSnapshot
from fakebroker.producer.producer_batch import ProducerBatch


class TopicInfo:
    """The queues of a topic, by partition, and its partitioner."""

    def __init__(self, partitioner: BuiltInPartitioner) -> None:
        self.queues: CopyOnWriteMap[int, deque[ProducerBatch]] = CopyOnWriteMap(int)
        self.partitioner = partitioner
        self._idle_in: MetadataSnapshot | None = None
        self._idle_queues = 0

    def is_idle_as_before(self, metadata: MetadataSnapshot, is_idle: bool = False) -> bool:
        """Return True if no batch waits, and none did at the last call with the same metadata and queues. Then no node
        is ready and the weights of the partitions are unchanged. `is_idle` means that the caller knows that no batch
        waits."""
        if not is_idle:
            for queue in self.queues.values():
                if queue:
                    self._idle_in = None
                    return False
        if self._idle_in is metadata and self._idle_queues == len(self.queues):
            return True
        self._idle_in = metadata
        self._idle_queues = len(self.queues)
        return False

    def get_or_create_queue(self, partition: int) -> deque[ProducerBatch]:
        queue = self.queues.get(partition)
        if queue is None:
            queue = deque()
            self.queues.put_new(partition, queue)
        return queue

    def partition_changed(
        self, info: StickyPartitionInfo | None, queue: deque[ProducerBatch], metadata: MetadataSnapshot
    ) -> bool:
        """Return True if the append has to choose its partition again. It may switch here, as the batches of the old
        one are full."""
        if self.partitioner.is_partition_changed(info):
            return True
        if _all_batches_full(queue):
            self.partitioner.update_partition_info(info, 0, metadata, True)
            return self.partitioner.is_partition_changed(info)
        return False

    def appended(
        self, info: StickyPartitionInfo | None, queue: deque[ProducerBatch], size: int, metadata: MetadataSnapshot
    ) -> None:
        """Record that `size` bytes went there. The partition does not switch while a batch is open, so that it can
        become full."""
        self.partitioner.update_partition_info(info, size, metadata, _all_batches_full(queue))


def size_of_last(queue: deque[ProducerBatch]) -> int:
    """Return the bytes of the last batch, 0 if there is none."""
    return queue[-1].estimated_size_in_bytes() if queue else 0


def _all_batches_full(queue: deque[ProducerBatch]) -> bool:
    return not queue or queue[-1].is_full()
