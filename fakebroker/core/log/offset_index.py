"""The entries of Kafka's offset index. They decide which aborted transactions a reader receives.

Theory   A segment notes a batch, by its position and its last offset, once more than index.interval.bytes came since
         the last note. The index is made at the first query, and follows the log from there.
Units    positions are bytes of the log, offsets count records.
Source   storage/.../log/{LogSegment.java append, fetchUpperBoundOffset, OffsetIndex.java} @ 4.4.
Differs  One index for all segments, with the default interval of 4 KiB.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import Final, final

from fakebroker.core.log.batch import LoggedBatch

_INTERVAL_BYTES: Final = 4_096


@final
class OffsetIndex:
    """The index of the batches before `end_offset`."""

    __slots__ = ("_bytes_since", "_offsets", "_positions", "end_offset")

    def __init__(self, offset: int) -> None:
        self._offsets = array("q")
        self._positions = array("q")
        self._bytes_since = 0
        self.end_offset = offset

    def go_on(self, batches: Iterable[LoggedBatch], end_offset: int) -> None:
        """Add the batches from the present `end_offset` to the end of the log."""
        for batch in batches:
            if self._bytes_since > _INTERVAL_BYTES:
                self._offsets.append(batch.last_offset)
                self._positions.append(batch.position)
                self._bytes_since = 0
            self._bytes_since += batch.size
        self.end_offset = end_offset

    def upper_bound(self, position: int) -> int | None:
        """Return the offset of the first entry at this position or behind it."""
        entry = bisect_left(self._positions, position)
        return self._offsets[entry] if entry < len(self._offsets) else None
