"""The transaction manager of 4.3: after an unresolved sequence the producer continues with the next epoch.

Theory   KIP-360: an idempotent producer takes the next epoch by itself, and the batches in flight of the partition
         restart at sequence 0. A transactional producer aborts, and then requests the next epoch from its coordinator.
         KIP-890 (transactions of version 2): the response to EndTxn contains the next epoch, and the brokers that are
         written to add the partitions. A call of which the result was not received
         (`TransactionalRequestResult.is_acked`) blocks other calls, and returns the same result again.
Source   clients/.../producer/internals/TransactionManager.java of 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fakebroker.producer.errors import IllegalProducerStateError, ProducerError
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import BrokerError, has_code
from fakebroker.producer.transactions.api_versions import ApiVersions
from fakebroker.producer.transactions.handlers import AddOffsetsToTxnHandler, EndTxnHandler, InitProducerIdHandler
from fakebroker.producer.transactions.handlers import TxnOffsetCommitHandler as _CommitHandler
from fakebroker.producer.transactions.producer_id_and_epoch import NONE, ProducerIdAndEpoch
from fakebroker.producer.transactions.requests import (
    AddOffsetsToTxn,
    EndTxn,
    GroupMetadata,
    InitProducerId,
    TransactionalRequestResult,
    TxnOffsetCommit,
)
from fakebroker.producer.transactions.sequences_4_3 import SequencedManager43
from fakebroker.producer.transactions.transaction_manager import TxnRequestHandler
from fakebroker.producer.transactions.txn_state import State
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

_FOR_EVER_MS = 2**31 - 1
_V2 = 2


class _PendingStateTransition(NamedTuple):
    """A call of which the result was not received yet."""

    result: TransactionalRequestResult
    state: State
    operation: str


class TransactionManager43(SequencedManager43):
    def __init__(self, config: ProducerConfig, api_versions: ApiVersions) -> None:
        super().__init__(config, api_versions)
        self._pending_transition: _PendingStateTransition | None = None
        self._features_epoch = -1

    def initialize_transactions(self) -> TransactionalRequestResult:
        self._maybe_fail_with_error()
        cached = self._cached(State.INITIALIZING, "initTransactions")
        if cached is not None:
            return cached
        self.transition_to(State.INITIALIZING)
        return self._remember(self._ask_for_producer_id(NONE), State.INITIALIZING, "initTransactions")

    def bump_epoch_by_coordinator(self) -> TransactionalRequestResult:
        """Request the next epoch after the end of the transaction (KIP-360)."""
        self._maybe_fail_with_error()
        cached = self._cached(State.INITIALIZING, "initTransactions")
        if cached is not None:
            return cached
        result = self._ask_for_producer_id(self.producer_id_and_epoch)
        return self._remember(result, State.INITIALIZING, "initTransactions")

    def _ask_for_producer_id(self, producer: ProducerIdAndEpoch) -> TransactionalRequestResult:
        request = InitProducerId(self.transactional_id, self.config.transaction_timeout_ms, producer)
        handler = InitProducerIdHandler(self, request, producer is not NONE)
        self.enqueue(handler)
        return handler.result

    def begin_transaction(self) -> None:
        self._ensure_transactional()
        self._throw_if_pending_state("beginTransaction")
        self._maybe_fail_with_error()
        self.transition_to(State.IN_TRANSACTION)

    def begin_commit(self) -> TransactionalRequestResult:
        cached = self._cached(State.COMMITTING_TRANSACTION, "commitTransaction")
        if cached is not None:
            return cached
        self._maybe_fail_with_error()
        self.transition_to(State.COMMITTING_TRANSACTION)
        return self._remember(self._begin_completing(True), State.COMMITTING_TRANSACTION, "commitTransaction")

    def begin_abort(self) -> TransactionalRequestResult:
        cached = self._cached(State.ABORTING_TRANSACTION, "abortTransaction")
        if cached is not None:
            return cached
        if not self.has_abortable_error:
            self._maybe_fail_with_error()
        self.transition_to(State.ABORTING_TRANSACTION)
        self.new_partitions.clear()
        return self._remember(self._begin_completing(False), State.ABORTING_TRANSACTION, "abortTransaction")

    def _begin_completing(self, is_commit: bool) -> TransactionalRequestResult:
        self._enqueue_new_partitions()
        request = EndTxn(
            self._ensure_transactional(), self.producer_id_and_epoch, is_commit, self.is_transaction_v2_enabled
        )
        self.maybe_update_transaction_v2_enabled(on_initialization=False)
        handler = EndTxnHandler(self, request)
        self.enqueue(handler)
        if self.client_side_epoch_bump_required:
            return self.bump_epoch_by_coordinator()
        return handler.result

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, int], group: GroupMetadata
    ) -> TransactionalRequestResult:
        transactional_id = self._ensure_transactional()
        self._throw_if_pending_state("sendOffsetsToTransaction")
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
        self._throw_if_pending_state("send")
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
            self.partitions.get_or_create(partition)
            self.partitions_in_transaction.add(partition)
            self.is_transaction_started = True
            return
        is_known = partition in self.partitions_in_transaction or self.pending_partitions.get(partition)
        if not is_known and not self.new_partitions.get(partition):
            self.partitions.get_or_create(partition)
            self.new_partitions.put(partition, True)

    def maybe_update_transaction_v2_enabled(self, on_initialization: bool) -> None:
        """Update from the brokers' features, where a transaction begins or ends. The switch to version 2 needs an epoch
        bump."""
        if self._features_epoch >= self.api_versions.max_finalized_features_epoch:
            return
        self._features_epoch = self.api_versions.max_finalized_features_epoch
        was_enabled = self.is_transaction_v2_enabled
        self.is_transaction_v2_enabled = self.api_versions.transaction_version >= _V2
        if not on_initialization and not was_enabled and self.is_transaction_v2_enabled:
            self.client_side_epoch_bump_required = True

    def bump_idempotent_epoch_and_reset_id_if_needed(self) -> None:
        """Request a producer id for an idempotent producer without one, and bump its epoch if required."""
        if self.is_transactional:
            return
        if self.client_side_epoch_bump_required:
            self.bump_idempotent_producer_epoch()
        if self.state is not State.INITIALIZING and not self.has_producer_id:
            self.transition_to(State.INITIALIZING)
            self.enqueue(InitProducerIdHandler(self, InitProducerId(None, _FOR_EVER_MS, NONE), is_epoch_bump=False))

    def transition_to_fatal_error(self, error: ProducerError) -> None:
        super().transition_to_fatal_error(error)
        self._fail_pending_transition(error)

    def transition_to_uninitialized(self, error: ProducerError) -> None:
        """Return to UNINITIALIZED after an authorization error. Another initTransactions may succeed."""
        self.transition_to(State.UNINITIALIZED)
        self._fail_pending_transition(error)

    def fail_pending_requests(self, error: ProducerError) -> None:
        for handler in self.pending:
            handler.abortable_error(error)

    def reset_transaction_state(self) -> None:
        self.transition_to(State.INITIALIZING if self.client_side_epoch_bump_required else State.READY)
        self.client_side_epoch_bump_required = False
        self.is_transaction_started = False
        self.new_partitions.clear()
        self.pending_partitions.clear()
        self.partitions_in_transaction.clear()

    def on_producer_id(self, producer: ProducerIdAndEpoch, is_epoch_bump: bool) -> None:
        self.producer_id_and_epoch = producer
        self.transition_to(State.READY)
        if is_epoch_bump:
            self.reset_sequence_numbers()

    def on_transaction_ended(self, producer: ProducerIdAndEpoch) -> None:
        if producer.is_valid:
            self.producer_id_and_epoch = producer
            self.reset_sequence_numbers()
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
        return _CommitHandler(self, request, result)

    def refuse_transition(self, text: str) -> ProducerError:
        error = IllegalProducerStateError(text)
        if self.is_in_sender:  # no caller would receive it: the next call raises it
            self.state = State.FATAL_ERROR
            self.last_error = error
        return error

    def _fail_pending_transition(self, error: ProducerError) -> None:
        if self._pending_transition is not None:
            self._pending_transition.result.fail(error)

    def _throw_if_pending_state(self, operation: str) -> None:
        pending = self._pending_transition
        if pending is None:
            return
        if not pending.result.is_acked:
            raise IllegalProducerStateError(
                f"{operation} comes after {pending.operation}, which is to be called again."
            )
        self._pending_transition = None

    def _cached(self, state: State, operation: str) -> TransactionalRequestResult | None:
        """Return the result of the same call if it was not received yet."""
        self._ensure_transactional()
        pending = self._pending_transition
        if pending is not None and not pending.result.is_acked and pending.state is state:
            return pending.result
        self._throw_if_pending_state(operation)
        return None

    def _remember(self, result: TransactionalRequestResult, state: State, operation: str) -> TransactionalRequestResult:
        self._pending_transition = _PendingStateTransition(result, state, operation)
        return result

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
