"""A run of batches out of memory: its bytes in a store, and a sparse index in memory.

Theory   The bytes are those of Kafka's segment file: consecutive batches, with base offset and leader epoch written in,
         so they are sent as they are. All replicas that have these batches share the segment. The index is sparse, as
         Kafka's offset and time index: an entry for each 4 KiB. A search for an offset reads on from the entry before
         it, header by header.
Units    offsets count records; positions and sizes are bytes; timestamps are milliseconds since the epoch.
Source   storage/internals/log/LogSegment.java, OffsetIndex.java, TimeIndex.java @ 4.0; index.interval.bytes
Differs  A segment is written once and never appended to. The index is not written. A batch without a timestamp counts
         as old as the youngest batch beside it; Kafka takes the last change of the file.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, final

from fakebroker.core.log.batch import HEAD_SIZE, LoggedBatch, StoredBytes
from fakebroker.core.log.producer_entry import ProducerFields
from fakebroker.core.log.store import Extent, Store
from fakebroker.protocol.answers.pieces import Part, Piece
from fakebroker.protocol.batch_layout import (
    CONTROL_FLAG,
    HEADER,
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    TRANSACTIONAL_FLAG,
)
from fakebroker.protocol.transaction_records.control_records import decode_marker

INDEX_INTERVAL_BYTES: Final = 4_096
_SMALL_BYTES: Final = 8_192  # Batches up to that size are copied together before they are written.
_WINDOW_BYTES: Final = 65_536  # Bytes read at once in a walk over small batches.
# The memory of a segment, measured (docs/memory.md). The objects, and three numbers for each entry of the index.
_SEGMENT_COST: Final = 800
_ENTRY_COST: Final = 24


@final
class Segment(StoredBytes):
    """The batches from `base_offset` to before `end_offset`, from `position` of the log on. `timestamp_ms` is the
    largest of their timestamps, `epochs` each leader epoch with its first offset in here. `holders` is the number of
    logs that have it, `cost` its memory in bytes."""

    __slots__ = (
        "_extent", "_offsets", "_positions", "_timestamps", "base_offset", "cost", "end_offset", "epochs",
        "has_producers", "has_transactions", "holders", "position", "size", "timestamp_ms",
    )  # fmt: skip

    def __init__(self, store: Store, batches: Sequence[LoggedBatch]) -> None:
        """Write consecutive batches. Raise StoreFullError."""
        first = batches[0]
        self.base_offset = first.base_offset
        self.end_offset = batches[-1].last_offset + 1
        self.position = first.position
        self.has_producers = self.has_transactions = False
        self.holders = 0
        self.epochs: list[tuple[int, int]] = []
        self._offsets = array("q")
        self._positions = array("q")
        self._timestamps = array("q")  # the largest timestamp up to the next entry
        parts: list[Part] = []
        next_entry = position = first.position
        epoch, largest_ms = -1, -1
        for batch in batches:
            largest_ms = max(largest_ms, batch.timestamp_ms)
            if position >= next_entry:
                self._offsets.append(batch.base_offset)
                self._positions.append(position)
                self._timestamps.append(largest_ms)
                next_entry = position + INDEX_INTERVAL_BYTES
            else:
                self._timestamps[-1] = largest_ms
            if batch.leader_epoch != epoch:
                epoch = batch.leader_epoch
                self.epochs.append((epoch, batch.base_offset))
            if batch.producer is not None:
                self.has_producers = True
                self.has_transactions |= batch.producer.is_transactional
            parts.append(batch.head)
            records = batch.records
            parts.append(records[HEAD_SIZE:] if batch.size < _SMALL_BYTES else memoryview(records)[HEAD_SIZE:])
            position += batch.size
        self.timestamp_ms = largest_ms
        self.size = position - first.position
        if self.size < _SMALL_BYTES * len(batches):
            parts = [b"".join(parts)]
        self.cost = _SEGMENT_COST + _ENTRY_COST * len(self._offsets)
        self._extent = Extent(store, parts, self.size)

    @property
    def end_position(self) -> int:
        return self.position + self.size

    def read(self, position: int, size: int) -> bytes:
        return self._extent.read(position - self.position, size)

    def find(self, offset: int) -> LoggedBatch:
        """Return the batch that holds an offset of the segment."""
        entry = bisect_right(self._offsets, offset) - 1
        for batch in self.batches(self._positions[entry], self.end_position, INDEX_INTERVAL_BYTES):
            if offset <= batch.last_offset:
                return batch
        raise AssertionError(f"no batch holds offset {offset} of a segment that ends at {self.end_offset}")

    def find_position(self, position: int) -> LoggedBatch:
        """Return the batch that holds a byte of the segment."""
        entry = bisect_right(self._positions, position) - 1
        for batch in self.batches(self._positions[entry], self.end_position, INDEX_INTERVAL_BYTES):
            if position < batch.position + batch.size:
                return batch
        raise AssertionError(f"no batch holds byte {position} of a segment that ends at {self.end_position}")

    def position_at(self, timestamp_ms: int) -> int:
        """Return the start of a batch before which no timestamp is as large as this; the end if no timestamp is."""
        entry = bisect_left(self._timestamps, timestamp_ms)
        return self._positions[entry] if entry < len(self._positions) else self.end_position

    def epochs_between(self, base_offset: int, end_offset: int) -> list[tuple[int, int]]:
        """Return each leader epoch with its first offset in this range."""
        epochs: list[tuple[int, int]] = []
        for epoch, offset in self.epochs:
            if offset <= base_offset:
                epochs = [(epoch, base_offset)]
            elif offset < end_offset:
                epochs.append((epoch, offset))
        return epochs

    def batches(self, start: int, end: int, window: int = _WINDOW_BYTES) -> Iterator[LoggedBatch]:
        """Yield the batches from one position to another; at both a batch begins or the segment ends. Only their
        headers are read, `window` bytes at a time if they are small."""
        buffer, buffer_at = b"", start
        position = start
        while position < end:
            at = position - buffer_at
            if at + RECORD_BATCH_OVERHEAD > len(buffer):
                buffer_at, at = position, 0
                buffer = self.read(position, min(window, self.end_position - position))
            batch = self._batch(buffer, at, position)
            if batch.size > INDEX_INTERVAL_BYTES:
                window = INDEX_INTERVAL_BYTES  # the next batches are likely as large
            position += batch.size
            yield batch

    def _batch(self, buffer: bytes, at: int, position: int) -> LoggedBatch:
        (
            base_offset,
            length,
            leader_epoch,
            _magic,
            _crc,
            attributes,
            last_offset_delta,
            _base_timestamp_ms,
            max_timestamp_ms,
            producer_id,
            producer_epoch,
            base_sequence,
            count,
        ) = HEADER.unpack_from(buffer, at)
        producer = None
        # A marker that compaction has emptied does not change the state of its producer.
        if producer_id >= 0 and (count > 0 or attributes & CONTROL_FLAG == 0):
            marker = None
            if attributes & CONTROL_FLAG:
                marker = decode_marker(self.read(position, length + LOG_OVERHEAD))
            is_transactional = attributes & TRANSACTIONAL_FLAG != 0
            producer = ProducerFields(
                producer_id, producer_epoch, base_sequence, max_timestamp_ms, is_transactional, marker
            )
        timestamp_ms = self.timestamp_ms if max_timestamp_ms == -1 else max_timestamp_ms
        batch = LoggedBatch(base_offset, base_offset + last_offset_delta, leader_epoch, b"", timestamp_ms, producer)
        batch.size = length + LOG_OVERHEAD
        batch.position = position
        batch.stored = self
        return batch


@final
class StoredPiece(Piece):
    """Bytes of a segment, read when they are needed. The segment stays in the store as long as this exists."""

    __slots__ = ("_position", "_segment")

    def __init__(self, segment: Segment, position: int, size: int) -> None:
        super().__init__(size)
        self._segment = segment
        self._position = position

    def read(self, start: int, size: int) -> list[Part]:
        return [self._segment.read(self._position + start, size)]


@final
class LoggedPiece(Piece):
    """Bytes of batches that are in memory when this is made, from the start of the first on. It keeps only the batch
    objects: if they go out of memory before the bytes are needed, the bytes are read from the store."""

    __slots__ = ("_batches",)

    def __init__(self, batches: list[LoggedBatch], size: int) -> None:
        super().__init__(size)
        self._batches = batches

    def read(self, start: int, size: int) -> list[Part]:
        batches = self._batches
        if len(batches) == 1:
            return batches[0].parts(start, start + size)
        first = batches[0].position
        # The batch that holds byte `start`.
        low, high = 0, len(batches)
        while low < high:
            middle = (low + high) // 2
            if batches[middle].position - first <= start:
                low = middle + 1
            else:
                high = middle
        parts: list[Part] = []
        index = low - 1
        while size > 0:
            batch = batches[index]
            begin = start - (batch.position - first)
            stored = batch.stored
            if isinstance(stored, Segment):  # it went out of memory, maybe with others
                end = begin + min(size, stored.end_position - (first + start))
                parts.append(stored.read(first + start, end - begin))
                left = begin + (end - begin)
                while left >= batch.size and index + 1 < len(batches):
                    left -= batch.size
                    index += 1
                    batch = batches[index]
            else:
                end = min(batch.size, begin + size)
                parts += batch.parts(begin, end)
                index += 1
            start += end - begin
            size -= end - begin
        return parts
