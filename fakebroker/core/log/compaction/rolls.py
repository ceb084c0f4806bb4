"""The offsets at which Kafka would begin a new segment. There are no segments here, but they decide what is compacted.

Theory   A batch begins a new segment if the present one would become larger than segment.bytes with it. It also does if
         it is younger by more than segment.ms than the first batch there. The walk begins at the first dirty offset,
         where a segment began, and is continued at the next call.
Units    offsets count records; sizes are bytes; timestamps are milliseconds since the epoch.
Source   storage/internals/log/LogSegment.java shouldRoll, timeWaitedForRoll; LogConfig.java maxSegmentMs @ 4.0.
Differs  By the settings of now, not of the time of the append; segment.jitter.ms is not drawn. An index is never full.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final

from fakebroker.core.log.batch import LoggedBatch
from timingwheel.mypyc import mypyc_attr

_NEVER: Final = -1


@mypyc_attr(acyclic=True)
@final
class Roll:
    """A segment: its base offset, the timestamp of its first batch, the largest timestamp, and its size in bytes."""

    __slots__ = ("base_offset", "first_timestamp_ms", "largest_timestamp_ms", "size")

    def __init__(self, base_offset: int, timestamp_ms: int) -> None:
        self.base_offset = base_offset
        self.first_timestamp_ms = timestamp_ms
        self.largest_timestamp_ms = _NEVER
        self.size = 0


@final
class Rolls:
    """The segments from an offset up to `end_offset`. The last one is the active one."""

    __slots__ = ("end_offset", "max_bytes", "max_ms", "segments")

    def __init__(self, offset: int, max_bytes: int, max_ms: int) -> None:
        self.end_offset = offset
        self.max_bytes = max_bytes
        self.max_ms = max_ms
        self.segments: list[Roll] = []

    def go_on(self, batches: Iterable[LoggedBatch], end_offset: int) -> None:
        """Add the batches from the present `end_offset` to the end of the log."""
        for batch in batches:
            active = self.segments[-1] if self.segments else None
            if (
                active is None
                or active.size + batch.size > self.max_bytes
                or batch.timestamp_ms - active.first_timestamp_ms > self.max_ms
            ):
                active = Roll(batch.base_offset, batch.timestamp_ms)
                self.segments.append(active)
            active.size += batch.size
            active.largest_timestamp_ms = max(active.largest_timestamp_ms, batch.timestamp_ms)
        self.end_offset = end_offset
