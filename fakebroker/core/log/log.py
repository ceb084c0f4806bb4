"""The log of one replica: batches in offset order, with log start offset, high watermark and log end offset.

Theory   log_start_offset <= high_watermark <= log_end_offset. The end moves when a batch is appended, the start when
         old batches are deleted. The partition moves the high watermark of the leader, the leader's responses that of a
         follower. Batches are deleted as a whole: the start may lie within the first one. Records below
         `recovery_point` were flushed: they are on the disk, and not in the page cache alone. The batches are in a
         LogContents (contents.py), which finds them by offset and by position.
Units    offsets count records.
Source   storage/internals/log/UnifiedLog.java @ 4.0 (append, read, updateHighWatermark, flush, truncateTo,
         truncateFullyAndStartAt, maybeIncrementLogStartOffset).
Differs  Truncation into the middle of a batch ends the log before that batch, where Kafka leaves a gap of offsets.
         Between replicas it never happens: epochs start where batches do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from fakebroker.core.log.batch import LoggedBatch
from fakebroker.core.log.cold_log import ColdPart
from fakebroker.core.log.compaction.rolls import Rolls
from fakebroker.core.log.contents import LogContents
from fakebroker.core.log.memory import PartitionMemory
from fakebroker.core.log.offset_index import OffsetIndex
from fakebroker.core.log.producer_state import ProducerStateManager
from fakebroker.core.log.segment import Segment
from fakebroker.core.log.time_index import TimeIndex
from fakebroker.protocol.answers.pieces import NOTHING, Pieces

__all__ = ["Log", "LoggedBatch"]


@final
class Log:
    """The log of one replica of one partition. `contents` has its batches; only this class changes them, except that
    batches go out of memory."""

    __slots__ = (
        "_offset_index", "_producer_state", "contents", "first_dirty_offset", "has_transactions", "high_watermark",
        "log_end_offset", "log_start_offset", "recovery_point", "rewriting", "rolls", "time_index", "truncations",
    )  # fmt: skip

    def __init__(self, memory: PartitionMemory | None = None) -> None:
        """Begin an empty log. `memory` counts the memory that the batches take."""
        self.contents = LogContents(memory)
        self.log_start_offset = 0
        self.high_watermark = 0
        self.log_end_offset = 0
        self.recovery_point = 0
        self.has_transactions = False  # True if any producer ever wrote a transactional batch
        self._producer_state = ProducerStateManager()
        self.time_index: TimeIndex | None = None  # for searches by time, time_index.py
        self._offset_index: OffsetIndex | None = None  # for read_committed readers
        # Of compacted logs (compaction/). Logs of the same rewriting have batches at the same positions.
        self.first_dirty_offset = 0
        self.rewriting = 0
        self.rolls: Rolls | None = None
        self.truncations = 0  # the number of changes other than appends

    def append(self, batch: LoggedBatch) -> None:
        """Append a batch. Its base offset must be the log end offset."""
        if batch.base_offset != self.log_end_offset:
            raise ValueError(f"batch at {batch.base_offset} does not continue a log that ends at {self.log_end_offset}")
        self.contents.append(batch)
        if batch.producer is not None and batch.producer.is_transactional:
            self.has_transactions = True
        self.log_end_offset = batch.last_offset + 1

    def copy_cold(self, segment: Segment, base_offset: int, end_offset: int, start: int, end: int) -> None:
        """Append another log's part of a segment. All before it is out of memory in both logs."""
        self.contents.copy_cold(segment, base_offset, end_offset, start, end)
        self.has_transactions |= segment.has_transactions
        self.log_end_offset = end_offset

    # Reading.

    @property
    def batches(self) -> list[LoggedBatch]:
        """All batches, as a copy for inspection."""
        return list(self.batches_from(self.log_start_offset))

    @property
    def size_in_bytes(self) -> int:
        """The size of all batches."""
        return self.contents.size_in_bytes

    def batches_from(self, offset: int) -> Iterator[LoggedBatch]:
        """Return the batches from the one that holds `offset` to the end; none at the log end offset. Records out of
        memory are read when they are needed."""
        return self.contents.batches_from(offset) if offset < self.log_end_offset else iter(())

    def only_batch_from(self, offset: int) -> LoggedBatch | None:
        """Return the last batch if it begins at `offset`. It is the one that a close follower lacks."""
        return self.contents.only_batch_from(offset)

    def batch_at(self, offset: int) -> LoggedBatch:
        """Return the batch that holds an offset of the log; below the first one, the first one."""
        return self.contents.batch_at(offset)

    def position_of(self, offset: int) -> int:
        """Return the position of the batch that holds an offset; at the log end offset, the end."""
        contents = self.contents
        return contents.end_position if offset >= self.log_end_offset else contents.batch_at(offset).position

    def read(self, offset: int, upper_bound: int, max_bytes: int) -> Pieces:
        """Return the batches from `offset` on that lie below `upper_bound`, cut at `max_bytes`; but the first one comes
        whole (KIP-74). No bytes are copied or read before they are needed."""
        contents = self.contents
        if offset >= upper_bound or offset >= self.log_end_offset or contents.is_empty:
            return NOTHING
        first = contents.batch_at(offset)
        start, end = first.position, self.position_of(upper_bound)
        if start >= end:
            return NOTHING
        return contents.pieces(start, min(end, start + max(max_bytes, first.size)))

    def size_between(self, offset: int, upper_bound: int) -> int:
        """Return the size of `read` without the limit `max_bytes`. It is the distance of two positions, found by binary
        searches, because parked fetches ask with each append."""
        contents = self.contents
        if offset >= self.log_end_offset or contents.is_empty:
            return 0
        # The batch that holds the bound does not lie below it; those before it do.
        return max(0, self.position_of(upper_bound) - contents.batch_at(offset).position)

    @property
    def has_cold(self) -> bool:
        """True if anything is out of memory."""
        return self.contents.has_cold

    def is_cold(self, offset: int) -> bool:
        """Return True if the batch that holds an offset, or the next one, is out of memory."""
        return self.contents.is_cold(offset)

    def cold_parts_from(self, offset: int) -> list[ColdPart]:
        """Return the parts out of memory from the batch that holds `offset` on."""
        return self.contents.cold_parts_from(offset)

    # Transactions.

    @property
    def producer_state(self) -> ProducerStateManager:
        """The state of the producers of this log, up to its end."""
        state = self._producer_state
        if state.map_end_offset < self.log_end_offset:
            for batch in self.contents.batches_from(state.map_end_offset, True):
                if batch.producer is not None:
                    state.update(batch.producer, batch.base_offset, batch.last_offset)
            state.map_end_offset = self.log_end_offset
        return state

    @property
    def last_stable_offset(self) -> int:
        """The start of the first transaction that is not decided below the high watermark; else the high watermark. If
        that start was deleted, it is the base offset of the batch that holds the log start, which may be below the log
        start."""
        if not self.has_transactions:
            return self.high_watermark
        unstable = self.producer_state.transactions.first_unstable_offset(self.high_watermark)
        if unstable is None:
            return self.high_watermark
        start = self.log_start_offset
        if unstable < start < self.log_end_offset:
            return min(self.batch_at(start).base_offset, self.high_watermark)  # as in LogSegment.read
        return min(max(unstable, start), self.high_watermark)

    def aborted_transactions(self, offset: int, size: int) -> tuple[tuple[int, int], ...]:
        """Return producer id and first offset of the aborted transactions that may have records in a stretch of the
        log. It begins with the batch that holds `offset` and has `size` bytes. Some may lie behind it: Kafka's offset
        index is no finer."""
        if size == 0 or not self.has_transactions:
            return ()
        transactions = self.producer_state.transactions
        if not transactions.has_aborted:
            return ()
        index = self._offset_index
        if index is None:
            index = self._offset_index = OffsetIndex(self.log_start_offset)
        if index.end_offset < self.log_end_offset:
            index.go_on(self.contents.batches_from(index.end_offset), self.log_end_offset)
        upper_bound = index.upper_bound(self.position_of(offset) + size)
        aborted = transactions.aborted_between(offset, self.log_end_offset if upper_bound is None else upper_bound)
        return tuple((transaction.producer_id, transaction.first_offset) for transaction in aborted)

    # The watermark, deletion and truncation.

    def update_high_watermark(self, offset: int) -> None:
        """Set the high watermark, held within the log."""
        self.high_watermark = max(self.log_start_offset, min(offset, self.log_end_offset))

    def maybe_increment_log_start_offset(self, offset: int) -> bool:
        """Delete whole batches below `offset`, never beyond the end of the log. Return True if the start moved.

        The caller ensures that a leader does not delete beyond its high watermark.
        """
        offset = min(offset, self.log_end_offset)
        if offset <= self.log_start_offset:
            return False
        # Deleted batches still count for their producers.
        self.producer_state.transactions.drop_before(offset)
        self.contents.drop_before(offset)
        self.log_start_offset = offset
        self.update_high_watermark(self.high_watermark)
        return True

    def flush(self) -> None:
        """Record that all batches are on the disk."""
        self.recovery_point = self.log_end_offset

    def truncate_to(self, offset: int) -> bool:
        """Drop everything from `offset` on, in whole batches. Return False if the log ends there or before.

        If `offset` is below the log start, nothing is left, and the log starts anew at `offset`.
        """
        if offset >= self.log_end_offset:
            return False
        if offset < self.log_start_offset:
            self.truncate_fully_and_start_at(offset)
            return True
        first = self.contents.drop_from(offset)
        self.log_end_offset = max(min(first, offset), self.log_start_offset)
        self.update_high_watermark(self.high_watermark)
        self.recovery_point = min(self.recovery_point, self.log_end_offset)
        self._producer_state.reload_from(self.log_start_offset, self.log_end_offset)
        self._forget(offset)
        return True

    def _forget(self, dirty_from: int) -> None:
        """Drop the indexes after a change of the contents."""
        self.time_index = None
        self._offset_index = None
        self.rolls = None
        self.truncations += 1
        self.first_dirty_offset = min(self.first_dirty_offset, dirty_from)

    def rewrite_before(self, offset: int, batches: list[LoggedBatch], segment: Segment | None, rewriting: int) -> None:
        """Replace all before `offset` by other batches; that part is now clean."""
        _ = self.producer_state  # deleted batches still count for their producers
        self.contents.replace_before(offset, batches, segment)
        self._forget(offset)
        self.first_dirty_offset = offset
        self.rewriting = rewriting

    def begin_anew(self, log_start_offset: int, rewriting: int) -> None:
        """Drop all batches, to copy those of a log that was rewritten."""
        _ = self.producer_state
        self.contents.drop_all()
        self.log_start_offset = self.log_end_offset = log_start_offset
        self.rewriting = rewriting
        self._forget(log_start_offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything, the producers too. The next batch goes to `offset`."""
        self.contents.drop_all()
        self.log_start_offset = self.high_watermark = self.log_end_offset = offset
        self.recovery_point = min(self.recovery_point, offset)
        self._producer_state = ProducerStateManager(offset)
        self._forget(offset)

    def check_invariants(self) -> None:
        assert self.log_start_offset <= self.high_watermark <= self.log_end_offset
        assert self.recovery_point <= self.log_end_offset
        has_gaps = self.rewriting != 0
        first = next(self.batches_from(self.log_start_offset), None)
        if first is not None:
            assert self.log_start_offset <= first.last_offset
            assert has_gaps or first.base_offset <= self.log_start_offset
        else:
            assert has_gaps or self.log_start_offset == self.log_end_offset
        self.contents.check_invariants(self.log_end_offset, has_gaps)
        assert self._producer_state.map_end_offset <= self.log_end_offset
        self._producer_state.check_invariants()
