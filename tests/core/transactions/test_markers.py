"""Transaction markers in a leader's log: refused ones, and their effect on producers
(ProducerAppendInfo.appendEndTxnMarker)."""

from __future__ import annotations

import pytest
from support.requests import batch

from fakebroker.core.clock import Now
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.log.producer_entry import NO_TRANSACTION
from fakebroker.core.replication.partition import Partition
from fakebroker.core.transactions.markers import TxnMarker, append_marker
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.transaction_records.control_records import ABORT, COMMIT, EndTransactionMarker

PID = 7
NOW = Now(0, 1_700_000_000_000)
NONE, FENCED_EPOCH, FENCED_COORDINATOR, TOO_FEW = 0, 47, 52, 19


@pytest.fixture
def partition() -> Partition:
    return Partition(TopicPartition("t", 0), [1], TopicConfig(), 30_000, 0)


def txn_marker(epoch: int, coordinator_epoch: int = 0, version: int = 0, control_type: int = COMMIT) -> TxnMarker:
    return TxnMarker(PID, epoch, EndTransactionMarker(control_type, coordinator_epoch), version)


def begin(partition: Partition, epoch: int = 3, sequence: int = 0) -> None:
    """Begin a transaction that its coordinator has verified."""
    log = partition.leader_log
    guard = log.producer_state.maybe_start_verification(PID, sequence, epoch, False, NOW.wall_ms)
    records = batch(producer_id=PID, producer_epoch=epoch, base_sequence=sequence, attributes=0x10)
    partition.append_records_to_leader(records, False, 1, NOW, guard)


def outcome(partition: Partition, what: TxnMarker) -> int:
    try:
        append_marker(partition, what, NOW)
    except KafkaError as error:
        return int(error.code)
    return NONE


def test_it_ends_the_transaction(partition: Partition) -> None:
    begin(partition)
    entry = partition.leader_log.producer_state.last_entry(PID)
    assert entry is not None
    assert (entry.current_txn_first_offset, partition.leader_log.last_stable_offset) == (0, 0)
    info = append_marker(partition, txn_marker(3, 5, control_type=ABORT), NOW)
    assert info.first_offset == 1
    log = partition.leader_log
    entry = log.producer_state.last_entry(PID)
    assert entry is not None
    assert (entry.current_txn_first_offset, entry.coordinator_epoch) == (NO_TRANSACTION, 5)
    assert log.last_stable_offset == 2
    assert log.aborted_transactions(0, 1) == ((PID, 0),)


@pytest.mark.parametrize(
    ("version", "epoch", "code"),
    [
        (0, 2, FENCED_EPOCH), (0, 3, NONE), (0, 4, NONE),
        (1, 2, FENCED_EPOCH), (1, 3, NONE), (1, 4, NONE),
        (2, 2, FENCED_EPOCH), (2, 3, FENCED_EPOCH), (2, 4, NONE),
    ],
)  # fmt: skip
def test_its_epoch(partition: Partition, version: int, epoch: int, code: int) -> None:
    """Transaction version 2 needs a new epoch: a marker of the previous transaction does not end this one."""
    begin(partition, epoch=3)
    assert outcome(partition, txn_marker(epoch, version=version)) == code


def test_a_marker_that_is_sent_again(partition: Partition) -> None:
    begin(partition, epoch=3)
    assert outcome(partition, txn_marker(4, version=2)) == NONE
    assert outcome(partition, txn_marker(4, version=2)) == NONE
    assert partition.leader_log.log_end_offset == 3


def test_the_epoch_of_its_coordinator(partition: Partition) -> None:
    begin(partition)
    assert outcome(partition, txn_marker(3, 5)) == NONE
    begin(partition, sequence=1)
    assert outcome(partition, txn_marker(3, 4)) == FENCED_COORDINATOR
    assert outcome(partition, txn_marker(3, 5)) == NONE


def test_too_few_replicas_are_in_sync() -> None:
    partition = Partition(TopicPartition("t", 0), [1, 2], TopicConfig(min_insync_replicas=2), 30_000, 0)
    partition.update_isr([1], 0)
    assert outcome(partition, txn_marker(0)) == TOO_FEW


def test_a_marker_of_an_unknown_producer(partition: Partition) -> None:
    assert outcome(partition, txn_marker(0, version=2)) == NONE
    assert partition.leader_log.last_stable_offset == 1


def test_a_producer_in_a_transaction_cannot_append_other_records(partition: Partition) -> None:
    begin(partition, epoch=3)
    with pytest.raises(KafkaError, match="Expected transactional write"):
        partition.append_records_to_leader(batch(producer_id=PID, producer_epoch=3, base_sequence=1), False, 1, NOW)


class TestGuard:
    def test_without_one_nothing_begins(self, partition: Partition) -> None:
        records = batch(producer_id=PID, producer_epoch=3, base_sequence=0, attributes=0x10)
        with pytest.raises(KafkaError, match="not part of an ongoing transaction"):
            partition.append_records_to_leader(records, False, 1, NOW)

    def test_a_marker_takes_it_away(self, partition: Partition) -> None:
        """The request is verified in one transaction, and appended in the next: KIP-890."""
        state = partition.leader_log.producer_state
        guard = state.maybe_start_verification(PID, 0, 3, False, NOW.wall_ms)
        append_marker(partition, txn_marker(3), NOW)
        records = batch(producer_id=PID, producer_epoch=3, base_sequence=0, attributes=0x10)
        with pytest.raises(KafkaError, match="not part of an ongoing transaction"):
            partition.append_records_to_leader(records, False, 1, NOW, guard)

    def test_an_open_transaction_needs_none(self, partition: Partition) -> None:
        begin(partition)
        state = partition.leader_log.producer_state
        assert state.maybe_start_verification(PID, 1, 3, False, NOW.wall_ms) == 0
        records = batch(producer_id=PID, producer_epoch=3, base_sequence=1, attributes=0x10)
        assert partition.append_records_to_leader(records, False, 1, NOW).first_offset == 1

    def test_the_first_of_those_that_wait_comes_first(self, partition: Partition) -> None:
        state = partition.leader_log.producer_state
        guard = state.maybe_start_verification(PID, 0, 3, False, NOW.wall_ms)
        assert state.maybe_start_verification(PID, 5, 3, False, NOW.wall_ms) == guard
        records = batch(producer_id=PID, producer_epoch=3, base_sequence=5, attributes=0x10)
        with pytest.raises(KafkaError, match="earliest seen sequence"):
            partition.append_records_to_leader(records, False, 1, NOW, guard)

    def test_version_2_begins_at_sequence_0(self, partition: Partition) -> None:
        state = partition.leader_log.producer_state
        guard = state.maybe_start_verification(PID, 5, 3, True, NOW.wall_ms)
        records = batch(producer_id=PID, producer_epoch=3, base_sequence=5, attributes=0x10)
        with pytest.raises(KafkaError, match="Expected sequence 0"):
            partition.append_records_to_leader(records, False, 1, NOW, guard)

    def test_an_older_epoch(self, partition: Partition) -> None:
        begin(partition, epoch=3)
        with pytest.raises(KafkaError, match="smaller than the last seen epoch"):
            partition.leader_log.producer_state.maybe_start_verification(PID, 0, 2, False, NOW.wall_ms)
