"""A partition of an internal topic at its coordinator: the state, its committed part, and the operations that wait for
commits.

Theory   An operation's records are replayed to the state, and added to the open batch. When the batch is appended, a
         snapshot of the state is taken. Reads of committed state use the snapshot at the high watermark. When that
         passes a batch, the operations of its records complete, in order. If the append fails, the state is reverted.
         Records that exceed the topic's maximum batch size are not replayed; their batch fails when it is flushed.
Units    offsets of the log; milliseconds.
Source   coordinator-common/.../common/runtime/CoordinatorRuntime.java CoordinatorContext, CoordinatorBatch;
         SnapshottableCoordinator.java @ 4.4 (read out of the released jars).
Differs  One thread, so no lock. The fill of a batch is counted before compression. Very many records of an operation
         are encoded and replayed in slices, but are still one append to the log. Kafka also replays records that are
         too large, and reverts them when the append fails.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final, Generic, NamedTuple, TypeVar

from fakebroker.core.clock import Now
from fakebroker.core.coordinator.batch_builder import BatchBuilder
from fakebroker.core.coordinator.errors import not_coordinator, unknown_server_error
from fakebroker.core.coordinator.events import EventQueue
from fakebroker.core.coordinator.partition_writer import PartitionWriter
from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.shard import CoordinatorShard
from fakebroker.core.coordinator.timeline import SnapshotRegistry
from fakebroker.core.coordinator.write_event import WriteEvent
from fakebroker.core.transactions.markers import Producer, TxnMarker
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import RECORD_BATCH_OVERHEAD, Record
from fakebroker.protocol.slices import Slices, finish
from fakebroker.protocol.transaction_records.control_records import COMMIT

S = TypeVar("S", bound=CoordinatorShard)

_RECORD_OVERHEAD: Final = 21  # DefaultRecord.MAX_RECORD_OVERHEAD
_NO_LIMIT: Final = 2**31


class CoordinatorState(Enum):
    """The state of a partition at its coordinator."""

    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
    CLOSED = "closed"


_RECORDS_OF_A_SLICE: Final = 64  # some 5 us each to encode, and as much to replay


_TOO_LARGE: Final = Record(None, None)  # placeholder for a record that is too large to encode


class _Encoded(NamedTuple):
    record: CoordinatorRecord
    encoded: Record
    size: int


class _CoordinatorBatch:
    """Records that are replayed but not yet in the log, and their operations. A snapshot at `base_offset` has the state
    before them. If the batch `is_too_large` for the log, its records are neither encoded nor replayed, only their size
    is counted."""

    __slots__ = ("base_offset", "begun_ms", "events", "is_too_large", "records", "size")

    def __init__(self, base_offset: int, begun_ms: int) -> None:
        self.base_offset = base_offset
        self.begun_ms = begun_ms
        self.is_too_large = False
        self.size = RECORD_BATCH_OVERHEAD
        self.records = BatchBuilder()
        self.events: list[WriteEvent] = []

    @property
    def is_empty(self) -> bool:
        return self.size == RECORD_BATCH_OVERHEAD

    @property
    def next_offset(self) -> int:
        return self.base_offset + len(self.records)


class CoordinatorContext(Generic[S]):
    """A partition at its coordinator. `watch` lets an operation wait for the high watermark. `on_batch` is called when
    a batch begins, and schedules its flush. `reload` is called if another writer has appended to the log."""

    def __init__(
        self,
        index: int,
        writer: PartitionWriter,
        events: EventQueue,
        now: Callable[[], Now],
        watch: Callable[[WriteEvent], None],
        on_batch: Callable[[], None],
        reload: Callable[[], None],
    ) -> None:
        self.index = index
        self.epoch = -1
        self.state = CoordinatorState.LOADING
        self.registry = SnapshotRegistry()
        self.shard: S | None = None
        self.last_written_offset = 0
        self.last_committed_offset = 0
        self._writer = writer
        self._events = events
        self._now = now
        self._watch = watch
        self._on_batch = on_batch
        self._reload = reload
        self._batch: _CoordinatorBatch | None = None
        self._deferred: deque[tuple[int, WriteEvent]] = deque()

    @property
    def batch_begun_ms(self) -> int | None:
        """Return the time of the first record in the open batch; None without one."""
        return None if self._batch is None else self._batch.begun_ms

    # Offsets.

    def update_last_written_offset(self, offset: int) -> None:
        self.registry.create_snapshot(offset)
        self.last_written_offset = offset

    def update_last_committed_offset(self, high_watermark: int) -> None:
        """Make the newest snapshot up to the high watermark the committed state."""
        epochs = self.registry.epochs
        place = bisect_right(epochs, high_watermark)
        if place and epochs[place - 1] > self.last_committed_offset:
            self.last_committed_offset = epochs[place - 1]
            self.registry.delete_snapshots_up_to(self.last_committed_offset)

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        """Complete the operations of which the records are committed."""
        if self.state is CoordinatorState.ACTIVE:
            self.update_last_committed_offset(high_watermark)
            deferred = self._deferred
            while deferred and deferred[0][0] <= self.last_committed_offset:
                deferred.popleft()[1].complete(None)

    # Writing.

    def append(self, event: WriteEvent) -> None:
        """Replay and write the records of an operation. Raises KafkaError on failure; then the state is unchanged."""
        finish(self.append_in_slices(event))

    def append_in_slices(self, event: WriteEvent) -> Slices[None]:
        """Append in slices. The caller must not use the context for anything else in between."""
        result = event.result
        assert result is not None
        assert self.state is CoordinatorState.ACTIVE
        assert self.shard is not None
        if not result.records:
            self._wait_for_pending_writes(event)
            return
        now = self._now()
        limit = self._writer.partition(self.index).config.max_message_bytes
        encoded = yield from self._encoded(result.records, limit, now.wall_ms)
        is_atomic = result.is_atomic
        batch = self._batch_for(encoded if is_atomic else encoded[:1], limit, now)
        for number, encoded_record in enumerate(encoded):
            if number % _RECORDS_OF_A_SLICE == _RECORDS_OF_A_SLICE - 1:
                yield
            if not is_atomic and number:
                batch = self._batch_for([encoded_record], limit, now)
            if batch.is_too_large:
                continue
            if result.replay_records:
                try:
                    self.shard.replay(batch.next_offset, -1, -1, encoded_record.record)
                except Exception as bug:
                    self._events.report(f"replaying {encoded_record.record}", bug)
                    batch.events.append(event)
                    self._fail_batch(unknown_server_error())
                    return
            batch.records.append(encoded_record.encoded)
        batch.events.append(event)

    def append_in_transaction(self, event: WriteEvent, producer: Producer) -> Slices[None]:
        """Append in slices to a producer's transaction. The records get a batch of their own, and are replayed after
        its append. Raises KafkaError."""
        result = event.result
        assert result is not None
        assert self.shard is not None
        self.flush()
        if not result.records:
            self._wait_for_pending_writes(event)
            return
        now = self._now()
        encoded = yield from self._encoded(result.records, _NO_LIMIT, now.wall_ms)
        records = BatchBuilder()
        for number, encoded_record in enumerate(encoded):
            if number % _RECORDS_OF_A_SLICE == _RECORDS_OF_A_SLICE - 1:
                yield
            records.append(encoded_record.encoded)
        before = self.last_written_offset
        offset = self._writer.append_in_transaction(self.index, records, producer, self._now())
        for number, encoded_record in enumerate(encoded):
            if number % _RECORDS_OF_A_SLICE == _RECORDS_OF_A_SLICE - 1:
                yield
            self.shard.replay(before + number, producer.producer_id, producer.producer_epoch, encoded_record.record)
        self._wait_for_commit(offset, event)

    def complete_transaction(self, event: WriteEvent, txn_marker: TxnMarker) -> Slices[None]:
        """Write the transaction marker, and replay it. Raises KafkaError."""
        assert self.shard is not None
        self.flush()
        offset = self._writer.append_marker(self.index, txn_marker, self._now())
        is_commit = txn_marker.marker.control_type == COMMIT
        yield from self.shard.replay_end_transaction_marker(
            txn_marker.producer_id, txn_marker.producer_epoch, is_commit
        )
        self._wait_for_commit(offset, event)

    def _encoded(self, records: Sequence[CoordinatorRecord], limit: int, wall_ms: int) -> Slices[list[_Encoded]]:
        """Encode records. Records known to exceed the limit are only counted, unless batches are compressed."""
        encoded: list[_Encoded] = []
        compresses = self._writer.compresses
        for record in records:
            if record.least_bytes <= limit or compresses:
                encoded.append(_encode(record, wall_ms))
            else:
                encoded.append(_Encoded(record, _TOO_LARGE, record.least_bytes + _RECORD_OVERHEAD))
            if len(encoded) % _RECORDS_OF_A_SLICE == 0:
                self.registry.forget_some()
                yield
        return encoded

    def _wait_for_commit(self, offset: int, event: WriteEvent) -> None:
        self.update_last_written_offset(offset)
        self._deferred.append((offset, event))
        self.on_high_watermark_updated(self._writer.partition(self.index).high_watermark)
        if not event.is_completed():
            self._watch(event)

    def flush(self) -> None:
        """Append the open batch to the log. If that fails, complete its operations with the error, and raise the
        KafkaError."""
        batch = self._batch
        if batch is None:
            return
        try:
            if batch.is_too_large:
                raise self._writer.too_large(self.index, batch.size)
            offset = self._writer.append(self.index, batch.records, self._now())
        except KafkaError as error:
            self._fail_batch(error.with_traceback(None))
            raise
        if offset != batch.next_offset:
            # Another writer has appended to the log, so the state does not match it.
            self._reload()
            raise not_coordinator()
        self._batch = None
        self.update_last_written_offset(offset)
        self._deferred.extend((offset, event) for event in batch.events)
        self.on_high_watermark_updated(self._writer.partition(self.index).high_watermark)
        for event in batch.events:
            if not event.is_completed():
                self._watch(event)

    def _open_batch(self, now: Now) -> _CoordinatorBatch:
        if self._batch is None:
            self._batch = _CoordinatorBatch(self.last_written_offset, now.mono_ms)
            self._on_batch()
        return self._batch

    def _batch_for(self, encoded: Sequence[_Encoded], limit: int, now: Now) -> _CoordinatorBatch:
        """Return a batch with room for these records, if a batch can have it: the open one, or the next."""
        size = 0
        for encoded_record in encoded:
            size += encoded_record.size
        batch = self._open_batch(now)
        if batch.size + size > limit:
            if not batch.is_empty:
                self.flush()
                batch = self._open_batch(now)
            least = batch.size + size - _RECORD_OVERHEAD * len(encoded)
            batch.is_too_large = least > limit and not self._writer.compresses
        batch.size += size
        return batch

    def _fail_batch(self, error: KafkaError) -> None:
        batch, self._batch = self._batch, None
        assert batch is not None
        self.registry.revert_to_snapshot(batch.base_offset)
        for event in batch.events:
            event.complete(error)

    def _wait_for_pending_writes(self, event: WriteEvent) -> None:
        """Complete the operation when the state that it has read is committed."""
        if self._batch is not None and not self._batch.is_empty:
            self._batch.events.append(event)
        elif self.last_committed_offset < self.last_written_offset:
            self._deferred.append((self.last_written_offset, event))
            self._watch(event)
        else:
            event.complete(None)

    # Unloading.

    def unload(self, state: CoordinatorState) -> None:
        """Complete the waiting operations with NOT_COORDINATOR."""
        self.state = state
        waiting = [event for _, event in self._deferred]
        self._deferred.clear()
        if self._batch is not None:
            waiting += self._batch.events
            self._batch = None
        for event in waiting:
            event.complete(not_coordinator())
        shard, self.shard = self.shard, None
        if shard is not None:
            shard.on_unloaded()


def _encode(record: CoordinatorRecord, wall_ms: int) -> _Encoded:
    key = record.key.encode()
    value = None if record.value is None else record.value.encode()
    size = _RECORD_OVERHEAD + len(key) + len(value or b"")
    return _Encoded(record, Record(key, value, (), wall_ms), size)
