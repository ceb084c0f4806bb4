"""An in-memory log of one replica: batches in offset order, with the three offsets that matter.

Theory   log_start_offset <= high_watermark <= log_end_offset. The end moves when a batch is appended, the start when
         old batches are deleted; the high watermark is moved by the partition (leader) or by what the leader told
         (follower). Batches go as a whole: the start may lie within the first one.
Units    offsets count records; sizes are bytes; timestamps are milliseconds since the epoch.
Source   storage/internals/log/UnifiedLog.java @ 4.0 (append, read, updateHighWatermark, truncateTo,
         truncateFullyAndStartAt, maybeIncrementLogStartOffset).
Differs  No segments and no files. A follower shares the leader's bytes: a batch is immutable once appended,
         so N replicas cost the memory of one. Truncation into the middle of a batch ends the log before that batch,
         where Kafka leaves a gap of offsets; between replicas it never happens, epochs start where batches do.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

from fakebroker.core.log.producer_state import ProducerBatch, ProducerStateManager
from fakebroker.core.log.time_index import TimeIndex
from fakebroker.protocol.batch_layout import LOG_OVERHEAD, MAGIC_AT
from timingwheel.mypyc import mypyc_attr

_HEAD: Final = Struct(">qii")
_HEAD_SIZE: Final = MAGIC_AT  # what a leader writes ends there


@mypyc_attr(acyclic=True)
class LoggedBatch:
    """A record batch in the log. Nobody changes it; replicas share it.

    records       its bytes as they came: what a leader writes into its header is kept beside them, and put there when
                  somebody reads them. It is outside the CRC. So the log keeps the very bytes that were received.
    leader_epoch  of the leader that appended it
    timestamp_ms  what retention.ms goes by: the largest timestamp, or the time of the append if there is none
    """

    __slots__ = ("base_offset", "last_offset", "leader_epoch", "producer", "records", "timestamp_ms")

    def __init__(
        self,
        base_offset: int,
        last_offset: int,
        leader_epoch: int,
        records: bytes,
        timestamp_ms: int = -1,
        producer: ProducerBatch | None = None,
    ) -> None:
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.leader_epoch = leader_epoch
        self.records = records
        self.timestamp_ms = timestamp_ms
        self.producer = producer

    @property
    def size_in_bytes(self) -> int:
        return len(self.records)

    @property
    def head(self) -> bytes:
        """What a leader writes: base offset, length, leader epoch. It takes the place of the first 16 bytes."""
        return _HEAD.pack(self.base_offset, len(self.records) - LOG_OVERHEAD, self.leader_epoch)

    @property
    def data(self) -> bytes:
        """The batch as it is read, a copy."""
        return self.head + self.records[_HEAD_SIZE:]


# Takes the place of a deleted batch until the list is cut.
_DELETED = LoggedBatch(-1, -1, -1, b"")


class Log:
    """The log of one replica of one partition."""

    __slots__ = (
        "_batches",
        "_end_position",
        "_head",
        "_positions",
        "_producer_state",
        "high_watermark",
        "log_end_offset",
        "log_start_offset",
        "time_index",
    )

    def __init__(self) -> None:
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.high_watermark = 0
        self._batches: list[LoggedBatch] = []
        # How many bytes were before each batch, the deleted ones counted too, and how many before the next one.
        self._positions: list[int] = []
        self._end_position = 0
        # The lists begin here. A list is slow to lose its first element, so the dead ones go when they are the half.
        self._head = 0
        self._producer_state = ProducerStateManager()
        self.time_index: TimeIndex | None = None  # of those who look for times, time_index.py

    @property
    def batches(self) -> list[LoggedBatch]:
        """All batches. A copy: to look at, not to work with."""
        return self._batches[self._head :]

    @property
    def size_in_bytes(self) -> int:
        """Of all batches."""
        return self._end_position - self._position_of(self._head)

    @property
    def producer_state(self) -> ProducerStateManager:
        """What this log knows of its producers, up to its end."""
        state = self._producer_state
        if state.map_end_offset < self.log_end_offset:
            for batch in self.batches_from(state.map_end_offset):
                if batch.producer is not None:
                    state.update(batch.producer, batch.base_offset, batch.last_offset)
            state.map_end_offset = self.log_end_offset
        return state

    def append(self, batch: LoggedBatch) -> None:
        """Add a batch at the end; its base offset must be the log end offset."""
        if batch.base_offset != self.log_end_offset:
            raise ValueError(f"batch at {batch.base_offset} does not continue a log that ends at {self.log_end_offset}")
        self._batches.append(batch)
        self._positions.append(self._end_position)
        self.log_end_offset = batch.last_offset + 1
        self._end_position += len(batch.records)

    def batches_from(self, offset: int) -> Iterator[LoggedBatch]:
        """The batches from the one that holds `offset` to the end; none at the log end offset."""
        if offset < self.log_end_offset:
            for index in range(self._index_of(offset), len(self._batches)):
                yield self._batches[index]

    def only_batch_from(self, offset: int) -> LoggedBatch | None:
        """The last batch, if it begins at `offset`: what whoever follows closely lacks."""
        if self._head < len(self._batches):
            last = self._batches[-1]
            if last.base_offset == offset:
                return last
        return None

    def read(self, offset: int, upper_bound: int, max_bytes: int) -> bytes:
        """The batches from `offset` on that lie below `upper_bound`, cut at `max_bytes`; but the first one comes whole
        (KIP-74)."""
        parts: list[bytes | memoryview] = []
        size = 0
        for batch in self.batches_from(offset):
            if batch.last_offset >= upper_bound or (parts and size >= max_bytes):
                break
            room = max_bytes - size if parts else len(batch.records)
            parts += batch.head[:room], memoryview(batch.records)[_HEAD_SIZE:room]
            size += len(batch.records)
        return b"".join(parts)

    def size_between(self, offset: int, upper_bound: int) -> int:
        """How much `read` would give, were it not for `max_bytes`. Two binary searches: whoever waits for more asks
        with each append, and the answer is the distance of two positions, not a sum."""
        if offset >= self.log_end_offset:
            return 0
        first = self._position_of(self._index_of(offset))
        if upper_bound >= self.log_end_offset:
            return self._end_position - first
        # The batch that holds the bound does not lie below it; those before it do.
        return max(0, self._position_of(self._index_of(upper_bound)) - first)

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
        batches = self._batches
        head = self._head
        while head < len(batches) and batches[head].last_offset < offset:
            batches[head] = _DELETED
            head += 1
        if head > len(batches) // 2:
            del batches[:head], self._positions[:head]
            head = 0
        self._head = head
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
        kept = self._index_of(offset)
        self.log_end_offset = max(self._batches[kept].base_offset, self.log_start_offset)
        self._end_position = self._position_of(kept)
        del self._batches[kept:], self._positions[kept:]
        self.update_high_watermark(self.high_watermark)
        self._producer_state.reload_from(self.log_start_offset)
        self.time_index = None
        return True

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget everything, the producers too; the next batch goes to `offset`."""
        self._batches.clear()
        self._positions.clear()
        self._end_position = 0
        self._head = 0
        self.log_start_offset = self.log_end_offset = self.high_watermark = offset
        self._producer_state = ProducerStateManager(offset)
        self.time_index = None

    def _index_of(self, offset: int) -> int:
        """Where the batch that holds `offset` is; below the first one, where the first one is."""
        batches = self._batches
        low, high = self._head, len(batches)
        while low < high:
            middle = (low + high) // 2
            if batches[middle].base_offset <= offset:
                low = middle + 1
            else:
                high = middle
        return max(low - 1, self._head)

    def _position_of(self, index: int) -> int:
        return self._positions[index] if index < len(self._positions) else self._end_position

    def check_invariants(self) -> None:
        assert self.log_start_offset <= self.high_watermark <= self.log_end_offset
        batches = self.batches
        if batches:
            assert batches[0].base_offset <= self.log_start_offset <= batches[0].last_offset
        expected = batches[0].base_offset if batches else self.log_start_offset
        for batch in batches:
            assert batch.base_offset == expected
            assert batch.last_offset >= batch.base_offset
            expected = batch.last_offset + 1
        assert expected == self.log_end_offset
        position = self._position_of(self._head)
        assert len(self._positions) == len(self._batches)
        for batch, its_position in zip(batches, self._positions[self._head :], strict=True):
            assert its_position == position
            position += len(batch.records)
        assert position == self._end_position
        assert self.size_in_bytes == sum(len(batch.records) for batch in batches)
        assert self._producer_state.map_end_offset <= self.log_end_offset
        self._producer_state.check_invariants()
