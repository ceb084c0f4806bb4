"""An in-memory log of one replica: batches in offset order, with the three offsets that matter.

Theory   log_start_offset <= high_watermark <= log_end_offset. The end moves when a batch is appended; the
         high watermark is moved by the partition (leader) or by what the leader told (follower).
Units    offsets count records; sizes are bytes.
Source   storage/internals/log/UnifiedLog.java @ 4.0 (append, read, updateHighWatermark, truncateTo,
         truncateFullyAndStartAt).
Differs  No segments and no files. A follower shares the leader's bytes: a batch is immutable once appended,
         so N replicas cost the memory of one. Truncation into the middle of a batch ends the log before that batch,
         where Kafka leaves a gap of offsets; between replicas it never happens, epochs start where batches do.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple


class LoggedBatch(NamedTuple):
    """A record batch as it stands in the log, header stamped."""

    base_offset: int
    last_offset: int
    data: bytes


class Log:
    """The log of one replica of one partition."""

    __slots__ = ("_base_offsets", "batches", "high_watermark", "log_end_offset", "log_start_offset")

    def __init__(self) -> None:
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.high_watermark = 0
        self.batches: list[LoggedBatch] = []
        self._base_offsets: list[int] = []

    def append(self, batch: LoggedBatch) -> None:
        """Add a batch at the end; its base offset must be the log end offset."""
        if batch.base_offset != self.log_end_offset:
            raise ValueError(f"batch at {batch.base_offset} does not continue a log that ends at {self.log_end_offset}")
        self.batches.append(batch)
        self._base_offsets.append(batch.base_offset)
        self.log_end_offset = batch.last_offset + 1

    def batches_from(self, offset: int) -> list[LoggedBatch]:
        """The batches from the one that holds `offset` to the end; empty at the log end offset."""
        if offset >= self.log_end_offset:
            return []
        return self.batches[max(bisect_right(self._base_offsets, offset) - 1, 0) :]

    def read(self, offset: int, upper_bound: int, max_bytes: int) -> bytes:
        """Whole batches from `offset` on that lie below `upper_bound`; the first one even if larger than
        `max_bytes` (KIP-74)."""
        parts: list[bytes] = []
        size = 0
        for batch in self.batches_from(offset):
            if batch.last_offset >= upper_bound or (parts and size + len(batch.data) > max_bytes):
                break
            parts.append(batch.data)
            size += len(batch.data)
        return b"".join(parts)

    def update_high_watermark(self, offset: int) -> None:
        """Set the high watermark, held within the log."""
        self.high_watermark = max(self.log_start_offset, min(offset, self.log_end_offset))

    def truncate_to(self, offset: int) -> bool:
        """Forget everything from `offset` on, in whole batches. False if the log ends there or before.

        Below the log start nothing is left, and the log starts anew at `offset`.
        """
        if offset >= self.log_end_offset:
            return False
        if offset < self.log_start_offset:
            self.truncate_fully_and_start_at(offset)
            return True
        kept = bisect_right(self._base_offsets, offset) - 1
        if kept >= 0:
            self.log_end_offset = self._base_offsets[kept]
            del self.batches[kept:], self._base_offsets[kept:]
        self.update_high_watermark(self.high_watermark)
        return True

    def truncate_fully_and_start_at(self, offset: int) -> None:
        self.batches.clear()
        self._base_offsets.clear()
        self.log_start_offset = self.log_end_offset = self.high_watermark = offset

    def check_invariants(self) -> None:
        assert self.log_start_offset <= self.high_watermark <= self.log_end_offset
        expected = self.log_start_offset
        for batch in self.batches:
            assert batch.base_offset == expected
            assert batch.last_offset >= batch.base_offset
            expected = batch.last_offset + 1
        assert expected == self.log_end_offset
        assert self._base_offsets == [batch.base_offset for batch in self.batches]
