"""The state of a partition in a producer of 4.3."""

from __future__ import annotations

import pytest

from fakebroker.producer.errors import IllegalProducerStateError
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.record_batch_builder import NO_SEQUENCE, RecordBatchBuilder
from fakebroker.producer.transactions.producer_id_and_epoch import ProducerIdAndEpoch
from fakebroker.producer.transactions.txn_partition_entry import TxnPartitionEntry, TxnPartitionMap
from fakebroker.protocol.topic_partition import TopicPartition

PARTITION = TopicPartition("t", 0)


def batch_of(sequence: int, records: int, epoch: int = 0) -> ProducerBatch:
    batch = ProducerBatch(PARTITION, RecordBatchBuilder(10_000), 0)
    for at in range(records):
        batch.try_append(0, None, b"%d" % at, (), None, 0)
    batch.set_producer_state(7, epoch, sequence, False)
    return batch


def entry_of(*batches: ProducerBatch) -> TxnPartitionEntry:
    entry = TxnPartitionEntry(PARTITION)
    for batch in batches:
        entry.increment_sequence(batch.record_count)
        entry.add_in_flight_batch(batch)
    return entry


def sequences(*batches: ProducerBatch) -> list[int]:
    return [batch.base_sequence for batch in batches]


def test_the_first_in_flight_is_that_of_the_lowest_sequence() -> None:
    second, first = batch_of(2, 3), batch_of(0, 2)
    entry = entry_of(second, first)
    assert entry.first_in_flight_sequence() == 0
    entry.remove_in_flight_batch(first)
    assert entry.first_in_flight_sequence() == 2
    entry.remove_in_flight_batch(second)
    assert entry.first_in_flight_sequence() == NO_SEQUENCE
    assert not entry.has_in_flight_batches()


def test_an_older_epoch_comes_before() -> None:
    entry = entry_of(batch_of(0, 1, epoch=1), batch_of(5, 1, epoch=0))
    assert entry.first_in_flight_sequence() == 5


def test_the_first_of_two_batches_with_one_sequence_is_kept_and_either_removes_it() -> None:
    kept, other = batch_of(0, 1), batch_of(0, 1)
    entry = entry_of(kept, other)
    entry.remove_in_flight_batch(other)
    assert not entry.has_in_flight_batches()


def test_a_new_epoch_begins_with_what_is_in_flight() -> None:
    first, second = batch_of(4, 2), batch_of(6, 3)
    entry = entry_of(first, second)
    entry.maybe_update_last_acked_sequence(3)
    entry.start_sequences_at_beginning(ProducerIdAndEpoch(7, 1))
    assert sequences(first, second) == [0, 2]
    assert (second.producer_id, second.producer_epoch) == (7, 1)
    assert first.sequence_has_been_reset
    assert (entry.next_sequence, entry.last_acked_sequence) == (5, -1)
    assert entry.producer_id_and_epoch == (7, 1)


def test_what_follows_a_batch_that_failed_moves_up() -> None:
    before, same, after = batch_of(0, 2), batch_of(5, 1), batch_of(6, 1)
    entry = entry_of(before, batch_of(2, 3), same, after)
    entry.remove_in_flight_batch(batch_of(2, 3))
    entry.adjust_sequences_due_to_failed_batch(2, 3)
    assert sequences(before, same, after) == [0, 2, 3]
    assert entry.next_sequence == 4
    assert not before.sequence_has_been_reset


def test_what_has_the_sequence_of_the_failed_one_moves_up_too() -> None:
    other = batch_of(3, 1)
    entry = entry_of(batch_of(0, 3), other)
    entry.adjust_sequences_due_to_failed_batch(3, 1)
    assert sequences(other) == [2]


def test_no_sequence_is_below_zero() -> None:
    entry = entry_of(batch_of(0, 1))
    entry.adjust_sequences_due_to_failed_batch(5, 1)
    assert entry.next_sequence == 0
    with pytest.raises(IllegalProducerStateError, match="t-0 would be -1"):
        entry.adjust_sequences_due_to_failed_batch(5, 1)


def test_after_the_last_sequence_zero_comes_again() -> None:
    entry = TxnPartitionEntry(PARTITION)
    entry.increment_sequence(2**31 - 1)
    assert entry.next_sequence == 2**31 - 1
    entry.increment_sequence(2)
    assert entry.next_sequence == 1


def test_what_was_acknowledged_last_only_grows() -> None:
    entry = TxnPartitionEntry(PARTITION)
    for value in (5, 3):
        entry.maybe_update_last_acked_sequence(value)
        entry.maybe_update_last_acked_offset(value * 10)
    assert (entry.last_acked_sequence, entry.last_acked_offset) == (5, 50)


def test_entries_are_made_where_something_is_sent() -> None:
    entries = TxnPartitionMap()
    assert entries.find(PARTITION) is None
    with pytest.raises(IllegalProducerStateError, match="Nothing was sent to t-0"):
        entries.get(PARTITION)
    made = entries.get_or_create(PARTITION)
    assert entries.get(PARTITION) is made is entries.get_or_create(PARTITION)
    entries.remove(PARTITION)
    entries.remove(PARTITION)
    assert entries.find(PARTITION) is None
    entries.get_or_create(PARTITION)
    entries.reset()
    assert entries.find(PARTITION) is None
