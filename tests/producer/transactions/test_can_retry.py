"""The decision of a transaction manager about a refused batch: retry it, change it, or fail it."""

from __future__ import annotations

import pytest

from fakebroker.producer.errors import ProducerTimeoutError
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.record_batch_builder import RecordBatchBuilder
from fakebroker.producer.sending.response_errors import BrokerError, PartitionResponse
from fakebroker.producer.transactions.api_versions import ApiVersions
from fakebroker.producer.transactions.producer_id_and_epoch import ProducerIdAndEpoch
from fakebroker.producer.transactions.transaction_manager_2_0 import TransactionManager20
from fakebroker.producer.transactions.transaction_manager_4_3 import TransactionManager43
from fakebroker.producer.transactions.txn_state import State
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

PARTITION = TopicPartition("t", 0)
OUT_OF_ORDER, UNKNOWN_ID = ErrorCode.out_of_order_sequence_number, ErrorCode.unknown_producer_id

Manager = TransactionManager20 | TransactionManager43
both = pytest.mark.parametrize("generation", ["2.0", "4.3"])


def manager_of(generation: str, **settings: str) -> Manager:
    given = {"enable.idempotence": "true"} | {name.replace("_", "."): value for name, value in settings.items()}
    config = ProducerConfig(generation, given)
    manager: Manager = (
        TransactionManager20(config) if generation == "2.0" else TransactionManager43(config, ApiVersions())
    )
    manager.producer_id_and_epoch = ProducerIdAndEpoch(7, 0)
    return manager


def sent(manager: Manager, records: int = 2) -> ProducerBatch:
    batch = ProducerBatch(PARTITION, RecordBatchBuilder(10_000), 0)
    for at in range(records):
        batch.try_append(0, None, b"%d" % at, (), None, 0)
    manager.assign_sequence(batch)
    batch.close()
    return batch


def refused(code: int, log_start_offset: int = 0) -> PartitionResponse:
    return PartitionResponse(PARTITION, code, -1, (), log_start_offset)


def written(manager: Manager, batch: ProducerBatch, offset: int = 10) -> None:
    manager.handle_completed_batch(batch, PartitionResponse(PARTITION, 0, offset))


@both
def test_out_of_order_behind_another_is_tried_again(generation: str) -> None:
    manager = manager_of(generation)
    sent(manager)
    assert manager.can_retry(refused(OUT_OF_ORDER), sent(manager))


def test_out_of_order_as_the_next_is_a_loss() -> None:
    """2.0 gives up; 4.3 takes the next epoch and tries again."""
    for generation in ("2.0", "4.3"):
        manager = manager_of(generation)
        first = sent(manager)
        assert manager.can_retry(refused(OUT_OF_ORDER), first) == (generation == "4.3")
        if isinstance(manager, TransactionManager43):
            assert manager.client_side_epoch_bump_required
            manager.bump_idempotent_epoch_and_reset_id_if_needed()
            assert (first.producer_epoch, first.base_sequence) == (1, 0)


@both
def test_out_of_order_of_one_that_has_another_sequence_by_now_is_tried_again(generation: str) -> None:
    manager = manager_of(generation)
    batch = sent(manager)
    batch.reset_producer_state(7, 0, 0)
    assert manager.can_retry(refused(OUT_OF_ORDER), batch)
    assert not isinstance(manager, TransactionManager43) or not manager.client_side_epoch_bump_required


@pytest.mark.parametrize(("expired", "bumps"), [(0, True), (1, False)])
def test_behind_an_expired_batch_the_next_one_tells_what_is_missing(expired: int, bumps: bool) -> None:
    """The first batch behind a gap bumps the epoch in 4.3; others wait for it. 2.0 fails them."""
    new, old = manager_of("4.3"), manager_of("2.0")
    for manager in (new, old):
        batches = [sent(manager) for _ in range(3)]
        manager.mark_sequence_unresolved(batches[expired])
        manager.remove_in_flight_batch(batches[expired])
        following = batches[1] if expired == 0 else batches[0]
        assert manager.can_retry(refused(OUT_OF_ORDER), following) == (manager is new)
    assert isinstance(new, TransactionManager43)
    assert new.client_side_epoch_bump_required == bumps


def test_the_last_of_two_expired_batches_decides_the_epoch_bump() -> None:
    manager = manager_of("4.3")
    first, second, third = (sent(manager) for _ in range(3))
    manager.mark_sequence_unresolved(second)
    manager.mark_sequence_unresolved(first)
    assert isinstance(manager, TransactionManager43)
    manager.can_retry(refused(OUT_OF_ORDER), second)
    assert not manager.client_side_epoch_bump_required
    manager.can_retry(refused(OUT_OF_ORDER), third)
    assert manager.client_side_epoch_bump_required


@both
@pytest.mark.parametrize(
    ("log_start", "is_reset", "starts_anew"), [(-1, False, False), (0, True, False), (12, False, True)]
)
def test_an_unknown_producer_id(generation: str, log_start: int, is_reset: bool, starts_anew: bool) -> None:
    """Cases: the log start offset is unknown; the sequence is another one; the written records are deleted (10, 11)."""
    manager = manager_of(generation)
    written(manager, sent(manager))
    batch = sent(manager)
    if is_reset:
        batch.reset_producer_state(7, 0, 2)
    assert manager.can_retry(refused(UNKNOWN_ID, log_start), batch)
    if isinstance(manager, TransactionManager43):
        assert manager.client_side_epoch_bump_required == starts_anew
    else:
        assert batch.base_sequence == (0 if starts_anew else 2)


def test_an_unknown_producer_id_whose_batch_is_still_there() -> None:
    """The last offset, 11, is the log start offset: nothing was deleted, so it is a loss."""
    old, new = manager_of("2.0"), manager_of("4.3", transactional_id="tx")
    for manager in (old, new):
        written(manager, sent(manager))
        assert not manager.can_retry(refused(UNKNOWN_ID, 11), sent(manager))


def test_a_transactional_producer_of_4_3_begins_its_sequences_anew() -> None:
    manager = manager_of("4.3", transactional_id="tx")
    written(manager, sent(manager))
    batch = sent(manager)
    assert manager.can_retry(refused(UNKNOWN_ID, 12), batch)
    assert batch.base_sequence == 0


@both
def test_another_producers_batch_acknowledges_nothing_in_2_0(generation: str) -> None:
    manager = manager_of(generation)
    old = sent(manager, records=5)
    manager.producer_id_and_epoch = ProducerIdAndEpoch(8, 0)
    if isinstance(manager, TransactionManager20):
        manager.reset_producer_id()
        manager.producer_id_and_epoch = ProducerIdAndEpoch(8, 0)
        first = sent(manager)
        written(manager, old)
        assert not manager.can_retry(refused(OUT_OF_ORDER), first)  # it is the next still
    else:
        assert manager.is_new_batch_held(PARTITION)  # until what the old one sent is done
        written(manager, old)
        assert not manager.is_new_batch_held(PARTITION)
        assert sent(manager).base_sequence == 0


def test_an_epoch_that_begins_has_nothing_unresolved() -> None:
    manager = manager_of("4.3")
    assert isinstance(manager, TransactionManager43)
    batch = sent(manager)
    manager.mark_sequence_unresolved(batch)
    assert manager.can_retry(refused(UNKNOWN_ID), batch)
    assert manager.has_unresolved_sequence(PARTITION)
    manager.bump_idempotent_epoch_and_reset_id_if_needed()
    assert not manager.has_unresolved_sequence(PARTITION)


def test_after_the_last_epoch_another_id_is_asked_for() -> None:
    manager = manager_of("4.3")
    assert isinstance(manager, TransactionManager43)
    manager.state = State.READY
    manager.producer_id_and_epoch = ProducerIdAndEpoch(7, 2**15 - 1)
    assert manager.can_retry(refused(UNKNOWN_ID), sent(manager))
    manager.bump_idempotent_epoch_and_reset_id_if_needed()
    assert manager.state is State.INITIALIZING
    assert not manager.has_producer_id
    assert len(manager.pending) == 1


def test_what_failed_in_a_transaction_is_to_be_aborted_whatever_it_was() -> None:
    manager = manager_of("4.3", transactional_id="tx")
    manager.state = State.IN_TRANSACTION
    manager.handle_failed_batch(sent(manager), ProducerTimeoutError("late"), False)
    assert manager.state is State.ABORTABLE_ERROR
    assert isinstance(manager.last_error, BrokerError)
    assert manager.last_error.code == ErrorCode.transaction_abortable


def test_an_unknown_producer_in_a_transaction_forgets_the_partition() -> None:
    manager = manager_of("4.3", transactional_id="tx")
    assert isinstance(manager, TransactionManager43)
    manager.state = State.IN_TRANSACTION
    sent(manager)
    manager.handle_failed_batch(sent(manager), BrokerError(UNKNOWN_ID), True)
    assert sent(manager).base_sequence == 0


def test_a_later_batch_behind_a_gap_is_retried_without_an_epoch_bump() -> None:
    manager = manager_of("4.3")
    assert isinstance(manager, TransactionManager43)
    batches = [sent(manager) for _ in range(3)]
    manager.mark_sequence_unresolved(batches[0])
    assert manager.can_retry(refused(OUT_OF_ORDER), batches[2])
    assert not manager.client_side_epoch_bump_required
