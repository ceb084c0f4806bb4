"""Keep logs within their bounds: retention.bytes, retention.ms, and the memory that all logs together may take.

Theory   Deletion moves the log start, batch by batch, and never beyond the high watermark: what is not committed stays.
         A partition is looked at when something is appended (by size) and from time to time (by size and by time).
         `LogMemory` is the bound that Kafka has in its disk. When all logs together are above it, the largest give up
         their oldest batches until they are level and there is a sixteenth to spare. Where that is not enough, since
         the watermarks hold the rest, the append is refused as by a broker whose disk is full.
Units    sizes are bytes of record batches (a batch counts once, however many replicas share it); times are milliseconds
         since the epoch.
Source   storage/internals/log/UnifiedLog.java deleteOldSegments, deleteRetentionSizeBreachedSegments,
         deleteRetentionMsBreachedSegments @ 4.0.
Differs  Each batch is a segment of its own, so that memory is given back early; in Kafka a segment goes as a whole,
         and only log.retention.check.interval.ms tells when. LogMemory is not Kafka's (docs/decisions.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from fakebroker.core.log.log import Log
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


def start_by_size(log: Log, retention_bytes: int) -> int:
    """Where the log starts if it loses the oldest batches without which it still has `retention_bytes`."""
    excess = log.size_in_bytes - retention_bytes
    start = log.log_start_offset
    if excess > 0:
        for batch in log.batches_from(start):
            excess -= len(batch.records)
            if excess < 0 or batch.last_offset >= log.high_watermark:
                break
            start = batch.last_offset + 1
    return start


def start_by_time(log: Log, retention_ms: int, now_wall_ms: int) -> int:
    """Where the log starts if it loses the oldest batches that are older than `retention_ms`."""
    start = log.log_start_offset
    for batch in log.batches_from(start):
        if now_wall_ms - batch.timestamp_ms <= retention_ms or batch.last_offset >= log.high_watermark:
            break
        start = batch.last_offset + 1
    return start


def start_at_most(log: Log, max_bytes: int) -> int:
    """Where the log starts if it keeps no more than `max_bytes`, or as little as its watermark allows."""
    excess = log.size_in_bytes - max_bytes
    start = log.log_start_offset
    for batch in log.batches_from(start):
        if excess <= 0 or batch.last_offset >= log.high_watermark:
            break
        excess -= len(batch.records)
        start = batch.last_offset + 1
    return start


class Retained(Protocol):
    """What `LogMemory` needs of a partition."""

    @property
    def size_in_bytes(self) -> int: ...
    def shrink_to(self, max_bytes: int) -> None: ...


class LogMemory:
    """The bound of all logs of a cluster together.

    `used_bytes` never tells too little: appends are added, deletions and truncations found when it is counted anew.
    `on_first_deletion` is told, in one sentence, when records are deleted for the first time: somebody may miss them.
    """

    __slots__ = ("_has_deleted", "_partitions", "max_bytes", "on_first_deletion", "used_bytes")

    def __init__(self, max_bytes: int, partitions: Callable[[], Iterable[Retained]]) -> None:
        self.max_bytes = max_bytes
        self._partitions = partitions
        self._has_deleted = False
        self.on_first_deletion: Callable[[str], None] | None = None
        self.used_bytes = 0

    def make_room(self, size: int) -> None:
        """Account for `size` more bytes; raises KAFKA_STORAGE_ERROR if they do not fit and nothing can be deleted."""
        if self.used_bytes + size > self.max_bytes >= 0:
            self._delete_down_to(self.max_bytes - size)
        self.used_bytes += size

    def _delete_down_to(self, limit: int) -> None:
        partitions = list(self._partitions())
        sizes = [partition.size_in_bytes for partition in partitions]
        self.used_bytes = sum(sizes)
        if self.used_bytes <= limit:
            return
        level = _level(sizes, max(limit - self.max_bytes // 16, 0))
        for partition, size in zip(partitions, sizes, strict=True):
            if size > level:
                partition.shrink_to(level)
        before, self.used_bytes = self.used_bytes, sum(partition.size_in_bytes for partition in partitions)
        if self.used_bytes < before and not self._has_deleted:
            self._has_deleted = True
            if self.on_first_deletion is not None:
                self.on_first_deletion(
                    f"the logs have reached log.memory.bytes={self.max_bytes}: from now on the oldest committed "
                    "records are deleted to make room"
                )
        if self.used_bytes > limit:
            raise KafkaError(
                ErrorCode.kafka_storage_error,
                f"The logs hold {self.used_bytes} bytes that are not committed and may take {self.max_bytes}.",
            )


def _level(sizes: Sequence[int], total: int) -> int:
    """The largest level such that the sizes, cut to it, add up to no more than `total`."""
    rest = total
    ascending = sorted(sizes)
    for place, size in enumerate(ascending):
        share = rest // (len(ascending) - place)
        if size > share:
            return share
        rest -= size
    return ascending[-1] if ascending else 0
