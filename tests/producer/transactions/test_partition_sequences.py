"""The state of a partition in a producer of 2.0."""

from __future__ import annotations

import pytest

from fakebroker.producer.errors import IllegalProducerStateError, NothingInFlightError
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.record_batch_builder import NO_SEQUENCE, RecordBatchBuilder
from fakebroker.producer.transactions.partition_sequences import PartitionSequences
from fakebroker.protocol.topic_partition import TopicPartition

PARTITION = TopicPartition("t", 0)


def batch_of(sequence: int, records: int) -> ProducerBatch:
    batch = ProducerBatch(PARTITION, RecordBatchBuilder(10_000), 0)
    for at in range(records):
        batch.try_append(0, None, b"%d" % at, (), None, 0)
    batch.set_producer_state(7, 0, sequence, False)
    return batch


def known(*batches: ProducerBatch) -> PartitionSequences:
    sequences = PartitionSequences()
    for batch in batches:
        sequences.next_sequence(PARTITION)
        sequences.increment(PARTITION, batch.record_count)
        sequences.add_in_flight(batch)
    return sequences


def test_the_first_in_flight_is_that_of_the_lowest_sequence() -> None:
    second, first = batch_of(2, 3), batch_of(0, 2)
    sequences = known(second, first)
    assert sequences.first_in_flight_sequence(PARTITION) == 0
    sequences.remove_in_flight(first)
    assert sequences.first_in_flight_sequence(PARTITION) == 2
    sequences.remove_in_flight(second)
    assert sequences.first_in_flight_sequence(PARTITION) == NO_SEQUENCE
    assert not sequences.has_in_flight(PARTITION)


def test_what_follows_a_batch_that_failed_moves_up() -> None:
    before, same, after = batch_of(0, 2), batch_of(5, 1), batch_of(6, 1)
    sequences = known(before, batch_of(2, 3), same, after)
    sequences.adjust_due_to_failed_batch(batch_of(5, 1))
    assert [batch.base_sequence for batch in (before, same, after)] == [0, 4, 5]
    assert sequences.next_sequence(PARTITION) == 6


def test_no_sequence_is_below_zero() -> None:
    sequences = known(batch_of(0, 1))
    sequences.adjust_due_to_failed_batch(batch_of(3, 1))
    assert sequences.next_sequence(PARTITION) == 0
    with pytest.raises(IllegalProducerStateError, match="would be -1"):
        sequences.adjust_due_to_failed_batch(batch_of(3, 1))


def test_a_partition_that_was_forgotten_is_not_adjusted() -> None:
    sequences = known(batch_of(0, 1))
    sequences.clear()
    sequences.adjust_due_to_failed_batch(batch_of(0, 5))
    assert sequences.next_sequence(PARTITION) == 0
    with pytest.raises(NothingInFlightError):
        sequences.start_at_beginning(PARTITION)


def test_all_that_is_in_flight_begins_with_zero() -> None:
    first, second = batch_of(4, 2), batch_of(6, 3)
    sequences = known(first, second)
    sequences.maybe_update_last_acked(PARTITION, 3)
    sequences.start_at_beginning(PARTITION)
    assert [first.base_sequence, second.base_sequence] == [0, 2]
    assert sequences.next_sequence(PARTITION) == 5
    assert sequences.is_next(PARTITION, 0)


def test_the_next_follows_what_was_acknowledged_last() -> None:
    sequences = known(batch_of(0, 3))
    for last in (2, 1):  # it only grows
        sequences.maybe_update_last_acked(PARTITION, last)
    assert [sequences.is_next(PARTITION, sequence) for sequence in (2, 3, 4)] == [False, True, False]


def test_the_last_offset_only_grows() -> None:
    sequences = PartitionSequences()
    assert sequences.last_acked_offset(PARTITION) == -1
    for offset in (5, 3):
        sequences.maybe_update_last_acked_offset(PARTITION, offset)
    assert sequences.last_acked_offset(PARTITION) == 5
