"""The largest timestamp of each block of 256 batches of a log, for searches by time.

Theory   See time_search.py, which makes it at the first query and lets it catch up with the log at each: an append does
         nothing for it. A log that is truncated drops it (`Log.time_index`).
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
    """The index of one log, up to `end_offset`. `offsets` has the start of each block, `maxima` its largest timestamp.
    The maximum of the first block may be that of a deleted batch."""

    __slots__ = ("_in_last", "end_offset", "maxima", "offsets")

    def __init__(self) -> None:
        self.end_offset = 0
        self.offsets: list[int] = []
        self.maxima: list[int] = []
        self._in_last = BLOCK

    def add(self, base_offset: int, last_offset: int, max_timestamp_ms: int) -> None:
        """Add the next batch."""
        if self._in_last == BLOCK:
            self.offsets.append(base_offset)
            self.maxima.append(max_timestamp_ms)
            self._in_last = 0
        elif max_timestamp_ms > self.maxima[-1]:
            self.maxima[-1] = max_timestamp_ms
        self._in_last += 1
        self.end_offset = last_offset + 1

    def block_of(self, offset: int) -> int:
        """Return the block that holds an offset; the first one, if the offset is before all blocks."""
        return max(bisect_right(self.offsets, offset) - 1, 0)

    def forget_before(self, offset: int) -> None:
        """Drop whole blocks below `offset`, but never the last one."""
        gone = self.block_of(offset)
        del self.offsets[:gone], self.maxima[:gone]
