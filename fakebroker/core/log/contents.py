"""The batches of one replica's log: the younger ones in memory, the older ones, if there are too many, in a store.

Theory   The batches out of memory (cold_log.py, segment.py) come before those in memory; readers see no difference.
         Batches are immutable and replicas share them: N replicas cost the memory of one. Where the log starts and
         ends, and which records may be read, is known to log.py alone.
Units    offsets count records; sizes and positions are bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from fakebroker.core.log.batch import ENTRY_COST, LoggedBatch
from fakebroker.core.log.cold_log import ColdLog, ColdPart
from fakebroker.core.log.memory import LogMemory, PartitionMemory
from fakebroker.core.log.segment import LoggedPiece, Segment
from fakebroker.protocol.answers.pieces import Piece, Pieces

# Replaces a dropped batch until the list is cut.
_GONE: Final = LoggedBatch(-1, -1, -1, b"")
_RUN_BATCHES: Final = 512  # batches that go out of memory at once, at most: a few hundred microseconds


@final
class LogContents:
    """Batches in offset order. `memory` counts the memory that they take."""

    __slots__ = ("_batches", "_cold", "_end_position", "_head", "_memory")

    def __init__(self, memory: PartitionMemory | None = None) -> None:
        self._memory = memory or PartitionMemory(LogMemory())
        self._cold: ColdLog | None = None  # the part out of memory; None if there never was one
        self._batches: list[LoggedBatch] = []
        # The first index in use. Deleting the first element of a list is slow, so dropped ones are cut when they are
        # half.
        self._head = 0
        # The number of bytes appended, deleted ones included.
        self._end_position = 0

    @property
    def is_empty(self) -> bool:
        return self._head == len(self._batches) and not self.has_cold

    @property
    def size_in_bytes(self) -> int:
        """The size of all batches."""
        return self._end_position - self.start_position

    @property
    def start_position(self) -> int:
        """The number of bytes before the first batch."""
        cold = self._cold
        return self._hot_position if cold is None or cold.is_empty else cold.start

    @property
    def end_position(self) -> int:
        return self._end_position

    @property
    def bytes_in_memory(self) -> int:
        """The size of the batches in memory."""
        return self._end_position - self._hot_position

    def append(self, batch: LoggedBatch) -> None:
        """Append a batch. It must begin where the last one ends, or behind that."""
        if batch.holders == 0:
            batch.position = self._end_position
            self._memory.add(batch.cost)
        else:
            self._memory.add(ENTRY_COST)
            self._end_position = batch.position  # another position, in a log that starts anew
        batch.holders += 1
        self._batches.append(batch)
        self._end_position += batch.size

    def batches_from(self, offset: int, only_producers: bool = False) -> Iterator[LoggedBatch]:
        """Yield the batches from the one that holds an offset of the log to the end. Records out of memory are read
        when they are needed; with `only_producers`, not those of segments without producers."""
        cold = self._cold
        if cold is not None and cold.holds(offset):
            yield from cold.batches_from(offset, only_producers)
        for index in range(self._index_of(offset), len(self._batches)):
            yield self._batches[index]

    def batches_since(self, timestamp_ms: int) -> Iterator[LoggedBatch]:
        """Yield the batches from a point before which all are older than `timestamp_ms`. Out of memory, only stretches
        that may have younger ones are read."""
        if self._cold is not None:
            yield from self._cold.batches_since(timestamp_ms)
        for index in range(self._head, len(self._batches)):
            yield self._batches[index]

    def only_batch_from(self, offset: int) -> LoggedBatch | None:
        """Return the last batch if it begins at `offset`. It is the one that a close follower lacks."""
        if self._head < len(self._batches):
            last = self._batches[-1]
            if last.base_offset == offset:
                return last
        return None

    def batch_at(self, offset: int) -> LoggedBatch:
        """Return the batch that holds an offset of the log; below the first one, the first one."""
        cold = self._cold
        if cold is not None and cold.holds(offset):
            return cold.find(offset)
        return self._batches[self._index_of(offset)]

    def is_cold(self, offset: int) -> bool:
        """Return True if the batch that holds an offset, or the next one, is out of memory."""
        return self._cold is not None and self._cold.holds(offset)

    @property
    def has_cold(self) -> bool:
        """True if anything is out of memory."""
        return self._cold is not None and not self._cold.is_empty

    def batch_at_position(self, position: int) -> LoggedBatch:
        """Return the batch that holds a byte of the log."""
        cold = self._cold
        if cold is not None and position < self._hot_position:
            return cold.find_position(position)
        return self._batches[self._index_at(position)]

    def pieces(self, start: int, end: int) -> Pieces:
        """Return the bytes from one position to another; a batch begins at the first. No bytes are copied or read
        before they are needed."""
        hot = self._hot_position
        pieces: list[Piece] = []
        cold = self._cold
        if cold is not None and start < hot:
            pieces = cold.pieces(start, end)
            start = hot
        if start < end:
            index = self._index_at(start)
            pieces.append(LoggedPiece(self._batches[index : self._index_at(end - 1) + 1], end - start))
        return Pieces(pieces)

    # Removal.

    def drop_before(self, offset: int) -> None:
        """Drop whole batches below `offset`."""
        if self._cold is not None:
            self._cold.drop_before(offset)
        batches = self._batches
        head = self._head
        while head < len(batches) and batches[head].last_offset < offset:
            self._let_go(batches[head])
            batches[head] = _GONE
            head += 1
        self._cut(head)

    def drop_from(self, offset: int) -> int:
        """Drop the batch that holds `offset` and all behind it. Return the base offset of that batch."""
        first = self.batch_at(offset)
        kept = self._head
        if self._cold is not None and self._cold.holds(offset):
            self._cold.truncate_to(offset)
        else:
            kept = self._index_of(offset)
        batches = self._batches
        for index in range(kept, len(batches)):
            self._let_go(batches[index])
        del batches[kept:]
        self._end_position = first.position
        return first.base_offset

    def drop_all(self) -> None:
        for index in range(self._head, len(self._batches)):
            self._let_go(self._batches[index])
        self._batches.clear()
        self._head = 0
        if self._cold is not None:
            self._cold.clear()
        self._end_position = 0

    def replace_before(self, offset: int, batches: list[LoggedBatch], segment: Segment | None) -> None:
        """Replace all before `offset`, where a batch begins. The batches are in `segment`, if given, else nothing is
        out of memory. Their positions end where the first remaining batch begins."""
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
        assert not self.has_cold
        for batch in batches:
            self._memory.add(ENTRY_COST if batch.holders else batch.cost)
            batch.holders += 1
        self._batches[: self._head] = batches
        self._head = 0

    # Out of memory.

    def oldest_in_memory(self, max_bytes: int) -> list[LoggedBatch]:
        """Return the oldest batches in memory that together take at least `max_bytes`."""
        batches = self._batches
        end = self._head
        while end < len(batches) and max_bytes > 0 and end < self._head + _RUN_BATCHES:
            max_bytes -= batches[end].cost
            end += 1
        return batches[self._head : end]

    def move_out(self, segment: Segment, run: list[LoggedBatch]) -> None:
        """Drop from memory those batches of the run that are the oldest of this log. `segment` has all of the run."""
        batches = self._batches
        head, count = self._head, 0
        while count < len(run) and head < len(batches) and batches[head] is run[count]:
            self._let_go(batches[head])
            batches[head] = _GONE
            head += 1
            count += 1
        if count:
            last = run[count - 1]
            self._append_cold(
                segment, run[0].base_offset, last.last_offset + 1, run[0].position, last.position + last.size
            )
            self._cut(head)

    def cold_parts_from(self, offset: int) -> list[ColdPart]:
        """Return the parts out of memory from the batch that holds `offset` on."""
        return [] if self._cold is None else self._cold.parts_from(offset)

    def copy_cold(self, segment: Segment, base_offset: int, end_offset: int, start: int, end: int) -> None:
        """Append another log's part of a segment. This log has nothing in memory: all before the part is out of memory
        in the other log too, and what both had went out of both."""
        assert self._head == len(self._batches)
        self._append_cold(segment, base_offset, end_offset, start, end)
        self._end_position = end

    def _append_cold(self, segment: Segment, base_offset: int, end_offset: int, start: int, end: int) -> None:
        cold = self._cold
        if cold is None:
            cold = self._cold = ColdLog(self._memory)
        cold.append(segment, base_offset, end_offset, start, end)

    def _let_go(self, batch: LoggedBatch) -> None:
        batch.holders -= 1
        self._memory.remove(ENTRY_COST if batch.holders else batch.cost)

    def _cut(self, head: int) -> None:
        """Record that the batches before `head` are dropped."""
        if head > len(self._batches) // 2:
            del self._batches[:head]
            head = 0
        self._head = head

    # Positions.

    @property
    def _hot_position(self) -> int:
        return self._batches[self._head].position if self._head < len(self._batches) else self._end_position

    def _index_of(self, offset: int) -> int:
        """Return the index of the batch that holds `offset`, or of the next one if compaction left a gap there; below
        the first batch, its index."""
        batches = self._batches
        low, high = self._head, len(batches)
        while low < high:
            middle = (low + high) // 2
            if batches[middle].base_offset <= offset:
                low = middle + 1
            else:
                high = middle
        if self._head < low < len(batches) and batches[low - 1].last_offset < offset:
            return low
        return max(low - 1, self._head)

    def _index_at(self, position: int) -> int:
        """Return the index of the batch in memory that holds a byte."""
        batches = self._batches
        low, high = self._head, len(batches)
        while low < high:
            middle = (low + high) // 2
            if batches[middle].position <= position:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def check_invariants(self, log_end_offset: int, has_gaps: bool) -> None:
        """Check the batches of a log that ends there. A log has gaps if it was compacted."""
        expected, position = -1, self.start_position
        for batch in self.batches_from(-1):
            assert batch.base_offset == expected or expected == -1 or (has_gaps and batch.base_offset > expected)
            assert batch.last_offset >= batch.base_offset
            assert batch.position == position
            expected = batch.last_offset + 1
            position += batch.size
        assert expected in (log_end_offset, -1) or (has_gaps and expected < log_end_offset)
        assert position == self._end_position
        if self._cold is not None:
            self._cold.check_invariants()
        for batch in self._batches[self._head :]:
            assert batch.holders > 0
            assert batch.stored is None
