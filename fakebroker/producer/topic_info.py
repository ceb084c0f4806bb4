"""The queues of one topic, and who chooses among them.

Source   RecordAccumulator.TopicInfo, partitionChanged and allBatchesFull of 4.3.
"""

from __future__ import annotations

from collections import deque

from fakebroker.producer.built_in_partitioner import BuiltInPartitioner, StickyPartitionInfo
from fakebroker.producer.copy_on_write_map import CopyOnWriteMap
from fakebroker.producer.metadata_snapshot import MetadataSnapshot
from fakebroker.producer.producer_batch import ProducerBatch


class TopicInfo:
    """`queues` by partition."""

    def __init__(self, partitioner: BuiltInPartitioner) -> None:
        self.queues: CopyOnWriteMap[int, deque[ProducerBatch]] = CopyOnWriteMap(int)
        self.partitioner = partitioner
        self._idle_in: MetadataSnapshot | None = None
        self._idle_queues = 0

    def is_idle_as_before(self, metadata: MetadataSnapshot, is_idle: bool = False) -> bool:
        """Whether no batch waits, and none did when this was last asked, of the same partitions in the same cluster:
        then nothing is ready, and the partitions have the weights that they had. With `is_idle` none does for sure."""
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
        """Whether the partition is to be chosen anew: it was switched, or may be, now that its batches are full."""
        if self.partitioner.is_partition_changed(info):
            return True
        if _all_batches_full(queue):
            self.partitioner.update_partition_info(info, 0, metadata, True)
            return self.partitioner.is_partition_changed(info)
        return False

    def appended(
        self, info: StickyPartitionInfo | None, queue: deque[ProducerBatch], size: int, metadata: MetadataSnapshot
    ) -> None:
        """So many bytes went there. While a batch is open the partition is not switched, so that it may become full."""
        self.partitioner.update_partition_info(info, size, metadata, _all_batches_full(queue))


def size_of_last(queue: deque[ProducerBatch]) -> int:
    """The bytes of the batch that is open, if there is one."""
    return queue[-1].estimated_size_in_bytes() if queue else 0


def _all_batches_full(queue: deque[ProducerBatch]) -> bool:
    return not queue or queue[-1].is_full()
