"""The older part of a replica's log, which is out of memory: parts of segments in the order of their offsets.

Theory   The batches out of memory come before those in memory. Replicas share segments. Each log has its own part of a
         segment: a follower may have half of it, and a log may be truncated into it. A segment is freed when neither a
         log nor a response that is still being written has any part of it.
Units    offsets count records; positions are bytes of the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, final

from fakebroker.core.log.batch import LoggedBatch
from fakebroker.core.log.memory import PartitionMemory
from fakebroker.core.log.segment import Segment, StoredPiece
from fakebroker.protocol.answers.pieces import Piece

_PART_COST: Final = 170  # bytes of memory for each log that has a part of a segment, measured


@final
class ColdPart:
    """A log's part of a segment: batches from `base_offset` at byte `start` to before `end_offset` at `end`."""

    __slots__ = ("base_offset", "end", "end_offset", "segment", "start")

    def __init__(self, segment: Segment, base_offset: int, end_offset: int, start: int, end: int) -> None:
        self.segment = segment
        self.base_offset = base_offset
        self.end_offset = end_offset
        self.start = start
        self.end = end


@final
class ColdLog:
    """The parts of one log, in order. It reports its use of memory to `memory`."""

    __slots__ = ("_memory", "_parts")

    def __init__(self, memory: PartitionMemory) -> None:
        self._memory = memory
        self._parts: list[ColdPart] = []

    @property
    def is_empty(self) -> bool:
        return not self._parts

    @property
    def parts(self) -> list[ColdPart]:
        return list(self._parts)

    @property
    def start(self) -> int:
        return self._parts[0].start

    @property
    def base_offset(self) -> int:
        return self._parts[0].base_offset

    @property
    def end_offset(self) -> int:
        return self._parts[-1].end_offset

    def append(self, segment: Segment, base_offset: int, end_offset: int, start: int, end: int) -> None:
        """Add these batches of a segment at the end. The segment may be that of the last part."""
        if not self.is_empty:
            last = self._parts[-1]
            assert last.end_offset <= base_offset
            assert last.end == start
            if last.segment is segment:
                last.end_offset, last.end = end_offset, end
                return
        self._parts.append(ColdPart(segment, base_offset, end_offset, start, end))
        segment.holders += 1
        self._memory.add_cold(_PART_COST + (segment.cost if segment.holders == 1 else 0))

    def prepend(self, segment: Segment, base_offset: int, end_offset: int, start: int, end: int) -> None:
        """Add these batches of a segment before all others."""
        self._parts.insert(0, ColdPart(segment, base_offset, end_offset, start, end))
        segment.holders += 1
        self._memory.add_cold(_PART_COST + (segment.cost if segment.holders == 1 else 0))

    def holds(self, offset: int) -> bool:
        """Return True if the batch that holds an offset, or the next one, is here."""
        return bool(self._parts) and offset < self._parts[-1].end_offset

    def find(self, offset: int) -> LoggedBatch:
        """Return the batch that holds an offset; below the first batch, the first one."""
        part = self._parts[self._index_of(offset)]
        return part.segment.find(max(offset, part.base_offset))

    def find_position(self, position: int) -> LoggedBatch:
        """Return the batch that holds a byte."""
        return self._parts[self._index_at(position)].segment.find_position(position)

    def batches_from(self, offset: int, only_producers: bool = False) -> Iterator[LoggedBatch]:
        """Yield the batches from the one that holds `offset` on. With `only_producers`, skip segments without
        producers."""
        for part in self._parts[self._index_of(offset) :]:
            if only_producers and not part.segment.has_producers:
                continue
            start = part.start if offset <= part.base_offset else part.segment.find(offset).position
            yield from part.segment.batches(start, part.end)

    def batches_since(self, timestamp_ms: int) -> Iterator[LoggedBatch]:
        """Yield the batches from a point before which all are older, without later stretches that are all older."""
        for part in list(self._parts):
            start = max(part.segment.position_at(timestamp_ms), part.start)
            if start < part.end:
                yield from part.segment.batches(start, part.end)

    def parts_from(self, offset: int) -> list[ColdPart]:
        """Return the parts from the start of the batch that holds `offset` on; none if they begin later."""
        parts = []
        for part in self._parts[self._index_of(offset) :]:
            if offset > part.base_offset:
                first = part.segment.find(offset)
                part = ColdPart(part.segment, first.base_offset, part.end_offset, first.position, part.end)
            parts.append(part)
        return parts

    def pieces(self, start: int, end: int) -> list[Piece]:
        """Return the bytes from one position to another, as far as they are here."""
        pieces: list[Piece] = []
        for part in self._parts[self._index_at(start) :]:
            if part.start >= end:
                break
            begin = max(start, part.start)
            pieces.append(StoredPiece(part.segment, begin, min(end, part.end) - begin))
        return pieces

    def drop_before(self, offset: int) -> None:
        """Drop whole batches below `offset`."""
        parts = self._parts
        gone = self._index_of(offset)
        for part in parts[:gone]:
            self._let_go(part)
        del parts[:gone]
        if parts and parts[0].base_offset < offset:
            first = parts[0].segment.find(offset)
            parts[0].base_offset, parts[0].start = first.base_offset, first.position

    def truncate_to(self, offset: int) -> int:
        """Drop the batch that holds `offset` and all behind it. Return the position where the rest ends."""
        batch = self.find(offset)
        parts = self._parts
        while parts and parts[-1].base_offset >= batch.base_offset:
            self._let_go(parts.pop())
        if parts and parts[-1].end_offset > batch.base_offset:
            parts[-1].end_offset, parts[-1].end = batch.base_offset, batch.position
        return batch.position

    def clear(self) -> None:
        for part in self._parts:
            self._let_go(part)
        self._parts.clear()

    def _let_go(self, part: ColdPart) -> None:
        segment = part.segment
        segment.holders -= 1
        self._memory.remove_cold(_PART_COST + (0 if segment.holders else segment.cost))

    def _index_of(self, offset: int) -> int:
        """Return the part that holds `offset`: the first that ends behind it."""
        low, high = 0, len(self._parts)
        while low < high:
            middle = (low + high) // 2
            if self._parts[middle].end_offset <= offset:
                low = middle + 1
            else:
                high = middle
        return low

    def _index_at(self, position: int) -> int:
        low, high = 0, len(self._parts)
        while low < high:
            middle = (low + high) // 2
            if self._parts[middle].end <= position:
                low = middle + 1
            else:
                high = middle
        return low

    def check_invariants(self) -> None:
        parts = self.parts
        for before, after in pairwise(parts):
            assert before.end_offset <= after.base_offset
            assert before.end == after.start
            assert before.segment is not after.segment
        for part in parts:
            assert part.segment.holders > 0
            batches = list(part.segment.batches(part.start, part.end))
            assert batches[0].base_offset == part.base_offset
            assert batches[-1].last_offset + 1 == part.end_offset
            assert batches[-1].position + batches[-1].size == part.end
