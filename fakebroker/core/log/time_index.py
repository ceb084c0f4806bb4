"""The largest timestamp of each block of 256 batches of a log: what is kept to find a time in it.

Theory   See time_search.py, which makes it when the first question comes and has it catch up with the log with each: an
         append does nothing for it. A log that is truncated drops it (`Log.time_index`).
Units    timestamps are milliseconds since the epoch, -1 for none; offsets count records.
Source   storage/.../log/TimeIndex.java @ 4.0.
Differs  Kafka has an entry for each 4 KiB, in a file for each segment.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, final

BLOCK: Final = 256


@final
class TimeIndex:
    """Of one log, up to `end_offset`. `offsets` says where each block begins, `maxima` what its largest timestamp is;
    the first block may tell of one that was deleted."""

    __slots__ = ("_in_last", "end_offset", "maxima", "offsets")

    def __init__(self) -> None:
        self.end_offset = 0
        self.offsets: list[int] = []
        self.maxima: list[int] = []
        self._in_last = BLOCK

    def add(self, base_offset: int, last_offset: int, max_timestamp_ms: int) -> None:
        """The next batch."""
        if self._in_last == BLOCK:
            self.offsets.append(base_offset)
            self.maxima.append(max_timestamp_ms)
            self._in_last = 0
        elif max_timestamp_ms > self.maxima[-1]:
            self.maxima[-1] = max_timestamp_ms
        self._in_last += 1
        self.end_offset = last_offset + 1

    def block_of(self, offset: int) -> int:
        """The block that holds an offset; the first one, if that is before them all."""
        return max(bisect_right(self.offsets, offset) - 1, 0)

    def forget_before(self, offset: int) -> None:
        """Whole blocks, but never the last."""
        gone = self.block_of(offset)
        del self.offsets[:gone], self.maxima[:gone]
