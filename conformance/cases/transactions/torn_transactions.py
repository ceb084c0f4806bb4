"""A request that is late falls into the next transaction: torn with version 1, refused with version 2 (KIP-890)."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.scenario import Case, ReadTransactions, Step
from conformance.transactions.frames import describe_transactions
from conformance.transactions.steps import Txn, ask, both

_ALICE, _BOB = 0, 1


def _first(txn: Txn) -> Sequence[Step]:
    """A transaction in both partitions, committed; what the producer sent before that is still on its way."""
    return (
        *txn.begin(),
        *txn.written(b"alice -10", partition=_ALICE),
        *txn.written(b"bob +10", partition=_BOB),
        *txn.ended(),
    )


def _reads(txn: Txn) -> Sequence[Step]:
    return (
        *ask(txn.read(partition=_ALICE), txn.read(partition=_BOB), describe_transactions(txn.id)),
        ReadTransactions(txn.id),
    )


def _late_end(txn: Txn, commit: bool = True) -> Sequence[Step]:
    epoch, sequence = txn.after(1), 0 if txn.is_v2 else 1
    return (
        *_first(txn),
        *txn.written(b"alice -99", partition=_ALICE, epoch=epoch, sequence=sequence),
        *ask(txn.end(commit), conn="held"),
        *(() if txn.is_v2 else (txn.done(commit),)),
        *txn.written(b"bob +99", partition=_BOB, epoch=epoch, sequence=sequence),
        *txn.ended(not commit, epoch=epoch),
        *_reads(txn),
    )


def _late_abort(txn: Txn) -> Sequence[Step]:
    return _late_end(txn, commit=False)


def _late_partitions(txn: Txn) -> Sequence[Step]:
    """Send AddPartitionsToTxn late: it begins a transaction that no producer knows of; with version 2 its epoch is
    over."""
    return (
        *_first(txn),
        *ask(txn.add(_BOB), conn="held"),
        *ask(describe_transactions(txn.id)),
        *ask(txn.end(commit=False, epoch=txn.after(1))),
        txn.done(commit=False),
        *_reads(txn),
    )


def _late_records(txn: Txn) -> Sequence[Step]:
    """Records of the first transaction: between the two, and in the second, which has added their partition."""
    epoch = txn.after(1)
    late = txn.write(b"late", partition=_ALICE, sequence=1)
    return (
        *_first(txn),
        *ask(late, conn="held"),
        *(() if txn.is_v2 else ask(txn.add(_ALICE))),
        *ask(late, conn="held"),
        *txn.written(b"next", partition=_BOB, epoch=epoch, sequence=0 if txn.is_v2 else 1),
        *txn.ended(epoch=epoch),
        *_reads(txn),
    )


CASES: list[Case] = [
    *both("tear-commit", "a late commit ends the next transaction, or is refused", _late_end, partitions=2),
    *both("tear-abort", "a late abort ends the next transaction: half of it is lost", _late_abort, partitions=2),
    *both(
        "tear-partitions",
        "late AddPartitionsToTxn starts a transaction that no producer knows",
        _late_partitions,
        partitions=2,
    ),
    *both("tear-records", "late records join the next transaction", _late_records, partitions=2),
]
