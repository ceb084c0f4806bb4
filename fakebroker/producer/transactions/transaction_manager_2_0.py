"""The transaction manager of 2.0: after an unresolved sequence the producer takes a new producer id, or fails.

Theory   An idempotent producer has no state machine: the sender waits for a producer id (transactional_turn_2_0.py). If
         a sequence stays unresolved, or the broker reports a gap, all sequences are forgotten and another id is
         requested. A transactional producer cannot do that: an unresolved sequence is fatal.
Source   clients/.../producer/internals/TransactionManager.java of 2.0.
"""

from __future__ import annotations

from collections.abc import Mapping

from fakebroker.producer.copy_on_write_map import hash_of_partition
from fakebroker.producer.errors import IllegalProducerStateError, ProducerError
from fakebroker.producer.hash_map import HashMap
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import PartitionResponse, has_code
from fakebroker.producer.transactions.handlers import (
    AddOffsetsToTxnHandler,
    AddPartitionsToTxnHandler,
    EndTxnHandler,
    FindCoordinatorHandler,
    InitProducerIdHandler,
    TxnOffsetCommitHandler,
)
from fakebroker.producer.transactions.partition_sequences import PartitionSequences
from fakebroker.producer.transactions.producer_id_and_epoch import NONE, ProducerIdAndEpoch
from fakebroker.producer.transactions.requests import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    FindCoordinator,
    GroupMetadata,
    InitProducerId,
    TransactionalRequestResult,
    TxnOffsetCommit,
)
from fakebroker.producer.transactions.transaction_manager import TransactionManager, TxnRequestHandler
from fakebroker.producer.transactions.txn_state import SOURCES_2_0, State
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

_FATAL_CODES = (
    ErrorCode.cluster_authorization_failed,
    ErrorCode.transactional_id_authorization_failed,
    ErrorCode.invalid_producer_epoch,
    ErrorCode.unsupported_version,
)
_OUT_OF_ORDER_CODES = (ErrorCode.out_of_order_sequence_number, ErrorCode.unknown_producer_id)


class TransactionManager20(TransactionManager):
    def __init__(self, config: ProducerConfig) -> None:
        super().__init__(config, SOURCES_2_0)
        self._sequences = PartitionSequences()
        self._unresolved: HashMap[TopicPartition, bool] = HashMap(hash_of_partition)

    def initialize_transactions(self) -> TransactionalRequestResult:
        transactional_id = self._ensure_transactional()
        self.transition_to(State.INITIALIZING)
        self.producer_id_and_epoch = NONE
        self._sequences.clear_next()
        request = InitProducerId(transactional_id, self.config.transaction_timeout_ms, NONE)
        handler = InitProducerIdHandler(self, request, is_epoch_bump=False)
        self.enqueue(handler)
        return handler.result

    def begin_transaction(self) -> None:
        self._ensure_transactional()
        self._maybe_fail_with_error()
        self.transition_to(State.IN_TRANSACTION)

    def begin_commit(self) -> TransactionalRequestResult:
        self._ensure_transactional()
        self._maybe_fail_with_error()
        self.transition_to(State.COMMITTING_TRANSACTION)
        return self._begin_completing(is_commit=True)

    def begin_abort(self) -> TransactionalRequestResult:
        self._ensure_transactional()
        if not self.has_abortable_error:
            self._maybe_fail_with_error()
        self.transition_to(State.ABORTING_TRANSACTION)
        self.new_partitions.clear()
        return self._begin_completing(is_commit=False)

    def _begin_completing(self, is_commit: bool) -> TransactionalRequestResult:
        self._enqueue_new_partitions()
        request = EndTxn(self._ensure_transactional(), self.producer_id_and_epoch, is_commit, False)
        handler = EndTxnHandler(self, request)
        self.enqueue(handler)
        return handler.result

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, int], group: GroupMetadata
    ) -> TransactionalRequestResult:
        transactional_id = self._ensure_transactional()
        self._maybe_fail_with_error()
        if self.state is not State.IN_TRANSACTION:
            raise ProducerError(f"Offsets belong into a transaction, and the producer is {self.state.name}.")
        request = AddOffsetsToTxn(transactional_id, self.producer_id_and_epoch, group.group_id)
        handler = AddOffsetsToTxnHandler(self, request, offsets, group)
        self.enqueue(handler)
        return handler.result

    def maybe_add_partition(self, partition: TopicPartition) -> None:
        if self.has_error:
            raise ProducerError("Nothing is sent: an earlier request of the producer has failed.") from self.last_error
        if not self.is_transactional:
            return
        if not self.has_producer_id:
            raise IllegalProducerStateError("initTransactions comes before the first record.")
        if self.state is not State.IN_TRANSACTION:
            raise IllegalProducerStateError(
                f"A record belongs into a transaction, and the producer is {self.state.name}."
            )
        is_known = partition in self.partitions_in_transaction or self.pending_partitions.get(partition)
        if not is_known and not self.new_partitions.get(partition):
            self.new_partitions.put(partition, True)

    def reset_producer_id(self) -> None:
        """Forget the producer id and all sequences. The next batches get another producer id."""
        if self.is_transactional:
            raise IllegalProducerStateError("A transactional producer is begun anew by initTransactions only.")
        self.producer_id_and_epoch = NONE
        self._sequences.clear()
        self._unresolved.clear()

    def should_reset_producer_state_after_resolving_sequences(self) -> bool:
        """Return True if a batch expired that may have been written, and its partition has nothing in flight."""
        if self.is_transactional:
            return False
        for partition, _ in self._unresolved.items():
            if self._sequences.has_in_flight(partition):
                continue
            if not self._sequences.is_next(partition, self._sequences.next_sequence(partition)):
                return True
            self._unresolved.discard(partition)
        return False

    def has_unresolved_sequences(self) -> bool:
        return len(self._unresolved) > 0

    def has_unresolved_sequence(self, partition: TopicPartition) -> bool:
        return self._unresolved.get(partition) is not None

    def mark_sequence_unresolved(self, batch: ProducerBatch) -> None:
        self._unresolved.put(batch.partition, True)

    def first_in_flight_sequence(self, partition: TopicPartition) -> int:
        return self._sequences.first_in_flight_sequence(partition)

    def add_in_flight_batch(self, batch: ProducerBatch) -> None:
        self._sequences.add_in_flight(batch)

    def remove_in_flight_batch(self, batch: ProducerBatch) -> None:
        self._sequences.remove_in_flight(batch)

    def assign_sequence(self, batch: ProducerBatch) -> None:
        sequence = self._sequences.next_sequence(batch.partition)
        producer_id, epoch = self.producer_id_and_epoch
        batch.set_producer_state(producer_id, epoch, sequence, self.is_transactional)
        self._sequences.increment(batch.partition, batch.record_count)
        self._sequences.add_in_flight(batch)

    def is_of_another_producer(self, batch: ProducerBatch) -> bool:
        """Return True if the producer id was reset after the batch was sent."""
        return (batch.producer_id, batch.producer_epoch) != self.producer_id_and_epoch

    def can_retry(self, answer: PartitionResponse, batch: ProducerBatch) -> bool:
        if batch.producer_id != self.producer_id_and_epoch.producer_id:
            return False
        partition = batch.partition
        if answer.code == ErrorCode.out_of_order_sequence_number and not self.has_unresolved_sequence(partition):
            is_first = not batch.sequence_has_been_reset and self._sequences.is_next(partition, batch.base_sequence)
            return not is_first  # retry unless it is the first: an earlier batch is in flight or will be retried
        if answer.code == ErrorCode.unknown_producer_id:
            if answer.log_start_offset == -1 or batch.sequence_has_been_reset:
                return True
            if self._sequences.last_acked_offset(partition) < answer.log_start_offset:
                self._sequences.start_at_beginning(partition)  # its records were deleted by retention
                return True
        return False

    def handle_completed_batch(self, batch: ProducerBatch, answer: PartitionResponse) -> None:
        if not self.is_of_another_producer(batch):
            self._sequences.maybe_update_last_acked(batch.partition, batch.last_sequence)
        if answer.base_offset != -1:
            last_offset = answer.base_offset + batch.record_count - 1
            self._sequences.maybe_update_last_acked_offset(batch.partition, last_offset)
        self._sequences.remove_in_flight(batch)

    def handle_failed_batch(self, batch: ProducerBatch, error: ProducerError, adjusts_sequences: bool) -> None:
        is_own = batch.producer_id == self.producer_id_and_epoch.producer_id
        if has_code(error, *_OUT_OF_ORDER_CODES) and not self.is_transactional and is_own:
            self.reset_producer_id()
        elif has_code(error, *_FATAL_CODES):
            self.transition_to_fatal_error(error)
        elif self.is_transactional:
            self.transition_to_abortable_error(error)
        self._sequences.remove_in_flight(batch)
        if adjusts_sequences:
            self._sequences.adjust_due_to_failed_batch(batch)

    def reset_transaction_state(self) -> None:
        self.transition_to(State.READY)
        self.is_transaction_started = False
        self.new_partitions.clear()
        self.pending_partitions.clear()
        self.partitions_in_transaction.clear()

    def on_producer_id(self, producer: ProducerIdAndEpoch, is_epoch_bump: bool) -> None:
        self.producer_id_and_epoch = producer
        self.transition_to(State.READY)

    def on_transaction_ended(self, producer: ProducerIdAndEpoch) -> None:
        self.reset_transaction_state()

    def commit_offsets(
        self, result: TransactionalRequestResult, offsets: Mapping[TopicPartition, int], group: GroupMetadata
    ) -> None:
        self.pending_offsets.update(offsets)
        request = TxnOffsetCommit(
            self._ensure_transactional(), self.producer_id_and_epoch, group, dict(self.pending_offsets), False
        )
        self.enqueue(TxnOffsetCommitHandler(self, request, result))

    def find_coordinator_handler(self, request: FindCoordinator) -> TxnRequestHandler:
        return FindCoordinatorHandler(self, request)

    def add_partitions_handler(self, request: AddPartitionsToTxn) -> TxnRequestHandler:
        return AddPartitionsToTxnHandler(self, request)

    def refuse_transition(self, text: str) -> ProducerError:
        return ProducerError(text)

    def _maybe_fail_with_error(self) -> None:
        if self.has_error:
            raise ProducerError("The producer has failed, and has to abort or to be closed.") from self.last_error
