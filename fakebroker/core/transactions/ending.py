"""The validity of an EndTxn, and the state of the transaction after it.

Theory   Version 1: the producer's epoch stays, so a retry looks like the first request, and gets the result of that.
         Version 2: each end has an epoch of its own. A request with the present epoch is no retry but the next end,
         which may abort a transaction that never began.
Source   core/.../coordinator/transaction/TransactionCoordinator.scala endTransaction, endTransactionWithTV1 @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, final

from fakebroker.core.transactions.metadata import EPOCH_BUMP, MAX_EPOCH, NONE, TransactionMetadata, TransitMetadata
from fakebroker.core.transactions.states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    PREPARE_EPOCH_FENCE,
    TransactionState,
)
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.transaction_records.control_records import ABORT, COMMIT
from timingwheel.mypyc import mypyc_attr

_DECIDED: Final = (PREPARE_COMMIT, PREPARE_ABORT)
_COMPLETE: Final = (COMPLETE_COMMIT, COMPLETE_ABORT)


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int = NONE
    producer_epoch: int = NONE


NOBODY: Final = ProducerIdAndEpoch()


class TransactionUnchanged(Exception):
    """The request gets this error code without a change of the transaction."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


@mypyc_attr(acyclic=True)
@final
class End:
    """A request to end a transaction. `result` is ABORT or COMMIT. `is_from_client` is False for the coordinator
    itself, which has fenced the producer."""

    __slots__ = ("is_from_client", "now_ms", "producer", "result", "transaction_version")

    def __init__(
        self, producer: ProducerIdAndEpoch, result: int, transaction_version: int, is_from_client: bool, now_ms: int
    ) -> None:
        self.producer = producer
        self.result = result
        self.transaction_version = transaction_version
        self.is_from_client = is_from_client
        self.now_ms = now_ms


def decision(result: int) -> TransactionState:
    return PREPARE_COMMIT if result == COMMIT else PREPARE_ABORT


def prepare_end(transaction: TransactionMetadata, end: End, generate_producer_id: Callable[[], int]) -> TransitMetadata:
    """Return the prepared decision. Raise TransactionUnchanged."""
    if end.transaction_version >= EPOCH_BUMP:
        return _prepare_v2(transaction, end, generate_producer_id)
    return _prepare_v1(transaction, end)


def _prepare_v1(transaction: TransactionMetadata, end: End) -> TransitMetadata:
    now, (producer_id, epoch) = transaction.now, end.producer
    if now.producer_id != producer_id:
        raise TransactionUnchanged(ErrorCode.invalid_producer_id_mapping)
    if epoch < now.producer_epoch or (end.is_from_client and epoch != now.producer_epoch):
        raise TransactionUnchanged(ErrorCode.producer_fenced)
    if transaction.pending_state not in (None, PREPARE_EPOCH_FENCE):
        raise TransactionUnchanged(ErrorCode.concurrent_transactions)
    if now.state is ONGOING:
        if end.result == ABORT and transaction.pending_state is PREPARE_EPOCH_FENCE:
            transaction.fence(epoch)
        return transaction.prepare_abort_or_commit(decision(end.result), 0, NONE, end.now_ms)
    if now.state is _complete(end.result):
        raise TransactionUnchanged(ErrorCode.none)
    if now.state is decision(end.result):
        raise TransactionUnchanged(ErrorCode.concurrent_transactions)
    raise TransactionUnchanged(ErrorCode.invalid_txn_state)


def _prepare_v2(transaction: TransactionMetadata, end: End, generate_producer_id: Callable[[], int]) -> TransitMetadata:
    now, (producer_id, epoch), state = transaction.now, end.producer, transaction.now.state
    is_fence = transaction.pending_state is PREPARE_EPOCH_FENCE
    # A retry, after the first request brought the next producer id, or the next epoch.
    has_next_id = (
        not is_fence and now.prev_producer_id == producer_id and epoch == MAX_EPOCH - 1 and now.producer_epoch == 0
    )
    is_again = has_next_id or (not is_fence and now.producer_epoch == epoch + 1)
    if transaction.pending_state is not None and not is_fence:
        raise TransactionUnchanged(ErrorCode.concurrent_transactions)
    if now.producer_id != producer_id and not has_next_id:
        raise TransactionUnchanged(ErrorCode.invalid_producer_id_mapping)
    if not _has_valid_epoch(now, end, is_fence, is_again, has_next_id):
        raise TransactionUnchanged(ErrorCode.producer_fenced)
    if state in _DECIDED:
        is_known = state is decision(end.result)
        raise TransactionUnchanged(ErrorCode.concurrent_transactions if is_known else ErrorCode.invalid_txn_state)
    if state in _COMPLETE and is_again:
        raise TransactionUnchanged(ErrorCode.none if state is _complete(end.result) else ErrorCode.invalid_txn_state)
    if state is not ONGOING and end.result == COMMIT:
        raise TransactionUnchanged(ErrorCode.invalid_txn_state)  # no transaction to commit
    next_producer_id = generate_producer_id() if transaction.is_epoch_exhausted else NONE
    if is_fence and end.result == ABORT:
        transaction.pending_state = None
    return transaction.prepare_abort_or_commit(
        decision(end.result),
        end.transaction_version,
        next_producer_id,
        end.now_ms,
        no_partition_added=state is not ONGOING,
    )


def _has_valid_epoch(now: TransitMetadata, end: End, is_fence: bool, is_again: bool, has_next_id: bool) -> bool:
    epoch = end.producer.producer_epoch
    is_same = epoch == now.producer_epoch
    if is_fence:
        return (not end.is_from_client or is_same) and epoch >= now.producer_epoch
    if now.state in _DECIDED:
        return is_again and not has_next_id
    if now.state in _COMPLETE:
        return is_again or is_same
    return is_same


def _complete(result: int) -> TransactionState:
    return COMPLETE_COMMIT if result == COMMIT else COMPLETE_ABORT
