"""Batches: their expiry, to the millisecond, and that they end once."""

from __future__ import annotations

import pytest

from fakebroker.producer.errors import (
    IllegalProducerStateError,
    ProducerClosedError,
    ProducerError,
    ProducerTimeoutError,
)
from fakebroker.producer.producer_batch import FinalState, ProducerBatch, RecordMetadata
from fakebroker.producer.record_batch_builder import RecordBatchBuilder
from fakebroker.protocol.record_batch import decode_records
from fakebroker.protocol.topic_partition import TopicPartition

PARTITION = TopicPartition("kafkatest", 3)
CREATED_MS = 1_000
TIMEOUT_MS, BACKOFF_MS, LINGER_MS = 30, 7, 5

Told = list[tuple[RecordMetadata | None, ProducerError | None]]


def batch(records: int = 1, limit: int = 500) -> tuple[ProducerBatch, Told]:
    made = ProducerBatch(PARTITION, RecordBatchBuilder(limit), CREATED_MS)
    outcomes: Told = []
    for at in range(records):
        callback = lambda metadata, error: outcomes.append((metadata, error))  # noqa: E731
        assert made.try_append(at, b"key", b"value", (), callback, CREATED_MS + at)
    return made, outcomes


def expires(made: ProducerBatch, after_ms: int, is_full: bool) -> bool:
    return made.maybe_expire(TIMEOUT_MS, BACKOFF_MS, CREATED_MS + after_ms, LINGER_MS, is_full)


@pytest.mark.parametrize(
    ("is_full", "last_ms", "reason"),
    [
        (True, 2 + TIMEOUT_MS, "31 ms has passed since last append"),
        (False, LINGER_MS + TIMEOUT_MS, "31 ms has passed since batch creation plus linger time"),
    ],
)
def test_a_batch_that_was_not_tried_expires_a_millisecond_later_than_it_may_wait(
    is_full: bool, last_ms: int, reason: str
) -> None:
    made, _ = batch(3)
    assert not expires(made, last_ms, is_full)
    with pytest.raises(IllegalProducerStateError, match=r"^Batch has not expired$"):
        made.expiry_error()
    expires_ms = made.expires_ms(TIMEOUT_MS, BACKOFF_MS, LINGER_MS, is_full)
    assert expires_ms == CREATED_MS + last_ms + 1
    assert expires(made, last_ms + 1, is_full)
    assert str(made.expiry_error()) == f"Expiring 3 record(s) for kafkatest-3: {reason}"
    assert isinstance(made.expiry_error(), ProducerTimeoutError)
    assert made.is_full(), "nothing can be added"


@pytest.mark.parametrize("is_full", [True, False])
def test_a_batch_in_retry_is_measured_from_its_last_attempt(is_full: bool) -> None:
    made, _ = batch()
    made.reenqueued(CREATED_MS + 500)
    assert not expires(made, 500 + BACKOFF_MS + TIMEOUT_MS, is_full)
    assert made.expires_ms(TIMEOUT_MS, BACKOFF_MS, LINGER_MS, is_full) == CREATED_MS + 500 + BACKOFF_MS + TIMEOUT_MS + 1
    assert expires(made, 500 + BACKOFF_MS + TIMEOUT_MS + 1, is_full)
    assert "31 ms has passed since last attempt plus backoff time" in str(made.expiry_error())


def test_a_batch_that_was_not_tried_is_not_measured_as_a_retry() -> None:
    """The linger is longer than the back-off here, so a retry would expire sooner."""
    made, _ = batch()
    assert not made.maybe_expire(TIMEOUT_MS, 5, CREATED_MS + 50, 20, False)
    assert made.maybe_expire(TIMEOUT_MS, 5, CREATED_MS + 51, 20, False)


def test_it_says_from_what_its_time_was_reckoned() -> None:
    made, _ = batch()
    assert made.expired_since == "batch creation"
    assert expires(made, LINGER_MS + TIMEOUT_MS + 1, False)
    assert made.expired_since == "batch creation plus linger time"


def test_a_full_batch_expires_by_its_creation_too() -> None:
    """Each append extends the expiry of a batch by its last append only."""
    made, _ = batch()
    assert made.try_append(0, None, None, (), None, CREATED_MS + 35)
    assert not expires(made, 35, True)
    assert expires(made, 36, True)
    assert "31 ms has passed since batch creation" in str(made.expiry_error())


def test_since_kip_91_it_expires_at_its_millisecond_whatever_happened() -> None:
    made, _ = batch()
    made.reenqueued(CREATED_MS + 99)
    assert not made.has_reached_delivery_timeout(120, CREATED_MS + 119)
    assert made.has_reached_delivery_timeout(120, CREATED_MS + 120)


def test_every_record_hears_its_offset() -> None:
    made, outcomes = batch(3)
    assert made.complete(40)
    assert [metadata for metadata, _ in outcomes] == [RecordMetadata(PARTITION, offset) for offset in (40, 41, 42)]
    assert made.final_state is FinalState.SUCCEEDED


def test_an_unknown_offset_is_unknown_for_all() -> None:
    made, outcomes = batch(2)
    made.complete(-1)
    assert outcomes == [(RecordMetadata(PARTITION, -1), None)] * 2


def test_it_ends_once() -> None:
    made, outcomes = batch(2)
    error = ProducerClosedError("gone")
    made.abort(error)
    assert not made.complete(40), "the answer comes too late"
    assert not made.complete_exceptionally(lambda at: ProducerTimeoutError("late"))
    assert outcomes == [(None, error)] * 2
    with pytest.raises(AssertionError):
        made.abort(error)


def test_a_success_after_a_success_is_a_bug() -> None:
    made, _ = batch()
    made.complete(1)
    with pytest.raises(AssertionError):
        made.complete(2)


def test_after_the_leader_changed_a_retry_need_not_wait() -> None:
    made, _ = batch()
    made.maybe_update_leader_epoch(4)
    assert not made.has_leader_changed_for_the_ongoing_retry(), "it is no retry"
    made.reenqueued(CREATED_MS)
    made.maybe_update_leader_epoch(4)
    assert not made.has_leader_changed_for_the_ongoing_retry()
    made.maybe_update_leader_epoch(5)
    assert made.has_leader_changed_for_the_ongoing_retry()
    made.reenqueued(CREATED_MS)
    assert not made.has_leader_changed_for_the_ongoing_retry(), "that was the retry before"


@pytest.mark.parametrize("closes_last", [True, False])
def test_a_split_keeps_records_callbacks_age_and_sequences(closes_last: bool) -> None:
    made, outcomes = batch(5)
    made._builder.set_producer_state(9, 1, 100, False)
    records = decode_records(made.records())
    pieces = made.split(61 + 2 * 15, closes_last)
    assert [piece.record_count for piece in pieces] == [2, 2, 1]
    assert [record.key for piece in pieces for record in decode_records(piece.records())] == [
        record.key for record in records
    ]
    assert [piece.base_sequence for piece in pieces] == [100, 102, 104]
    assert all(piece.created_ms == CREATED_MS and piece.is_split_batch for piece in pieces)
    assert outcomes == [], "a callback was called"
    for at, piece in enumerate(pieces):
        piece.complete(10 * at)
    assert [metadata.offset for metadata, _ in outcomes if metadata is not None] == [0, 1, 10, 11, 20]


def test_pieces_may_grow_in_2_0_only() -> None:
    made, _ = batch(1)
    assert not made.split(1_000, closes_last=False)[0].is_full()
    made, _ = batch(1)
    assert made.split(1_000, closes_last=True)[0].is_full()
