"""The leader epochs of a log and their start offsets. Two replicas compare them to find where their logs diverge.

Theory   Entries (epoch, start offset), both rising. An epoch ends where the next one starts, the last one at the log
         end. A new leader enters its epoch at its log end before any append. So its cache always knows an epoch at
         least as high as any follower can ask for.

           leader    0:0  2:5  4:9        asked for epoch 2 -> (2, 9); for 3 -> (2, 9); for 4 -> (4, log end)

Units    offsets count records.
Source   storage/.../epoch/LeaderEpochFileCache.java @ 4.0: assign, endOffsetFor, epochForOffset, truncateFromEnd,
         truncateFromStart.
Differs  No checkpoint file.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import Final, final

from timingwheel.mypyc import mypyc_attr

UNDEFINED_EPOCH: Final = -1
UNDEFINED_EPOCH_OFFSET: Final = -1


@mypyc_attr(acyclic=True)
@final
class EpochEntry:
    """An epoch, and the offset of its first record."""

    __slots__ = ("epoch", "start_offset")

    def __init__(self, epoch: int, start_offset: int) -> None:
        self.epoch = epoch
        self.start_offset = start_offset

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EpochEntry) and self.epoch == other.epoch and self.start_offset == other.start_offset

    def __hash__(self) -> int:
        return hash((self.epoch, self.start_offset))

    def __repr__(self) -> str:
        return f"EpochEntry(epoch={self.epoch}, start_offset={self.start_offset})"


class LeaderEpochCache:
    """The leader epochs of one replica's log. `latest_epoch` is the highest; UNDEFINED_EPOCH if there is none."""

    __slots__ = ("entries", "latest_epoch")

    def __init__(self) -> None:
        self.entries: list[EpochEntry] = []
        self.latest_epoch: int = UNDEFINED_EPOCH

    def assign(self, epoch: int, start_offset: int) -> None:
        """Enter an epoch. Remove entries that contradict it: those not below it in epoch or in offset."""
        entries = self.entries
        if entries and entries[-1].epoch == epoch and entries[-1].start_offset <= start_offset:
            return
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochEntry(epoch, start_offset))
        self.latest_epoch = epoch

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Return (the largest epoch up to `epoch`, the offset where it ends); both UNDEFINED if `epoch` is higher than
        any known."""
        if epoch == UNDEFINED_EPOCH:
            return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
        if epoch == self.latest_epoch:
            return epoch, log_end_offset
        higher = bisect_right(self.entries, epoch, key=lambda entry: entry.epoch)
        if higher == len(self.entries):
            return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
        end_offset = self.entries[higher].start_offset
        return (self.entries[higher - 1].epoch if higher else epoch), end_offset

    def epoch_for_offset(self, offset: int) -> int:
        """Return the epoch in which the offset was, or would be, written; UNDEFINED_EPOCH before the first entry."""
        after = bisect_right(self.entries, offset, key=lambda entry: entry.start_offset)
        return self.entries[after - 1].epoch if after else UNDEFINED_EPOCH

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove the epochs that start at `end_offset` or later."""
        entries = self.entries
        while entries and entries[-1].start_offset >= end_offset:
            entries.pop()
        self.latest_epoch = entries[-1].epoch if entries else UNDEFINED_EPOCH

    def truncate_from_start(self, start_offset: int) -> None:
        """Remove the epochs that end at `start_offset` or before. The epoch that goes on there now starts there."""
        entries = self.entries
        after = bisect_right(entries, start_offset, key=lambda entry: entry.start_offset)
        if after:
            entries[:after] = [EpochEntry(entries[after - 1].epoch, start_offset)]

    def check_invariants(self) -> None:
        assert self.latest_epoch == (self.entries[-1].epoch if self.entries else UNDEFINED_EPOCH)
        for before, after in pairwise(self.entries):
            assert before.epoch < after.epoch
            assert before.start_offset < after.start_offset
