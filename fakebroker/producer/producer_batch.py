"""Records of one partition that travel together, from the first append to the callbacks.

Theory   A batch ends once: it succeeds, fails, or is aborted. What comes later is ignored, as the answer to a batch
         that was given up; only a success after a success is a bug. When it is queued again after a failed attempt its
         waiting begins anew, from that attempt.
         Expiry, by generation: `maybe_expire` is 2.0's, with three limits that a batch is measured by in the queue;
         `has_reached_delivery_timeout` is what KIP-91 put in their place, one limit from its creation.
Units    milliseconds.
Source   clients/.../producer/internals/ProducerBatch.java of 2.0 and 4.3.
Differs  Callbacks must not raise: who lets in those of a user guards them (client/record_doors.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from fakebroker.producer.compression.batch_compression import BatchCompression
from fakebroker.producer.errors import IllegalProducerStateError, ProducerError, ProducerTimeoutError
from fakebroker.producer.metadata_snapshot import NO_EPOCH
from fakebroker.producer.record_batch_builder import (
    NO_SEQUENCE,
    Headers,
    RecordBatchBuilder,
    estimate_size_upper_bound,
)
from fakebroker.producer.sending import words
from fakebroker.protocol.topic_partition import TopicPartition


class FinalState(Enum):
    ABORTED = "aborted"
    FAILED = "failed"
    SUCCEEDED = "succeeded"


class RecordMetadata(NamedTuple):
    """Where a record was written; the offset is -1 if it is not known."""

    partition: TopicPartition
    offset: int


Callback = Callable[[RecordMetadata | None, ProducerError | None], None]


class ProducerBatch:
    """`attempts` counts the tries that failed. `is_inflight`: it is in a request that is not answered.
    `max_record_size`: what a batch of its largest record alone may have, in bytes. `sequence_has_been_reset`: its
    sequence is another than that which was sent last."""

    def __init__(
        self, partition: TopicPartition, builder: RecordBatchBuilder, created_ms: int, is_split_batch: bool = False
    ) -> None:
        self.partition = partition
        self.created_ms = created_ms
        self.is_split_batch = is_split_batch
        self.attempts = 0
        self.in_retry = self.is_inflight = self.is_buffer_deallocated = False
        self.sequence_has_been_reset = False
        self.final_state: FinalState | None = None
        self.drained_ms = 0
        self.max_record_size = 0
        self.pieces: tuple[ProducerBatch, ...] = ()  # into which it was split
        self.journal_number = 0  # what a journal keeps of it: this, and who its producer was, and its sequence
        self.journal_identity: tuple[int, int, int] | None = None
        self._builder = builder
        self._callbacks: list[Callback | None] = []
        self._last_attempt_ms = created_ms
        self._last_append_ms = created_ms
        self._leader_epoch = NO_EPOCH
        self._attempts_when_leader_last_changed = 0
        self._expiry: tuple[int, str] | None = None  # for how long it waited, and since when

    @property
    def record_count(self) -> int:
        return self._builder.num_records

    @property
    def initial_capacity(self) -> int:
        """The memory that was taken for it."""
        return self._builder.write_limit

    @property
    def base_sequence(self) -> int:
        return self._builder.base_sequence

    @property
    def last_sequence(self) -> int:
        """Of its last record."""
        return self._builder.base_sequence + self._builder.num_records - 1

    @property
    def producer_id(self) -> int:
        return self._builder.producer_id

    @property
    def producer_epoch(self) -> int:
        return self._builder.producer_epoch

    @property
    def is_transactional(self) -> bool:
        return self._builder.is_transactional

    @property
    def has_sequence(self) -> bool:
        return self._builder.base_sequence != NO_SEQUENCE

    @property
    def is_done(self) -> bool:
        return self.final_state is not None

    @property
    def is_closed(self) -> bool:
        """Whether its bytes are made: it was drained once."""
        return self._builder.is_closed

    @property
    def compression_ratio(self) -> float:
        """What it came to; 1 until its bytes are made."""
        return self._builder.compression_ratio

    def is_full(self) -> bool:
        return self._builder.is_full()

    def estimated_size_in_bytes(self) -> int:
        return self._builder.estimated_size_in_bytes()

    def try_append(
        self,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        callback: Callback | None,
        now_ms: int,
    ) -> bool:
        """False if there is no room."""
        if not self._builder.has_room_for(timestamp_ms, key, value, headers):
            return False
        self._append(timestamp_ms, key, value, headers, callback)
        self._last_append_ms = now_ms
        return True

    def close_for_record_appends(self) -> None:
        self._builder.close_for_record_appends()

    def abort_record_appends(self) -> None:
        self._builder.abort()

    def close(self) -> None:
        """Make its bytes, as it is about to be sent."""
        self._builder.build()
        compression = self._builder.compression
        if compression is not None:
            compression.estimator.update_estimation(self.partition.topic, self._builder.compression_ratio)
        self.sequence_has_been_reset = False

    def set_producer_state(
        self, producer_id: int, producer_epoch: int, base_sequence: int, is_transactional: bool
    ) -> None:
        """As whom it is written, before it is sent for the first time."""
        self._builder.set_producer_state(producer_id, producer_epoch, base_sequence, is_transactional)

    def reset_producer_state(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        """It was sent, and is to be sent again as another."""
        self.sequence_has_been_reset = True
        self._builder.reopen_and_rewrite_producer_state(
            producer_id, producer_epoch, base_sequence, self._builder.is_transactional
        )

    def records(self) -> bytes:
        return self._builder.build()

    def waited_time_ms(self, now_ms: int) -> int:
        """Since it was created or last failed."""
        return max(0, now_ms - self._last_attempt_ms)

    def drained(self, now_ms: int) -> None:
        self.drained_ms = max(self.drained_ms, now_ms)

    def reenqueued(self, now_ms: int) -> None:
        """It is queued again, after an attempt that failed."""
        self.attempts += 1
        self._last_attempt_ms = max(self._last_append_ms, now_ms)
        self._last_append_ms = max(self._last_append_ms, now_ms)
        self.in_retry = True

    def maybe_update_leader_epoch(self, leader_epoch: int) -> None:
        """What the metadata says now (NO_EPOCH: nothing)."""
        if leader_epoch > self._leader_epoch:
            self._attempts_when_leader_last_changed = self.attempts
            self._leader_epoch = leader_epoch

    def has_leader_changed_for_the_ongoing_retry(self) -> bool:
        """Then it is tried at the new leader without back-off (KIP-951)."""
        return self.attempts >= 1 and self.attempts == self._attempts_when_leader_last_changed

    def has_reached_delivery_timeout(self, delivery_timeout_ms: int, now_ms: int) -> bool:
        """KIP-91: inclusive, and from its creation whatever happened since."""
        return delivery_timeout_ms <= now_ms - self.created_ms

    def maybe_expire(
        self, request_timeout_ms: int, retry_backoff_ms: int, now_ms: int, linger_ms: int, is_full: bool
    ) -> bool:
        """Before KIP-91. What is exactly as old as it may be has not expired."""
        for since_ms, since in self._expires_since(retry_backoff_ms, linger_ms, is_full):
            if request_timeout_ms < now_ms - since_ms:
                self._expiry = now_ms - since_ms, since
                self.abort_record_appends()
                return True
        return False

    def expires_ms(self, request_timeout_ms: int, retry_backoff_ms: int, linger_ms: int, is_full: bool) -> int:
        """Return the first moment at which `maybe_expire` says so."""
        began = self._expires_since(retry_backoff_ms, linger_ms, is_full)
        return min(since_ms for since_ms, _ in began) + request_timeout_ms + 1

    def _expires_since(self, retry_backoff_ms: int, linger_ms: int, is_full: bool) -> list[tuple[int, str]]:
        """Return from when on its waiting counts, and the words for it; the first that is over tells why it expired."""
        if self.in_retry:
            return [(self._last_attempt_ms + retry_backoff_ms, "last attempt plus backoff time")]
        since_creation = (self.created_ms + linger_ms, "batch creation plus linger time")
        return [(self._last_append_ms, "last append"), since_creation] if is_full else [since_creation]

    def expiry_error(self) -> ProducerTimeoutError:
        """What its records are told after `maybe_expire`. Raises IllegalProducerStateError if that said no."""
        if self._expiry is None:
            raise IllegalProducerStateError("Batch has not expired")
        return ProducerTimeoutError(words.expired_2_0(self.record_count, self.partition, *self._expiry))

    @property
    def expired_since(self) -> str:
        """From what it was reckoned that it has waited too long."""
        return "batch creation" if self._expiry is None else self._expiry[1]

    def abort(self, error: ProducerError) -> None:
        """End it without an answer, as its producer ends."""
        assert self.final_state is None, f"the batch has {self.final_state} already"
        self.final_state = FinalState.ABORTED
        self._fire_callbacks(-1, lambda at: error)

    def complete(self, base_offset: int) -> bool:
        """Written. False if it had ended before."""
        return self._end(FinalState.SUCCEEDED, base_offset, None)

    def complete_exceptionally(self, error_of: Callable[[int], ProducerError]) -> bool:
        """Not written, or nobody knows; each record has its error, by its place. False if it had ended before."""
        return self._end(FinalState.FAILED, -1, error_of)

    def split(self, split_batch_size: int, closes_last: bool) -> deque[ProducerBatch]:
        """Its records in batches of at most so many bytes, or of one record; it is over without callbacks. Their
        creation is its own. With `closes_last` nothing can be added to any of them (4.3)."""
        batches: deque[ProducerBatch] = deque()
        batch: ProducerBatch | None = None
        self._builder.build()
        for record, callback in zip(self._builder.records, self._callbacks, strict=True):
            assert record.timestamp_ms is not None
            if batch is None or not batch._append_split(
                record.timestamp_ms, record.key, record.value, record.headers, callback
            ):
                if batch is not None and closes_last:
                    batch.close_for_record_appends()
                limit = max(estimate_size_upper_bound(record.key, record.value, record.headers), split_batch_size)
                builder = new_builder(limit, self._builder.compression, self.partition.topic)
                batch = ProducerBatch(self.partition, builder, self.created_ms, True)
                batch._append_split(record.timestamp_ms, record.key, record.value, record.headers, callback)
                batches.append(batch)
        if batch is not None and closes_last:
            batch.close_for_record_appends()
        if self.has_sequence:
            sequence = self.base_sequence
            for batch in batches:
                batch.set_producer_state(self.producer_id, self.producer_epoch, sequence, self.is_transactional)
                sequence += batch.record_count
        self.pieces = tuple(batches)
        return batches

    def is_flushed(self, with_pieces: bool) -> bool:
        """Whether a flush need not wait for it any more; `with_pieces`: nor for those into which it was split."""
        if not self.pieces:
            return self.is_done
        return not with_pieces or all(piece.is_flushed(True) for piece in self.pieces)

    def _append_split(
        self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers, callback: Callback | None
    ) -> bool:
        if not self._builder.has_room_for(timestamp_ms, key, value, headers):
            return False
        self._append(timestamp_ms, key, value, headers, callback)
        return True

    def _append(
        self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers, callback: Callback | None
    ) -> None:
        self._builder.append(timestamp_ms, key, value, headers)
        self.max_record_size = max(self.max_record_size, estimate_size_upper_bound(key, value, headers))
        self._callbacks.append(callback)

    def _end(self, state: FinalState, base_offset: int, error_of: Callable[[int], ProducerError] | None) -> bool:
        if self.final_state is None:
            self.final_state = state
            self._fire_callbacks(base_offset, error_of)
            return True
        assert self.final_state is not FinalState.SUCCEEDED, f"the batch has succeeded and is to have {state.value}"
        return False

    def _fire_callbacks(self, base_offset: int, error_of: Callable[[int], ProducerError] | None) -> None:
        for at, callback in enumerate(self._callbacks):
            if callback is not None:
                if error_of is None:
                    offset = -1 if base_offset == -1 else base_offset + at
                    callback(tuple.__new__(RecordMetadata, (self.partition, offset)), None)
                else:
                    callback(None, error_of(at))


def new_builder(write_limit: int, compression: BatchCompression | None, topic: str) -> RecordBatchBuilder:
    """For a batch of the topic, of which the same compression is expected as of those before it."""
    ratio = 1.0 if compression is None else compression.estimator.estimation(topic)
    return RecordBatchBuilder(write_limit, compression, ratio)
