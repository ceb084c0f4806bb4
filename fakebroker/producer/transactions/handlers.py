"""The requests of a transaction manager, with handlers for their responses.

Source   TransactionManager's handlers of 2.0 and 4.3; what an error code means is in error_actions.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakebroker.producer.errors import ProducerError
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.producer.transactions.error_actions import ErrorAction
from fakebroker.producer.transactions.requests import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    CoordinatorType,
    EndTxn,
    FindCoordinator,
    GroupMetadata,
    InitProducerId,
    TransactionalRequestResult,
    TxnAnswer,
    TxnOffsetCommit,
    TxnRequest,
)
from fakebroker.producer.transactions.transaction_manager import TransactionManager, TxnRequestHandler
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.topic_partition import TopicPartition

_ADD_PARTITIONS_RETRY_BACKOFF_MS = 20


class InitProducerIdHandler(TxnRequestHandler):
    """The handler of InitProducerId. `is_epoch_bump`: requested by the client after the end of a transaction
    (KIP-360)."""

    def __init__(self, manager: TransactionManager, request: InitProducerId, is_epoch_bump: bool) -> None:
        super().__init__(manager, request, TransactionalRequestResult("InitProducerId"))
        self._is_epoch_bump = is_epoch_bump
        self.priority = 4 if is_epoch_bump else 1

    @property
    def coordinator_type(self) -> CoordinatorType | None:
        return CoordinatorType.TRANSACTION if self.manager.is_transactional else None

    def handle_answer(self, answer: TxnAnswer) -> None:
        code = self._known(answer.code)
        if code == ErrorCode.none:
            self.manager.on_producer_id(answer.producer, self._is_epoch_bump)
            self.result.done()
            return
        self._react(code)


class AddPartitionsToTxnHandler(TxnRequestHandler):
    priority = 2

    def __init__(self, manager: TransactionManager, request: AddPartitionsToTxn) -> None:
        super().__init__(manager, request, TransactionalRequestResult("AddPartitionsToTxn"))
        self._backoff_ms = manager.config.retry_backoff_ms

    @property
    def retry_backoff_ms(self) -> int:
        return min(self.manager.config.retry_backoff_ms, self._backoff_ms)

    def handle_answer(self, answer: TxnAnswer) -> None:
        manager = self.manager
        self._backoff_ms = manager.config.retry_backoff_ms
        is_unauthorized = has_errors = False
        codes = self._codes(answer)
        for _, code in codes:
            if code == ErrorCode.none:
                continue
            action = self._action(code)
            if code == ErrorCode.topic_authorization_failed:
                is_unauthorized = True
            elif action is ErrorAction.PART:
                has_errors = True
            else:
                if action is ErrorAction.RETRY_SOON and not manager.partitions_in_transaction:
                    self._backoff_ms = _ADD_PARTITIONS_RETRY_BACKOFF_MS
                self._react(code)
                return
        for partition, _ in answer.partitions:
            manager.pending_partitions.discard(partition)
        if is_unauthorized:
            self.abortable_error(BrokerError(ErrorCode.topic_authorization_failed))
        elif has_errors:
            errors = ", ".join(f"{partition}: {kafka_name(code)}" for partition, code in codes)
            self.abortable_error(ProducerError(f"Partitions could not be added to the transaction: {errors}."))
        else:
            manager.partitions_in_transaction.update(partition for partition, _ in answer.partitions)
            manager.is_transaction_started = True
            self.result.done()


class AddOffsetsToTxnHandler(TxnRequestHandler):
    priority = 2

    def __init__(
        self,
        manager: TransactionManager,
        request: AddOffsetsToTxn,
        offsets: Mapping[TopicPartition, int],
        group: GroupMetadata,
    ) -> None:
        super().__init__(manager, request, TransactionalRequestResult("AddOffsetsToTxn"))
        self._offsets = dict(offsets)
        self._group = group

    def handle_answer(self, answer: TxnAnswer) -> None:
        code = self._known(answer.code)
        if code == ErrorCode.none:
            self.manager.commit_offsets(self.result, self._offsets, self._group)
            self.manager.is_transaction_started = True
            return
        self._react(code)


class TxnOffsetCommitHandler(TxnRequestHandler):
    """The handler of TxnOffsetCommit. A retry sends the remaining offsets in 2.0, and all offsets in 4.3."""

    priority = 2

    def __init__(
        self, manager: TransactionManager, request: TxnOffsetCommit, result: TransactionalRequestResult
    ) -> None:
        super().__init__(manager, request, result)
        self._commit = request

    @property
    def request(self) -> TxnRequest:
        if self.manager.config.generation.has_delivery_timeout:
            return self._commit
        return self._commit._replace(offsets=dict(self.manager.pending_offsets))

    @property
    def coordinator_type(self) -> CoordinatorType | None:
        return CoordinatorType.GROUP

    @property
    def coordinator_key(self) -> str | None:
        return self._commit.group.group_id

    def handle_answer(self, answer: TxnAnswer) -> None:
        manager = self.manager
        is_looked_up = False
        for partition, code in self._codes(answer):
            if code == ErrorCode.none:
                manager.pending_offsets.pop(partition, None)
                continue
            action = self._action(code)
            if action is ErrorAction.LOOK_UP:
                if not is_looked_up:
                    is_looked_up = True
                    manager.look_up_coordinator(CoordinatorType.GROUP, self.coordinator_key)
            elif action is not ErrorAction.RETRY:
                self._end(action, code)
                break
        if self.result.is_completed:
            manager.pending_offsets.clear()
        elif not manager.pending_offsets:
            self.result.done()
        else:
            self.reenqueue()


class EndTxnHandler(TxnRequestHandler):
    priority = 3
    is_end_txn: ClassVar[bool] = True

    def __init__(self, manager: TransactionManager, request: EndTxn) -> None:
        super().__init__(manager, request, TransactionalRequestResult(f"EndTxn({str(request.committed).lower()})"))
        self._is_abort = not request.committed

    def handle_answer(self, answer: TxnAnswer) -> None:
        code = self._known(answer.code)
        if code == ErrorCode.none:
            self.manager.on_transaction_ended(answer.producer)
            self.result.done()
        elif self._is_abort and code == ErrorCode.transaction_abortable:
            self.fatal_error(ProducerError(f"The transaction could not be aborted: {kafka_name(code)}."))
        else:
            self._react(code)


class FindCoordinatorHandler(TxnRequestHandler):
    priority = 0
    is_find_coordinator: ClassVar[bool] = True

    def __init__(self, manager: TransactionManager, request: FindCoordinator) -> None:
        super().__init__(manager, request, TransactionalRequestResult("FindCoordinator"))
        self._kind = request.kind

    @property
    def coordinator_type(self) -> CoordinatorType | None:
        return None

    def handle_answer(self, answer: TxnAnswer) -> None:
        code = self._known(answer.code)
        if code == ErrorCode.none:
            self.manager.set_coordinator(self._kind, answer.node)
            self.result.done()
            return
        self._react(code)
