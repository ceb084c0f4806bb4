"""A batch: records of one partition that travel together, from the first append to the callbacks.

Theory   A batch ends once: it succeeds, fails, or is aborted. Later results are ignored, such as the response to an
         expired batch. Only a second success is a bug. When a failed batch is queued again, its waiting time restarts.
         Expiry: `maybe_expire` (2.0) has three limits for a batch in the queue. `has_reached_delivery_timeout` (KIP-91)
         has one, from its creation.
Units    milliseconds.
Source   clients/.../producer/internals/ProducerBatch.java of 2.0 and 4.3.
Differs  Callbacks must not raise: client/record_sends.py guards the callbacks of a user.
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
    """The partition and offset of a record; the offset is -1 if it is not known."""

    partition: TopicPartition
    offset: int


Callback = Callable[[RecordMetadata | None, ProducerError | None], None]


class ProducerBatch:
    """A batch. `attempts` counts failed attempts. `is_inflight`: it is in a request without a response.
    `max_record_size`: bytes of a batch with its largest record alone. `sequence_has_been_reset`: it differs from the
    last one sent."""

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
        self.pieces: tuple[ProducerBatch, ...] = ()  # of a batch that was split
        self.journal_number = 0  # the probe's data: number of the batch; producer id, epoch and sequence
        self.journal_identity: tuple[int, int, int] | None = None
        self._builder = builder
        self._callbacks: list[Callback | None] = []
        self._last_attempt_ms = created_ms
        self._last_append_ms = created_ms
        self._leader_epoch = NO_EPOCH
        self._attempts_when_leader_last_changed = 0
        self._expiry: tuple[int, str] | None = None  # waiting time and its start, once it has expired

    @property
    def record_count(self) -> int:
        return self._builder.num_records

    @property
    def initial_capacity(self) -> int:
        """Return the bytes taken from the pool for it."""
        return self._builder.write_limit

    @property
    def base_sequence(self) -> int:
        return self._builder.base_sequence

    @property
    def last_sequence(self) -> int:
        """Return the sequence of its last record."""
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
        """True if its bytes are built: it was drained once."""
        return self._builder.is_closed

    @property
    def compression_ratio(self) -> float:
        """Return the actual ratio; 1 until its bytes are built."""
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
        """Append a record. Return False if there is no room."""
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
        """Build its bytes, as it is about to be sent."""
        self._builder.build()
        compression = self._builder.compression
        if compression is not None:
            compression.estimator.update_estimation(self.partition.topic, self._builder.compression_ratio)
        self.sequence_has_been_reset = False

    def set_producer_state(
        self, producer_id: int, producer_epoch: int, base_sequence: int, is_transactional: bool
    ) -> None:
        """Set producer id, epoch and sequence before it is first sent."""
        self._builder.set_producer_state(producer_id, producer_epoch, base_sequence, is_transactional)

    def reset_producer_state(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        """Replace producer id, epoch and sequence of a batch that was already sent."""
        self.sequence_has_been_reset = True
        self._builder.reopen_and_rewrite_producer_state(
            producer_id, producer_epoch, base_sequence, self._builder.is_transactional
        )

    def records(self) -> bytes:
        return self._builder.build()

    def waited_time_ms(self, now_ms: int) -> int:
        """Return the time since it was created or last failed."""
        return max(0, now_ms - self._last_attempt_ms)

    def drained(self, now_ms: int) -> None:
        self.drained_ms = max(self.drained_ms, now_ms)

    def reenqueued(self, now_ms: int) -> None:
        """Record a failed attempt: the batch is queued again."""
        self.attempts += 1
        self._last_attempt_ms = max(self._last_append_ms, now_ms)
        self._last_append_ms = max(self._last_append_ms, now_ms)
        self.in_retry = True

    def maybe_update_leader_epoch(self, leader_epoch: int) -> None:
        """Take the leader epoch from the metadata (NO_EPOCH if unknown)."""
        if leader_epoch > self._leader_epoch:
            self._attempts_when_leader_last_changed = self.attempts
            self._leader_epoch = leader_epoch

    def has_leader_changed_for_the_ongoing_retry(self) -> bool:
        """Return True if the leader has changed: then the retry has no back-off (KIP-951)."""
        return self.attempts >= 1 and self.attempts == self._attempts_when_leader_last_changed

    def has_reached_delivery_timeout(self, delivery_timeout_ms: int, now_ms: int) -> bool:
        """Return True if it is at least `delivery_timeout_ms` old (KIP-91). The age counts from its creation."""
        return delivery_timeout_ms <= now_ms - self.created_ms

    def maybe_expire(
        self, request_timeout_ms: int, retry_backoff_ms: int, now_ms: int, linger_ms: int, is_full: bool
    ) -> bool:
        """Expire by the rules before KIP-91, if it is over its limit. A batch exactly at the limit has not expired."""
        for since_ms, since in self._expires_since(retry_backoff_ms, linger_ms, is_full):
            if request_timeout_ms < now_ms - since_ms:
                self._expiry = now_ms - since_ms, since
                self.abort_record_appends()
                return True
        return False

    def expires_ms(self, request_timeout_ms: int, retry_backoff_ms: int, linger_ms: int, is_full: bool) -> int:
        """Return the first moment at which `maybe_expire` returns True."""
        began = self._expires_since(retry_backoff_ms, linger_ms, is_full)
        return min(since_ms for since_ms, _ in began) + request_timeout_ms + 1

    def _expires_since(self, retry_backoff_ms: int, linger_ms: int, is_full: bool) -> list[tuple[int, str]]:
        """Return the starts of its waiting times, with Kafka's words. The first that is over the limit goes into the
        message."""
        if self.in_retry:
            return [(self._last_attempt_ms + retry_backoff_ms, "last attempt plus backoff time")]
        since_creation = (self.created_ms + linger_ms, "batch creation plus linger time")
        return [(self._last_append_ms, "last append"), since_creation] if is_full else [since_creation]

    def expiry_error(self) -> ProducerTimeoutError:
        """Return the error of its records after `maybe_expire`. Raises IllegalProducerStateError if it has not
        expired."""
        if self._expiry is None:
            raise IllegalProducerStateError("Batch has not expired")
        return ProducerTimeoutError(words.expired_2_0(self.record_count, self.partition, *self._expiry))

    @property
    def expired_since(self) -> str:
        """Return Kafka's words for the start of the waiting time by which it expired."""
        return "batch creation" if self._expiry is None else self._expiry[1]

    def abort(self, error: ProducerError) -> None:
        """End it without a response: its transaction is aborted, or its producer fails or closes."""
        assert self.final_state is None, f"the batch has {self.final_state} already"
        self.final_state = FinalState.ABORTED
        self._fire_callbacks(-1, lambda at: error)

    def complete(self, base_offset: int) -> bool:
        """End it as written. Return False if it had ended before."""
        return self._end(FinalState.SUCCEEDED, base_offset, None)

    def complete_exceptionally(self, error_of: Callable[[int], ProducerError]) -> bool:
        """End it as failed or in doubt; `error_of` takes a record's place. Return False if it had ended before."""
        return self._end(FinalState.FAILED, -1, error_of)

    def split(self, split_batch_size: int, closes_last: bool) -> deque[ProducerBatch]:
        """Return its records in new batches of at most `split_batch_size` bytes, or of one record, with the same
        creation time. This batch ends without callbacks. With `closes_last` no record can be appended to any piece
        (4.3)."""
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
        """Return True if a flush need not wait for it; `with_pieces`: nor for its pieces."""
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
    """Return a builder for the topic. Its estimate is the ratio of the topic's earlier batches."""
    ratio = 1.0 if compression is None else compression.estimator.estimation(topic)
    return RecordBatchBuilder(write_limit, compression, ratio)
