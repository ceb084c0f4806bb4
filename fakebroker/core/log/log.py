"""The log of one replica: batches in offset order, with the three offsets that matter.

Theory   log_start_offset <= high_watermark <= log_end_offset. The end moves when a batch is appended, the start when
         old batches are deleted; the high watermark is moved by the partition (leader) or by what the leader told
         (follower). Batches go as a whole: the start may lie within the first one. What is below `recovery_point` was
         flushed: it is on the disk, and not in the page cache alone.
         Where the batches are, and how they are read, is in contents.py.
Units    offsets count records.
Source   storage/internals/log/UnifiedLog.java @ 4.0 (append, read, updateHighWatermark, flush, truncateTo,
         truncateFullyAndStartAt, maybeIncrementLogStartOffset).
Differs  Truncation into the middle of a batch ends the log before that batch, where Kafka leaves a gap of offsets;
         between replicas it never happens, epochs start where batches do.
"""

from __future__ import annotations

from typing import final

from fakebroker.core.log.batch import ENTRY_COST, LoggedBatch
from fakebroker.core.log.cold_log import ColdLog
from fakebroker.core.log.compaction.rolls import Rolls
from fakebroker.core.log.contents import LogContents
from fakebroker.core.log.memory import PartitionMemory
from fakebroker.core.log.offset_index import OffsetIndex
from fakebroker.core.log.producer_state import ProducerStateManager
from fakebroker.core.log.segment import Segment
from fakebroker.core.log.time_index import TimeIndex

__all__ = ["Log", "LoggedBatch"]


@final
class Log(LogContents):
    """The log of one replica of one partition."""

    __slots__ = (
        "_offset_index", "_producer_state", "first_dirty_offset", "high_watermark", "log_start_offset",
        "recovery_point", "rewriting", "rolls", "time_index", "truncations",
    )  # fmt: skip

    def __init__(self, memory: PartitionMemory | None = None) -> None:
        super().__init__(memory)
        self.log_start_offset = 0
        self.high_watermark = 0
        self.recovery_point = 0
        self._producer_state = ProducerStateManager()
        self.time_index: TimeIndex | None = None  # of those who look for times, time_index.py
        self._offset_index: OffsetIndex | None = None  # of those who read what is committed
        # Of compacted logs (compaction/). Logs that came of the same rewriting have batches at the same positions.
        self.first_dirty_offset = 0
        self.rewriting = 0
        self.rolls: Rolls | None = None
        self.truncations = 0  # how often what stood in it changed

    @property
    def batches(self) -> list[LoggedBatch]:
        """All batches. A copy: to look at, not to work with."""
        return list(self._batches_from(self.log_start_offset, False))

    @property
    def producer_state(self) -> ProducerStateManager:
        """What this log knows of its producers, up to its end."""
        state = self._producer_state
        if state.map_end_offset < self.log_end_offset:
            for batch in self._batches_from(state.map_end_offset, True):
                if batch.producer is not None:
                    state.update(batch.producer, batch.base_offset, batch.last_offset)
            state.map_end_offset = self.log_end_offset
        return state

    @property
    def last_stable_offset(self) -> int:
        """Where the first transaction begins that is not decided below the high watermark; else the watermark. If what
        it began with was deleted, it is where the batch begins that the log now begins in, which may be below that."""
        if not self.has_transactions:
            return self.high_watermark
        unstable = self.producer_state.transactions.first_unstable_offset(self.high_watermark)
        if unstable is None:
            return self.high_watermark
        start = self.log_start_offset
        if unstable < start < self.log_end_offset:
            return min(self.batch_at(start).base_offset, self.high_watermark)  # as LogSegment.read tells it
        return min(max(unstable, start), self.high_watermark)

    def aborted_transactions(self, offset: int, size: int) -> tuple[tuple[int, int], ...]:
        """Producer id and first offset of those aborted of which records may be in the `size` bytes from the batch on
        that holds `offset`; and of some behind them, as Kafka's index of offsets is no finer."""
        if size == 0 or not self.has_transactions:
            return ()
        transactions = self.producer_state.transactions
        if not transactions.has_aborted:
            return ()
        index = self._offset_index
        if index is None:
            index = self._offset_index = OffsetIndex(self.log_start_offset)
        if index.end_offset < self.log_end_offset:
            index.go_on(self._batches_from(index.end_offset, False), self.log_end_offset)
        upper_bound = index.upper_bound(self.position_of(offset) + size)
        found = transactions.aborted_between(offset, self.log_end_offset if upper_bound is None else upper_bound)
        return tuple((each.producer_id, each.first_offset) for each in found)

    def update_high_watermark(self, offset: int) -> None:
        """Set the high watermark, held within the log."""
        self.high_watermark = max(self.log_start_offset, min(offset, self.log_end_offset))

    def maybe_increment_log_start_offset(self, offset: int) -> bool:
        """Delete what lies below `offset`, as far as whole batches do; never beyond the end of the log.

        True if the start moved. The caller sees to it that a leader does not delete beyond its high watermark.
        """
        offset = min(offset, self.log_end_offset)
        if offset <= self.log_start_offset:
            return False
        # Deleted batches count no less for their producers.
        self.producer_state.transactions.drop_before(offset)
        self.drop_before(offset)
        self.log_start_offset = offset
        self.update_high_watermark(self.high_watermark)
        return True

    def flush(self) -> None:
        """All that is there is on the disk."""
        self.recovery_point = self.log_end_offset

    def truncate_to(self, offset: int) -> bool:
        """Forget everything from `offset` on, in whole batches. False if the log ends there or before.

        Below the log start nothing is left, and the log starts anew at `offset`.
        """
        if offset >= self.log_end_offset:
            return False
        if offset < self.log_start_offset:
            self.truncate_fully_and_start_at(offset)
            return True
        self.drop_from(offset)
        self.log_end_offset = max(self.log_end_offset, self.log_start_offset)
        self.update_high_watermark(self.high_watermark)
        self.recovery_point = min(self.recovery_point, self.log_end_offset)
        self._producer_state.reload_from(self.log_start_offset, self.log_end_offset)
        self._forget(offset)
        return True

    def _forget(self, dirty_from: int) -> None:
        """What is known of the contents is not true any more."""
        self.time_index = None
        self._offset_index = None
        self.rolls = None
        self.truncations += 1
        self.first_dirty_offset = min(self.first_dirty_offset, dirty_from)

    def rewrite_before(self, offset: int, batches: list[LoggedBatch], segment: Segment | None, rewriting: int) -> None:
        """Let other batches stand for all before `offset`, which now is clean."""
        _ = self.producer_state  # batches that go count no less for their producers
        self._replace_before(offset, batches, segment)
        self._forget(offset)
        self.first_dirty_offset = offset
        self.rewriting = rewriting

    def _replace_before(self, offset: int, batches: list[LoggedBatch], segment: Segment | None) -> None:
        """Let these batches stand for all before `offset`, where a batch begins. They are in `segment`, if there is
        one, else nothing is out of memory. Their positions end where the first one that is left begins."""
        self.drop_before(offset)
        if not batches:
            return
        if segment is not None:
            if self._cold is None:
                self._cold = ColdLog(self._memory)
            last = batches[-1]
            self._cold.prepend(
                segment, batches[0].base_offset, last.last_offset + 1, batches[0].position, last.position + last.size
            )
            return
        assert self._cold is None or self._cold.is_empty
        for batch in batches:
            self._memory.add(ENTRY_COST if batch.holders else batch.cost)
            batch.holders += 1
        self._batches[: self._head] = batches
        self._head = 0

    def begin_anew(self, log_start_offset: int, rewriting: int) -> None:
        """Forget all batches, to copy those of a log that was rewritten."""
        _ = self.producer_state
        self.drop_all(log_start_offset)
        self.log_start_offset = log_start_offset
        self.rewriting = rewriting
        self._forget(log_start_offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget everything, the producers too; the next batch goes to `offset`."""
        self.drop_all(offset)
        self.log_start_offset = self.high_watermark = offset
        self.recovery_point = min(self.recovery_point, offset)
        self._producer_state = ProducerStateManager(offset)
        self._forget(offset)

    def check_invariants(self) -> None:
        assert self.log_start_offset <= self.high_watermark <= self.log_end_offset
        assert self.recovery_point <= self.log_end_offset
        has_gaps = self.rewriting != 0
        first = next(self._batches_from(self.log_start_offset, False), None)
        if first is not None:
            assert self.log_start_offset <= first.last_offset
            assert has_gaps or first.base_offset <= self.log_start_offset
        else:
            assert has_gaps or self.log_start_offset == self.log_end_offset
        self.check_contents(has_gaps)
        assert self._producer_state.map_end_offset <= self.log_end_offset
        self._producer_state.check_invariants()
