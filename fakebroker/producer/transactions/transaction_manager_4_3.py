"""The transaction manager of 4.3: after an unresolved sequence the producer continues with the next epoch.

Theory   KIP-360: an idempotent producer takes the next epoch by itself, and the batches in flight of the partition
         restart at sequence 0 (partition_sequences_4_3.py). A transactional producer aborts, and then requests the next
         epoch from its coordinator. KIP-890 (transactions of version 2): the response to EndTxn contains the next
         epoch, and the brokers that are written to add the partitions.
Source   clients/.../producer/internals/TransactionManager.java of 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from fakebroker.producer.errors import IllegalProducerStateError, ProducerError
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import (
    BrokerError,
    PartitionResponse,
    has_code,
    is_retriable_error,
)
from fakebroker.producer.transactions.api_versions import ApiVersions
from fakebroker.producer.transactions.epoch_bump import EpochBump
from fakebroker.producer.transactions.handlers import (
    AddOffsetsToTxnHandler,
    AddPartitionsToTxnHandler,
    EndTxnHandler,
    FindCoordinatorHandler,
    InitProducerIdHandler,
    TxnOffsetCommitHandler,
)
from fakebroker.producer.transactions.partition_sequences_4_3 import PartitionSequences43
from fakebroker.producer.transactions.pending_state_transition import PendingStateTransition
from fakebroker.producer.transactions.producer_id_and_epoch import MAX_EPOCH, NONE, ProducerIdAndEpoch
from fakebroker.producer.transactions.requests import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    CoordinatorType,
    EndTxn,
    FindCoordinator,
    GroupMetadata,
    InitProducerId,
    TransactionalRequestResult,
    TxnOffsetCommit,
)
from fakebroker.producer.transactions.transaction_manager import TransactionManager, TxnRequestHandler
from fakebroker.producer.transactions.txn_state import SOURCES_4_3, State
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

_FOR_EVER_MS = 2**31 - 1
_FATAL_CODES = (
    ErrorCode.cluster_authorization_failed,
    ErrorCode.transactional_id_authorization_failed,
    ErrorCode.producer_fenced,
    ErrorCode.unsupported_version,
    ErrorCode.invalid_producer_id_mapping,
)


@final
class TransactionManager43(TransactionManager):
    def __init__(self, config: ProducerConfig, api_versions: ApiVersions) -> None:
        super().__init__(config, SOURCES_4_3)
        self._sequences = PartitionSequences43(config)
        self._epoch_bump = EpochBump(api_versions)
        self._pending_transition = PendingStateTransition()

    # The calls of the application.

    def initialize_transactions(self) -> TransactionalRequestResult:
        return self._initialize_transactions(NONE)

    def _initialize_transactions(self, producer: ProducerIdAndEpoch) -> TransactionalRequestResult:
        """Request a producer id, or the next epoch of this one after the end of the transaction (KIP-360)."""
        self._maybe_fail_with_error()
        cached = self._cached(State.INITIALIZING, "initTransactions")
        if cached is not None:
            return cached
        is_epoch_bump = producer is not NONE
        if not is_epoch_bump:
            self.transition_to(State.INITIALIZING)
        request = InitProducerId(self.transactional_id, self.config.transaction_timeout_ms, producer)
        handler = InitProducerIdHandler(self, request, is_epoch_bump)
        self.enqueue(handler)
        return self._pending_transition.remember(handler.result, State.INITIALIZING, "initTransactions")

    def begin_transaction(self) -> None:
        self._ensure_transactional()
        self._pending_transition.throw_if_pending("beginTransaction")
        self._maybe_fail_with_error()
        self.transition_to(State.IN_TRANSACTION)

    def begin_commit(self) -> TransactionalRequestResult:
        cached = self._cached(State.COMMITTING_TRANSACTION, "commitTransaction")
        if cached is not None:
            return cached
        self._maybe_fail_with_error()
        self.transition_to(State.COMMITTING_TRANSACTION)
        result = self._begin_completing(is_commit=True)
        return self._pending_transition.remember(result, State.COMMITTING_TRANSACTION, "commitTransaction")

    def begin_abort(self) -> TransactionalRequestResult:
        cached = self._cached(State.ABORTING_TRANSACTION, "abortTransaction")
        if cached is not None:
            return cached
        if not self.has_abortable_error:
            self._maybe_fail_with_error()
        self.transition_to(State.ABORTING_TRANSACTION)
        self.new_partitions.clear()
        result = self._begin_completing(is_commit=False)
        return self._pending_transition.remember(result, State.ABORTING_TRANSACTION, "abortTransaction")

    def _begin_completing(self, is_commit: bool) -> TransactionalRequestResult:
        self._enqueue_new_partitions()
        request = EndTxn(
            self._ensure_transactional(), self.producer_id_and_epoch, is_commit, self.is_transaction_v2_enabled
        )
        self.maybe_update_transaction_v2_enabled(on_initialization=False)
        handler = EndTxnHandler(self, request)
        self.enqueue(handler)
        if self._epoch_bump.is_required_of_client:
            return self._initialize_transactions(self.producer_id_and_epoch)
        return handler.result

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, int], group: GroupMetadata
    ) -> TransactionalRequestResult:
        transactional_id = self._ensure_transactional()
        self._pending_transition.throw_if_pending("sendOffsetsToTransaction")
        self._maybe_fail_with_error()
        if self.state is not State.IN_TRANSACTION:
            raise IllegalProducerStateError(
                f"Offsets belong into a transaction, and the producer is {self.state.name}."
            )
        handler: TxnRequestHandler
        if self.is_transaction_v2_enabled:
            handler = self._commit_handler(TransactionalRequestResult("TxnOffsetCommit"), offsets, group)
            self.is_transaction_started = True
        else:
            request = AddOffsetsToTxn(transactional_id, self.producer_id_and_epoch, group.group_id)
            handler = AddOffsetsToTxnHandler(self, request, offsets, group)
        self.enqueue(handler)
        return handler.result

    def maybe_add_partition(self, partition: TopicPartition) -> None:
        self._maybe_fail_with_error()
        self._pending_transition.throw_if_pending("send")
        if not self.is_transactional:
            return
        if not self.has_producer_id:
            raise IllegalProducerStateError(
                f"initTransactions comes before the first record, which is for {partition}."
            )
        if self.state is not State.IN_TRANSACTION:
            raise IllegalProducerStateError(
                f"A record for {partition} belongs into a transaction, and the producer is {self.state.name}."
            )
        if self.is_transaction_v2_enabled:
            self._sequences.add_partition(partition)
            self.partitions_in_transaction.add(partition)
            self.is_transaction_started = True
            return
        is_known = partition in self.partitions_in_transaction or self.pending_partitions.get(partition)
        if not is_known and not self.new_partitions.get(partition):
            self._sequences.add_partition(partition)
            self.new_partitions.put(partition, True)

    @property
    def is_transaction_v2_enabled(self) -> bool:
        return self._epoch_bump.is_transaction_v2_enabled

    @property
    def client_side_epoch_bump_required(self) -> bool:
        """True if the epoch is to be bumped: in the next iteration (idempotent), or at the end of the transaction."""
        return self._epoch_bump.is_required_of_client or self._sequences.has_to_rewrite()

    def maybe_update_transaction_v2_enabled(self, on_initialization: bool) -> None:
        self._epoch_bump.maybe_update_transaction_v2_enabled(on_initialization)

    def bump_idempotent_epoch_and_reset_id_if_needed(self) -> None:
        """Request a producer id for an idempotent producer without one, and bump its epoch if required."""
        if self.is_transactional:
            return
        if self._sequences.has_to_rewrite():
            self._bump_idempotent_producer_epoch()
        if self.state is not State.INITIALIZING and not self.has_producer_id:
            self.transition_to(State.INITIALIZING)
            self.enqueue(InitProducerIdHandler(self, InitProducerId(None, _FOR_EVER_MS, NONE), is_epoch_bump=False))

    def _bump_idempotent_producer_epoch(self) -> None:
        """Take the next epoch, or reset the producer id after the last epoch."""
        producer_id, epoch = self.producer_id_and_epoch
        if epoch == MAX_EPOCH:
            self.producer_id_and_epoch = NONE
            self.transition_to(State.UNINITIALIZED)
        else:
            self.producer_id_and_epoch = ProducerIdAndEpoch(producer_id, epoch + 1)
        self._sequences.rewrite(self.producer_id_and_epoch)

    # Batches with sequence numbers.

    def maybe_resolve_sequences(self) -> None:
        """Resolve the partitions that have nothing in flight."""
        sequences = self._sequences
        if not sequences.has_unresolved():
            return
        for partition in sequences.unresolved():
            if sequences.has_in_flight_batches(partition):
                continue
            if not sequences.is_all_acked(partition):
                self._give_up_sequence(partition)
            sequences.resolve(partition)

    def _give_up_sequence(self, partition: TopicPartition) -> None:
        if not self.is_transactional:
            self._sequences.request_rewrite(partition)
            return
        text = "Records that were sent were not acknowledged, and cannot be sent again."
        if self._epoch_bump.can_handle_abortable_error():
            self._epoch_bump.maybe_require_of_client()
            self.transition_to_abortable_error(ProducerError(f"{text} The transaction can be aborted."))
        else:
            self.transition_to_fatal_error(ProducerError(f"{text} The producer cannot go on."))

    def has_unresolved_sequences(self) -> bool:
        return self._sequences.has_unresolved()

    def has_unresolved_sequence(self, partition: TopicPartition) -> bool:
        return self._sequences.is_unresolved(partition)

    def mark_sequence_unresolved(self, batch: ProducerBatch) -> None:
        self._sequences.mark_unresolved(batch)

    def first_in_flight_sequence(self, partition: TopicPartition) -> int:
        return self._sequences.first_in_flight_sequence(partition)

    def is_new_batch_held(self, partition: TopicPartition) -> bool:
        return self._sequences.is_new_batch_held(partition, self.producer_id_and_epoch)

    def add_in_flight_batch(self, batch: ProducerBatch) -> None:
        self._sequences.add_in_flight_batch(batch)

    def remove_in_flight_batch(self, batch: ProducerBatch) -> None:
        self._sequences.remove_in_flight_batch(batch)

    def assign_sequence(self, batch: ProducerBatch) -> None:
        if not self.has_fatal_error:
            self._sequences.maybe_update_producer(batch.partition, self.producer_id_and_epoch)
        self._sequences.assign(batch, self.producer_id_and_epoch)

    def can_retry(self, answer: PartitionResponse, batch: ProducerBatch) -> bool:
        return self._sequences.can_retry(answer, batch, self.producer_id_and_epoch)

    def handle_completed_batch(self, batch: ProducerBatch, answer: PartitionResponse) -> None:
        self._sequences.on_completed_batch(batch, answer)

    def handle_failed_batch(self, batch: ProducerBatch, error: ProducerError, adjusts_sequences: bool) -> None:
        self.maybe_transition_to_error_state(error)
        self._sequences.remove_in_flight_batch(batch)
        if not self.has_fatal_error:
            self._sequences.on_failed_batch(batch, error, adjusts_sequences)

    # Errors, and what comes of responses.

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
            if not self.is_completing:
                self._epoch_bump.maybe_require_of_client()
            self.transition_to_abortable_error(error)

    def abortable_error_if_possible(self, handler: TxnRequestHandler, error: ProducerError) -> None:
        if self._epoch_bump.can_handle_abortable_error():
            self._epoch_bump.maybe_require_of_client()
            handler.abortable_error(error)
        else:
            handler.fatal_error(error)

    def on_coordinator_ready(self) -> None:
        self._epoch_bump.on_coordinator_ready(self.coordinator(CoordinatorType.TRANSACTION))

    def transition_to_fatal_error(self, error: ProducerError) -> None:
        super().transition_to_fatal_error(error)
        self._pending_transition.fail(error)

    def transition_to_uninitialized(self, error: ProducerError) -> None:
        """Return to UNINITIALIZED after an authorization error. Another initTransactions may succeed."""
        self.transition_to(State.UNINITIALIZED)
        self._pending_transition.fail(error)

    def fail_pending_requests(self, error: ProducerError) -> None:
        for handler in self.pending:
            handler.abortable_error(error)

    def reset_transaction_state(self) -> None:
        self.transition_to(State.INITIALIZING if self._epoch_bump.is_required_of_client else State.READY)
        self._epoch_bump.is_required_of_client = False
        self.is_transaction_started = False
        self.new_partitions.clear()
        self.pending_partitions.clear()
        self.partitions_in_transaction.clear()

    def on_producer_id(self, producer: ProducerIdAndEpoch, is_epoch_bump: bool) -> None:
        self.producer_id_and_epoch = producer
        self.transition_to(State.READY)
        if is_epoch_bump:
            self._sequences.reset()

    def on_transaction_ended(self, producer: ProducerIdAndEpoch) -> None:
        if producer.is_valid:
            self.producer_id_and_epoch = producer
            self._sequences.reset()
        self.reset_transaction_state()

    def commit_offsets(
        self, result: TransactionalRequestResult, offsets: Mapping[TopicPartition, int], group: GroupMetadata
    ) -> None:
        self.enqueue(self._commit_handler(result, offsets, group))

    def _commit_handler(
        self, result: TransactionalRequestResult, offsets: Mapping[TopicPartition, int], group: GroupMetadata
    ) -> TxnRequestHandler:
        self.pending_offsets.update(offsets)
        request = TxnOffsetCommit(
            self._ensure_transactional(),
            self.producer_id_and_epoch,
            group,
            dict(self.pending_offsets),
            self.is_transaction_v2_enabled,
        )
        return TxnOffsetCommitHandler(self, request, result)

    def find_coordinator_handler(self, request: FindCoordinator) -> TxnRequestHandler:
        return FindCoordinatorHandler(self, request)

    def add_partitions_handler(self, request: AddPartitionsToTxn) -> TxnRequestHandler:
        return AddPartitionsToTxnHandler(self, request)

    def refuse_transition(self, text: str) -> ProducerError:
        error = IllegalProducerStateError(text)
        if self.is_in_sender:  # no caller would receive it: the next call raises it
            self.state = State.FATAL_ERROR
            self.last_error = error
        return error

    def _cached(self, state: State, operation: str) -> TransactionalRequestResult | None:
        self._ensure_transactional()
        return self._pending_transition.cached(state, operation)

    def _maybe_fail_with_error(self) -> None:
        if not self.has_error:
            return
        error = self.last_error
        producer_id, epoch = self.producer_id_and_epoch
        who = f"The producer{self._who()}, producer id {producer_id} and epoch {epoch}"
        if has_code(error, ErrorCode.producer_fenced):
            raise BrokerError(ErrorCode.producer_fenced, f"{who}, was fenced by another with the same.")
        if has_code(error, ErrorCode.invalid_producer_epoch):
            raise BrokerError(ErrorCode.invalid_producer_epoch, f"{who}, wrote with an old epoch.")
        if isinstance(error, IllegalProducerStateError):
            raise IllegalProducerStateError(f"{who}, was in a wrong state before.") from error
        raise ProducerError("The producer has failed, and has to abort or to be closed.") from error
