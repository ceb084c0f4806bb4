"""The built-in partitioner: it chooses the partition of records that have neither key nor partition (KIP-794).

Theory   A partition is kept until `sticky_batch_size` bytes went to it, so that batches become full; then another is
         drawn. While its last batch is open the switch waits, up to twice as many bytes. If the queues of the
         partitions differ in length, the draw is weighted: the longest queue has weight 1, a queue that is shorter by n
         has weight 1 + n. So slow brokers get fewer records.
Units    bytes; queue sizes are numbers of batches.
Source   clients/.../producer/internals/BuiltInPartitioner.java of 4.3.
Differs  The caller passes in the random numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from fakebroker.producer.metadata_snapshot import MetadataSnapshot


class StickyPartitionInfo:
    """The current partition, and the number of bytes that went to it."""

    __slots__ = ("partition", "produced_bytes")

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.produced_bytes = 0


class _PartitionLoadStats:
    __slots__ = ("cumulative_frequencies", "partitions")

    def __init__(self, cumulative_frequencies: list[int], partitions: list[int]) -> None:
        self.cumulative_frequencies = cumulative_frequencies
        self.partitions = partitions


class BuiltInPartitioner:
    """The partitioner of one topic. `random_partition` returns a number from 0 to 2^31 - 1."""

    def __init__(self, topic: str, sticky_batch_size: int, random_partition: Callable[[], int]) -> None:
        self._topic = topic
        self._sticky_batch_size = sticky_batch_size
        self._random_partition = random_partition
        self._current: StickyPartitionInfo | None = None
        self._load: _PartitionLoadStats | None = None

    def peek_current_partition_info(self, metadata: MetadataSnapshot) -> StickyPartitionInfo:
        """Return the current partition. The first call draws it."""
        if self._current is None:
            self._current = StickyPartitionInfo(self._next_partition(metadata))
        return self._current

    def is_partition_changed(self, info: StickyPartitionInfo | None) -> bool:
        """Return True if the current partition has changed. None stands for a partition set by the user, which never
        changes."""
        return info is not None and self._current is not info

    def update_partition_info(
        self, info: StickyPartitionInfo | None, appended_bytes: int, metadata: MetadataSnapshot, enable_switch: bool
    ) -> None:
        """Add `appended_bytes` to the current partition, and draw another one if it has had enough."""
        if info is None:
            return
        info.produced_bytes += appended_bytes
        enough = self._sticky_batch_size
        if (info.produced_bytes >= enough and enable_switch) or info.produced_bytes >= enough * 2:
            self._current = StickyPartitionInfo(self._next_partition(metadata))

    def update_partition_load_stats(
        self, queue_sizes: Sequence[int] | None, partitions: Sequence[int], known: int
    ) -> None:
        """Set the weights from the queue lengths; only the first `known` partitions may be chosen. None means no
        weights."""
        self._load = None
        if queue_sizes is None or known < 1 or len(queue_sizes) < 2:
            return
        sizes = list(queue_sizes[:known])
        if known == len(queue_sizes) and len(set(sizes)) == 1:
            return
        above = max(sizes) + 1
        self._load = _PartitionLoadStats(list(accumulate(above - size for size in sizes)), list(partitions[:known]))

    def _next_partition(self, metadata: MetadataSnapshot) -> int:
        random = self._random_partition()
        if self._load is not None:
            frequencies = self._load.cumulative_frequencies
            return self._load.partitions[bisect_right(frequencies, random % frequencies[-1])]
        available = metadata.available_partitions_for_topic(self._topic)
        if available:
            return available[random % len(available)].partition.partition
        return random % len(metadata.partitions_for_topic(self._topic))  # no leader: the metadata has all partitions
