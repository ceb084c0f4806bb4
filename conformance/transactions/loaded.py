"""Steps of cases in which a coordinator reads a transaction from its log when it takes over.

The case writes the record, as an admin may (client id "__admin_client"); then another broker coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.frames import batch_of, produce
from conformance.scenario import AwaitTransaction, Case, MoveLeader, ReadTransactions, Step
from conformance.transactions.frames import describe_transactions, init_transactions
from conformance.transactions.steps import Steps, Txn, ask, begin_another, both
from fakebroker.protocol.record_batch import Record
from fakebroker.protocol.topic_name import TRANSACTION_STATE_TOPIC_NAME
from fakebroker.protocol.transaction_records.transaction_log import (
    TransactionLogKey,
    TransactionLogValue,
    TransactionPartitions,
)

BOX = "transactions-three"
LAST = 32_766  # of the epochs that a producer may have; the one behind it is for its fence
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)
MINE, NEXT = 4_000_200, 4_000_201
LATE_MS = 4_000_000_000_000  # nothing is due then
LONG_AGO_MS = 1_700_000_000_000


def value(
    txn: Txn,
    state: int,
    epoch: int,
    *,
    partitions: Sequence[int] = (),
    topic: str | None = None,
    started_ms: int = LATE_MS,
    producer_id: int = MINE,
    **ids: int,
) -> TransactionLogValue:
    is_empty = state == EMPTY
    parts = (TransactionPartitions(topic or txn.topic, tuple(partitions)),) if partitions else ()
    return TransactionLogValue(
        producer_id,
        epoch,
        60_000,
        state,
        None if is_empty else parts,
        LATE_MS,
        -1 if is_empty else started_ms,
        client_transaction_version=ids.pop("client_version", 2 if txn.is_v2 and not is_empty else 0),
        **ids,
    )


def loaded(txn: Txn, *values: TransactionLogValue | None, version: int | None = None) -> tuple[Step, ...]:
    """Broker 2 coordinates, and has read these. Version 1 of transactions writes records of version 0."""
    version = (1 if txn.is_v2 else 0) if version is None else version
    key = TransactionLogKey(txn.id).encode()
    written = batch_of([Record(key, None if value is None else value.encode(version)) for value in values])
    frame = produce(TRANSACTION_STATE_TOPIC_NAME, written, client_id="__admin_client")
    return (
        AwaitTransaction(txn.id),
        MoveLeader(TRANSACTION_STATE_TOPIC_NAME, 1),
        *begin_another(f"{txn.id}-other"),  # once an id was told, markers are told without their time and epoch
        *ask(frame, conn="log"),
        MoveLeader(TRANSACTION_STATE_TOPIC_NAME, 2),
        AwaitTransaction(txn.id, broker=2),
        *described(txn),
    )


def ask_coordinator(*frames: bytes) -> tuple[Step, ...]:
    """The coordinator."""
    return ask(*frames, conn="b", broker=2)


def described(txn: Txn) -> tuple[Step, ...]:
    return ask_coordinator(describe_transactions(txn.id))


def over(txn: Txn) -> tuple[Step, ...]:
    return (
        *described(txn),
        ReadTransactions(txn.id, 2),
        MoveLeader(TRANSACTION_STATE_TOPIC_NAME, 1),
        AwaitTransaction(txn.id),
    )


def settled(txn: Txn) -> AwaitTransaction:
    return AwaitTransaction(txn.id, settled=True)


def aborted(txn: Txn) -> AwaitTransaction:
    """Wait for the abort. Do not describe the transaction then: in version 2 it has an id that was in no response
    yet."""
    return AwaitTransaction(txn.id, "CompleteAbort")


def goes_on(txn: Txn, epoch: int, producer_id: int = MINE) -> bytes:
    """KIP-360."""
    return init_transactions(txn.id, producer_id=producer_id, epoch=epoch)


def both_three(
    what: str, why: str, steps: Steps, *, partitions: int = 1, versions: Sequence[int] = (1, 2)
) -> list[Case]:
    return list(both(what, why, steps, partitions=partitions, box=BOX, replicas=3, versions=versions))
