"""EndTxn: commit and abort, in which states and with which epochs."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.scenario import AwaitTransaction, Case, ReadTransactions, Step
from conformance.transactions.frames import describe_transactions, end_txn, init_transactions
from conformance.transactions.stand_ins import producer
from conformance.transactions.steps import Txn, ask, both


def _commit(txn: Txn, commit: bool = True) -> Sequence[Step]:
    return (
        *txn.begin(),
        *txn.written(b"a", b"b"),
        *txn.written(b"c", partition=1),
        *txn.written(b"d", sequence=2),
        *txn.ended(commit),
        *ask(describe_transactions(txn.id)),
        ReadTransactions(txn.id),
    )


def _abort(txn: Txn) -> Sequence[Step]:
    return _commit(txn, commit=False)


def _several(txn: Txn) -> Sequence[Step]:
    """One after the other; in version 2 each has its epoch, and sequences begin again."""
    steps: list[Step] = [*txn.begin()]
    for number, commit in enumerate((True, False, True, True, False)):
        epoch = txn.after(number)
        sequence = 0 if txn.is_v2 else number
        steps += [*txn.written(b"%d" % number, sequence=sequence, epoch=epoch), *txn.ended(commit, epoch=epoch)]
    return (*steps, ReadTransactions(txn.id))


def _empty(txn: Txn) -> Sequence[Step]:
    """End a transaction that has not begun. The response stays the same; then the state is as before, or one epoch
    further."""
    return (
        *txn.begin(),
        *ask(txn.end(), txn.end(commit=False)),
        *((txn.done(commit=False),) if txn.is_v2 else ()),
        *ask(describe_transactions(txn.id)),
        *ask(txn.end(epoch=txn.after(1))),
        *ask(txn.end(commit=False, epoch=txn.after(1))),
        *((txn.done(commit=False),) if txn.is_v2 else ()),
        *ask(init_transactions(txn.id)),
        ReadTransactions(txn.id),
    )


def _twice(txn: Txn, commit: bool = True) -> Sequence[Step]:
    """End a transaction again: the same way, the other way, and with later epochs."""
    return (
        *txn.begin(),
        *txn.written(b"v"),
        *txn.ended(commit),
        *ask(txn.end(commit)),
        *ask(txn.end(not commit)),
        *ask(txn.end(commit)),
        *ask(txn.end(epoch=1)),
        *ask(txn.end(epoch=2)),
        ReadTransactions(txn.id),
    )


def _twice_aborted(txn: Txn) -> Sequence[Step]:
    return _twice(txn, commit=False)


def _next_aborted(txn: Txn) -> Sequence[Step]:
    """Version 2: an abort with the epoch of now is one of a transaction that was never begun."""
    steps: list[Step] = [*txn.begin(), *txn.written(b"v"), *txn.ended()]
    for epoch in (1, 2):
        steps += [*ask(txn.end(commit=False, epoch=epoch)), txn.done(commit=False)]
    return (*steps, *ask(txn.end(commit=False, epoch=2)), *ask(txn.end(epoch=2)), ReadTransactions(txn.id))


def _wrong(txn: Txn) -> Sequence[Step]:
    """Ids and epochs that are others'."""
    return (
        *txn.begin(),
        *txn.written(b"v"),
        *ask(
            txn.end(epoch=1),
            txn.end(epoch=-1),
            txn.end(epoch=2**15 - 1),
            txn.end(producer_id=4_000_003),
            txn.end(producer_id=-1),
            end_txn("", version=txn.end_version),
            end_txn(f"{txn.id}-nobody", version=txn.end_version),
        ),
        *txn.ended(),
        *ask(txn.end(producer_id=producer(1), epoch=txn.after(1) + 1)),
    )


def _versions(txn: Txn) -> Sequence[Step]:
    """Each version: a commit of a transaction with a record, an error that older versions do not know."""
    steps: list[Step] = [*txn.begin()]
    epoch = 0
    for version in range(6):
        sequence = version if epoch == 0 else 0
        steps += [
            *ask(txn.add(0, epoch=epoch), txn.write(b"v", epoch=epoch, sequence=sequence)),
            *ask(txn.end(version=version, epoch=epoch + 5)),
            *ask(txn.end(version=version, epoch=epoch)),
            txn.done(),
            *ask(txn.end(version=version, epoch=epoch)),
        ]
        epoch += version == 5
    return (*steps, *ask(txn.write(b"behind", epoch=epoch)), *ask(describe_transactions(txn.id)))


def _mixed(txn: Txn) -> Sequence[Step]:
    """A client that knows less than the cluster: v4 of EndTxn, then v5, then v4."""
    return (
        *txn.begin(),
        *ask(txn.add(0), txn.write(b"a")),
        *txn.ended(version=4),
        *ask(txn.write(b"b", sequence=1, version=12)),
        *txn.ended(version=5),
        *ask(txn.add(0, epoch=1), txn.write(b"c", epoch=1, version=11)),
        *txn.ended(version=4, epoch=1, commit=False),
        *ask(txn.end(version=5, epoch=1)),
        ReadTransactions(txn.id),
    )


def _deleted(txn: Txn) -> Sequence[Step]:
    """Commit partitions that were added and not written: the transaction completes."""
    return (
        *txn.begin(),
        *ask(txn.add(0, 1)),
        *txn.ended(),
        ReadTransactions(txn.id),
    )


def _epochs(txn: Txn) -> Sequence[Step]:
    """Send EndTxn for an unknown transactional id, then for an initialised one with wrong epochs."""
    return (
        AwaitTransaction(txn.id),
        *ask(end_txn(txn.id, producer_id=4_000_004, version=txn.end_version)),
        *ask(init_transactions(txn.id)),
        *ask(txn.end(epoch=-1), txn.end(epoch=1)),
    )


CASES: list[Case] = [
    *both("end-commit", "two partitions, three batches: each partition gets a COMMIT marker", _commit, partitions=2),
    *both("end-abort", "two partitions, three batches: each partition gets an ABORT marker", _abort, partitions=2),
    *both("end-several", "several transactions one after the other", _several),
    *both("end-empty", "EndTxn of a transaction without partitions", _empty, partitions=0),
    *both("end-twice", "a repeated commit: its result again, or INVALID_TXN_STATE", _twice),
    *both("end-twice-aborted", "a repeated abort", _twice_aborted),
    *both("end-next", "an abort without a transaction returns a new epoch (KIP-890)", _next_aborted, versions=(2,)),
    *both("end-wrong", "producer ids and epochs of other producers", _wrong),
    *both("end-versions", "each version", _versions, versions=(1, 2)),
    *both(
        "end-mixed",
        "a client of transaction version 1 on a cluster of version 2, and the other way round",
        _mixed,
        versions=(1, 2),
    ),
    *both(
        "end-unwritten",
        "partitions that were added without records get a marker too",
        _deleted,
        partitions=2,
    ),
    *both("end-unbegun", "EndTxn of an unknown transactional id, and of one with wrong epochs", _epochs, partitions=0),
]
