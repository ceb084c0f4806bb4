"""Which partition of a topic gets the records that may go to any (KIP-794).

Theory   A partition is kept until `sticky_batch_size` bytes went to it, so that batches become full; then another is
         drawn. While batches are open the switch waits, but not for more than twice as many bytes. If the queues of the
         partitions differ in length, the draw is weighted: the longest queue has weight 1, one that is shorter by n has
         1 + n. So a slow broker gets less.
Units    bytes; queue sizes count batches.
Source   clients/.../producer/internals/BuiltInPartitioner.java of 4.3.
Differs  Chance is passed in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from fakebroker.producer.metadata_snapshot import MetadataSnapshot


class StickyPartitionInfo:
    """The partition of the moment, and how many bytes went to it."""

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
    """Of one topic. `random_partition` gives any number from 0 up to 2^31 - 1."""

    def __init__(self, topic: str, sticky_batch_size: int, random_partition: Callable[[], int]) -> None:
        self._topic = topic
        self._sticky_batch_size = sticky_batch_size
        self._random_partition = random_partition
        self._current: StickyPartitionInfo | None = None
        self._load: _PartitionLoadStats | None = None

    def peek_current_partition_info(self, metadata: MetadataSnapshot) -> StickyPartitionInfo:
        """The partition of the moment; the first is drawn here."""
        if self._current is None:
            self._current = StickyPartitionInfo(self._next_partition(metadata))
        return self._current

    def is_partition_changed(self, info: StickyPartitionInfo | None) -> bool:
        """Whether it is another by now. None stands for a partition that was given, which does not change."""
        return info is not None and self._current is not info

    def update_partition_info(
        self, info: StickyPartitionInfo | None, appended_bytes: int, metadata: MetadataSnapshot, enable_switch: bool
    ) -> None:
        """So many bytes more went there."""
        if info is None:
            return
        info.produced_bytes += appended_bytes
        enough = self._sticky_batch_size
        if (info.produced_bytes >= enough and enable_switch) or info.produced_bytes >= enough * 2:
            self._current = StickyPartitionInfo(self._next_partition(metadata))

    def update_partition_load_stats(
        self, queue_sizes: Sequence[int] | None, partitions: Sequence[int], known: int
    ) -> None:
        """The queues of the partitions, of which the first `known` may be chosen; None for no weights."""
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
        return random % len(metadata.partitions_for_topic(self._topic))  # by its number, as they are all there
