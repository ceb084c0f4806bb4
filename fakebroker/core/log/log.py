"""The log of one replica: batches in offset order, with the three offsets that matter.

Theory   log_start_offset <= high_watermark <= log_end_offset. The end moves when a batch is appended, the start when
         old batches are deleted; the high watermark is moved by the partition (leader) or by what the leader told
         (follower). Batches go as a whole: the start may lie within the first one.
         Where the batches are, and how they are read, is in contents.py.
Units    offsets count records.
Source   storage/internals/log/UnifiedLog.java @ 4.0 (append, read, updateHighWatermark, truncateTo,
         truncateFullyAndStartAt, maybeIncrementLogStartOffset).
Differs  Truncation into the middle of a batch ends the log before that batch, where Kafka leaves a gap of offsets;
         between replicas it never happens, epochs start where batches do.
"""

from __future__ import annotations

from typing import final

from fakebroker.core.log.batch import LoggedBatch
from fakebroker.core.log.contents import LogContents
from fakebroker.core.log.memory import PartitionMemory
from fakebroker.core.log.producer_state import ProducerStateManager

__all__ = ["Log", "LoggedBatch"]


@final
class Log(LogContents):
    """The log of one replica of one partition."""

    __slots__ = ("_producer_state", "high_watermark", "log_start_offset")

    def __init__(self, memory: PartitionMemory | None = None) -> None:
        super().__init__(memory)
        self.log_start_offset = 0
        self.high_watermark = 0
        self._producer_state = ProducerStateManager()

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
        _ = self.producer_state
        self.drop_before(offset)
        self.log_start_offset = offset
        self.update_high_watermark(self.high_watermark)
        return True

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
        self._producer_state.reload_from(self.log_start_offset)
        return True

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget everything, the producers too; the next batch goes to `offset`."""
        self.drop_all(offset)
        self.log_start_offset = self.high_watermark = offset
        self._producer_state = ProducerStateManager(offset)

    def check_invariants(self) -> None:
        assert self.log_start_offset <= self.high_watermark <= self.log_end_offset
        batches = self.batches
        if batches:
            assert batches[0].base_offset <= self.log_start_offset <= batches[0].last_offset
        else:
            assert self.log_start_offset == self.log_end_offset
        self.check_contents()
        assert self._producer_state.map_end_offset <= self.log_end_offset
        self._producer_state.check_invariants()
