"""The sequences of a producer of 4.3, without a manager (producer/transactions/partition_sequences_4_3.py)."""

from __future__ import annotations

import pytest

from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.record_batch_builder import RecordBatchBuilder
from fakebroker.producer.sending.response_errors import BrokerError, PartitionResponse
from fakebroker.producer.transactions.partition_sequences_4_3 import PartitionSequences43
from fakebroker.producer.transactions.producer_id_and_epoch import ProducerIdAndEpoch
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

PARTITION, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
PRODUCER, NEXT_EPOCH = ProducerIdAndEpoch(7, 0), ProducerIdAndEpoch(7, 1)
OUT_OF_ORDER, UNKNOWN_ID = ErrorCode.out_of_order_sequence_number, ErrorCode.unknown_producer_id


def sequences_of(transactional_id: str = "") -> PartitionSequences43:
    settings = {"transactional.id": transactional_id} if transactional_id else {}
    return PartitionSequences43(ProducerConfig("4.3", settings))


def sent(sequences: PartitionSequences43, partition: TopicPartition = PARTITION, records: int = 2) -> ProducerBatch:
    batch = ProducerBatch(partition, RecordBatchBuilder(10_000), 0)
    for at in range(records):
        batch.try_append(0, None, b"%d" % at, (), None, 0)
    sequences.maybe_update_producer(partition, PRODUCER)
    sequences.assign(batch, PRODUCER)
    batch.close()
    return batch


def written(batch: ProducerBatch, offset: int = 10) -> PartitionResponse:
    return PartitionResponse(batch.partition, 0, offset)


def test_only_the_requested_partitions_restart_with_the_next_epoch() -> None:
    sequences = sequences_of()
    one, other = sent(sequences), sent(sequences, OTHER)
    sequences.on_completed_batch(one, written(one))
    again = sent(sequences)
    assert not sequences.has_to_rewrite()
    sequences.mark_unresolved(again)
    sequences.request_rewrite(PARTITION)
    assert sequences.has_to_rewrite()
    sequences.rewrite(NEXT_EPOCH)
    assert not sequences.has_to_rewrite()
    assert not sequences.has_unresolved()
    assert (again.producer_epoch, again.base_sequence) == (1, 0)
    assert (other.producer_epoch, other.base_sequence) == (0, 0)
    assert not sequences.is_new_batch_held(PARTITION, NEXT_EPOCH)
    assert sequences.is_new_batch_held(OTHER, NEXT_EPOCH)


@pytest.mark.parametrize("is_first_written", [False, True])
def test_an_unresolved_partition_is_complete_if_everything_assigned_is_acknowledged(is_first_written: bool) -> None:
    sequences = sequences_of()
    first, second = sent(sequences), sent(sequences)
    sequences.mark_unresolved(first)
    assert sequences.unresolved() == [PARTITION]
    assert sequences.is_new_batch_held(PARTITION, PRODUCER)
    sequences.remove_in_flight_batch(first)
    if is_first_written:
        sequences.on_completed_batch(second, written(second))
    else:
        sequences.remove_in_flight_batch(second)
    assert not sequences.has_in_flight_batches(PARTITION)
    assert sequences.is_all_acked(PARTITION) == is_first_written
    sequences.resolve(PARTITION)
    assert not sequences.is_unresolved(PARTITION)


def test_a_failed_batch_of_a_transaction_gives_its_sequences_back() -> None:
    sequences = sequences_of("tx")
    first, second = sent(sequences), sent(sequences, records=3)
    sequences.remove_in_flight_batch(first)
    sequences.on_failed_batch(first, BrokerError(ErrorCode.message_too_large), adjusts_sequences=True)
    assert second.base_sequence == 0
    assert sent(sequences).base_sequence == 3
    assert not sequences.has_to_rewrite()


@pytest.mark.parametrize("code", [OUT_OF_ORDER, UNKNOWN_ID])
@pytest.mark.parametrize("transactional_id", ["", "tx"])
def test_only_an_idempotent_producer_restarts_after_a_gap(transactional_id: str, code: ErrorCode) -> None:
    sequences = sequences_of(transactional_id)
    first = sent(sequences)
    sequences.on_completed_batch(first, written(first))
    second = sent(sequences)
    answer = PartitionResponse(PARTITION, code, -1, (), 11)  # nothing was deleted
    is_idempotent = not transactional_id
    assert sequences.can_retry(answer, second, PRODUCER) == is_idempotent
    assert sequences.has_to_rewrite() == is_idempotent


def test_a_reset_forgets_the_partitions() -> None:
    sequences = sequences_of("tx")
    sequences.mark_unresolved(sent(sequences))
    sequences.reset()
    assert not sequences.has_unresolved()
    assert sent(sequences).base_sequence == 0
