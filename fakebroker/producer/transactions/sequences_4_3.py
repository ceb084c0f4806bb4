"""The sequence numbers of a producer of 4.3: the part of its transaction manager that keeps the order of batches.

Theory   A batch gets its sequence when it is drained. A partition with batches of an older epoch in flight sends no new
         ones until these are done. If a batch expires after it was sent, it may or may not be written: its partition is
         unresolved, and waits for all batches in flight. If the broker has then acknowledged all sequences before it,
         nothing is missing; otherwise the epoch is bumped.
Source   clients/.../producer/internals/TransactionManager.java of 4.3; KIP-360.
"""

from __future__ import annotations

from fakebroker.producer.copy_on_write_map import hash_of_partition
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.hash_map import HashMap
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import (
    BrokerError,
    PartitionResponse,
    has_code,
    is_retriable,
    is_retriable_error,
)
from fakebroker.producer.transactions.api_versions import ApiVersions
from fakebroker.producer.transactions.handlers import AddPartitionsToTxnHandler, FindCoordinatorHandler
from fakebroker.producer.transactions.producer_id_and_epoch import MAX_EPOCH, NONE, ProducerIdAndEpoch
from fakebroker.producer.transactions.requests import AddPartitionsToTxn, CoordinatorType, FindCoordinator
from fakebroker.producer.transactions.transaction_manager import TransactionManager, TxnRequestHandler
from fakebroker.producer.transactions.txn_partition_entry import NO_LAST_ACKED, TxnPartitionMap
from fakebroker.producer.transactions.txn_state import SOURCES_4_3, State
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

_FATAL_CODES = (
    ErrorCode.cluster_authorization_failed,
    ErrorCode.transactional_id_authorization_failed,
    ErrorCode.producer_fenced,
    ErrorCode.unsupported_version,
    ErrorCode.invalid_producer_id_mapping,
)
_OUT_OF_ORDER_CODES = (ErrorCode.out_of_order_sequence_number, ErrorCode.unknown_producer_id)


class SequencedManager43(TransactionManager):
    """The manager of sequences. `client_side_epoch_bump_required`: the epoch is bumped in the next iteration
    (idempotent), or at the end of the transaction."""

    def __init__(self, config: ProducerConfig, api_versions: ApiVersions) -> None:
        super().__init__(config, SOURCES_4_3)
        self.api_versions = api_versions
        self.partitions = TxnPartitionMap()
        self.client_side_epoch_bump_required = False
        self.is_transaction_v2_enabled = False
        self._coordinator_bumps_epoch = False
        self._unresolved: HashMap[TopicPartition, int] = HashMap(hash_of_partition)  # the sequence after the last one
        self._to_rewrite: HashMap[TopicPartition, bool] = HashMap(hash_of_partition)

    def request_idempotent_epoch_bump_for_partition(self, partition: TopicPartition) -> None:
        self.client_side_epoch_bump_required = True
        self._to_rewrite.put(partition, True)

    def bump_idempotent_producer_epoch(self) -> None:
        """Take the next epoch, or reset the producer id after the last epoch."""
        producer_id, epoch = self.producer_id_and_epoch
        if epoch == MAX_EPOCH:
            self.producer_id_and_epoch = NONE
            self.transition_to(State.UNINITIALIZED)
        else:
            self.producer_id_and_epoch = ProducerIdAndEpoch(producer_id, epoch + 1)
        for partition, _ in self._to_rewrite.items():
            self.partitions.get(partition).start_sequences_at_beginning(self.producer_id_and_epoch)
            self._unresolved.discard(partition)
        self._to_rewrite.clear()
        self.client_side_epoch_bump_required = False

    def reset_sequence_numbers(self) -> None:
        self.partitions.reset()
        self._unresolved.clear()

    def maybe_resolve_sequences(self) -> None:
        """Resolve the partitions that have nothing in flight."""
        for partition, _ in self._unresolved.items():
            if self.has_in_flight_batches(partition):
                continue
            if not self._is_next_sequence(partition, self.partitions.get_or_create(partition).next_sequence):
                self._give_up_sequence(partition)
            self._unresolved.discard(partition)

    def _give_up_sequence(self, partition: TopicPartition) -> None:
        if not self.is_transactional:
            self.request_idempotent_epoch_bump_for_partition(partition)
            return
        text = "Records that were sent were not acknowledged, and cannot be sent again."
        if self.can_handle_abortable_error:
            if self.needs_epoch_bump_from_client:
                self.client_side_epoch_bump_required = True
            self.transition_to_abortable_error(ProducerError(f"{text} The transaction can be aborted."))
        else:
            self.transition_to_fatal_error(ProducerError(f"{text} The producer cannot go on."))

    def has_in_flight_batches(self, partition: TopicPartition) -> bool:
        return self.partitions.get_or_create(partition).has_in_flight_batches()

    def has_unresolved_sequences(self) -> bool:
        return len(self._unresolved) > 0

    def has_unresolved_sequence(self, partition: TopicPartition) -> bool:
        return self._unresolved.get(partition) is not None

    def mark_sequence_unresolved(self, batch: ProducerBatch) -> None:
        following = batch.last_sequence + 1
        self._unresolved.put(batch.partition, max(following, self._unresolved.get(batch.partition) or following))

    def first_in_flight_sequence(self, partition: TopicPartition) -> int:
        return self.partitions.get_or_create(partition).first_in_flight_sequence()

    def is_new_batch_held(self, partition: TopicPartition) -> bool:
        is_stale = self._has_stale_producer(partition)
        return (is_stale and self.has_in_flight_batches(partition)) or self.has_unresolved_sequence(partition)

    def add_in_flight_batch(self, batch: ProducerBatch) -> None:
        self.partitions.get(batch.partition).add_in_flight_batch(batch)

    def remove_in_flight_batch(self, batch: ProducerBatch) -> None:
        self.partitions.get_or_create(batch.partition).remove_in_flight_batch(batch)

    def assign_sequence(self, batch: ProducerBatch) -> None:
        entry = self.partitions.get_or_create(batch.partition)
        if not self.has_fatal_error and self._has_stale_producer(batch.partition) and not entry.has_in_flight_batches():
            entry.start_sequences_at_beginning(self.producer_id_and_epoch)
        producer_id, epoch = self.producer_id_and_epoch
        batch.set_producer_state(producer_id, epoch, entry.next_sequence, self.is_transactional)
        entry.increment_sequence(batch.record_count)
        entry.add_in_flight_batch(batch)

    def can_retry(self, answer: PartitionResponse, batch: ProducerBatch) -> bool:
        partition = batch.partition
        if answer.code == ErrorCode.unknown_producer_id:
            if answer.log_start_offset == -1 or batch.sequence_has_been_reset:
                return True
            entry = self.partitions.find(partition)
            last_acked = NO_LAST_ACKED if entry is None else entry.last_acked_offset
            if last_acked < answer.log_start_offset and self.is_transactional:  # deleted by retention
                self.partitions.get(partition).start_sequences_at_beginning(self.producer_id_and_epoch)
                return True
            if not self.is_transactional:
                self.request_idempotent_epoch_bump_for_partition(partition)
                return True
        elif answer.code == ErrorCode.out_of_order_sequence_number:
            unresolved = self._unresolved.get(partition)
            is_first = not batch.sequence_has_been_reset and self._is_next_sequence(partition, batch.base_sequence)
            if unresolved is None and not is_first:
                return True  # an earlier batch is still in flight, or will be retried
            if not self.is_transactional:
                if unresolved is None or batch.base_sequence == unresolved:
                    self.request_idempotent_epoch_bump_for_partition(partition)
                return True
        return is_retriable(answer.code, self.config.generation)

    def handle_completed_batch(self, batch: ProducerBatch, answer: PartitionResponse) -> None:
        partition = batch.partition
        entry = self.partitions.find(partition)
        if entry is not None:
            entry.maybe_update_last_acked_sequence(batch.last_sequence)
        if answer.base_offset != -1:
            if not self.is_transactional:
                self.partitions.get_or_create(partition)
            last_offset = answer.base_offset + batch.record_count - 1
            if last_offset > NO_LAST_ACKED:
                self.partitions.get(partition).maybe_update_last_acked_offset(last_offset)
        self.remove_in_flight_batch(batch)

    def maybe_transition_to_error_state(self, error: ProducerError) -> None:
        """Move to an error state after a batch failed or an append was refused."""
        if has_code(error, *_FATAL_CODES):
            self.transition_to_fatal_error(error)
        elif self.is_transactional:
            is_retriable = is_retriable_error(error, self.config.generation)
            if is_retriable or has_code(error, ErrorCode.invalid_txn_state):
                error = BrokerError(
                    ErrorCode.transaction_abortable, "A batch of the transaction failed, and is not tried again."
                )
            if self.needs_epoch_bump_from_client and not self.is_completing:
                self.client_side_epoch_bump_required = True
            self.transition_to_abortable_error(error)

    def handle_failed_batch(self, batch: ProducerBatch, error: ProducerError, adjusts_sequences: bool) -> None:
        self.maybe_transition_to_error_state(error)
        self.remove_in_flight_batch(batch)
        if self.has_fatal_error:
            return
        partition = batch.partition
        if has_code(error, *_OUT_OF_ORDER_CODES) and not self.is_transactional:
            self.request_idempotent_epoch_bump_for_partition(partition)
        elif has_code(error, ErrorCode.unknown_producer_id):
            self.partitions.remove(partition)
            self._unresolved.discard(partition)
        elif adjusts_sequences:
            entry = self.partitions.find(partition)
            if not self.is_transactional:
                self.request_idempotent_epoch_bump_for_partition(partition)
            elif entry is not None:
                entry.adjust_sequences_due_to_failed_batch(batch.base_sequence, batch.record_count)

    @property
    def needs_epoch_bump_from_client(self) -> bool:
        return self._coordinator_bumps_epoch and not self.is_transaction_v2_enabled

    @property
    def can_handle_abortable_error(self) -> bool:
        return self._coordinator_bumps_epoch or self.is_transaction_v2_enabled

    def on_coordinator_ready(self) -> None:
        node = self.coordinator(CoordinatorType.TRANSACTION)
        self._coordinator_bumps_epoch = node is not None and self.api_versions.can_bump_epoch(node)

    def abortable_error_if_possible(self, handler: TxnRequestHandler, error: ProducerError) -> None:
        if self.can_handle_abortable_error:
            if self.needs_epoch_bump_from_client:
                self.client_side_epoch_bump_required = True
            handler.abortable_error(error)
        else:
            handler.fatal_error(error)

    def find_coordinator_handler(self, request: FindCoordinator) -> TxnRequestHandler:
        return FindCoordinatorHandler(self, request)

    def add_partitions_handler(self, request: AddPartitionsToTxn) -> TxnRequestHandler:
        return AddPartitionsToTxnHandler(self, request)

    def _has_stale_producer(self, partition: TopicPartition) -> bool:
        return self.producer_id_and_epoch != self.partitions.get_or_create(partition).producer_id_and_epoch

    def _is_next_sequence(self, partition: TopicPartition, sequence: int) -> bool:
        entry = self.partitions.find(partition)
        return sequence - (NO_LAST_ACKED if entry is None else entry.last_acked_sequence) == 1
