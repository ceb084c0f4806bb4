"""Transactions over three brokers: leaders and coordinators move, replicas are frozen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from conformance.frames import batch, produce, request
from conformance.scenario import (
    AwaitCoordinator,
    AwaitIsr,
    AwaitTransaction,
    Case,
    Freeze,
    Listen,
    MoveLeader,
    ReadLog,
    ReadTransactions,
    Send,
    Settle,
    Step,
    Thaw,
)
from conformance.shared_steps import warm
from conformance.transactions.frames import (
    FIRST,
    add_offsets,
    describe_producers,
    describe_transactions,
    find_transaction_coordinator,
    init_transactions,
    list_transactions,
    marker,
    txn_offset_commit,
    write_markers,
)
from conformance.transactions.steps import Steps, Txn, ask, both, numbered

_LOG = "__transaction_state"
_ALTER_PARTITION_REASSIGNMENTS = 45
BOX = "transactions-three"


def _coordinated(txn: Txn, broker: int = 1) -> tuple[Step, ...]:
    """A broker coordinates all transactions."""
    return AwaitTransaction(txn.id), MoveLeader(_LOG, broker), AwaitTransaction(txn.id)


def _log_on(txn: Txn, *brokers: int) -> tuple[Step, ...]:
    """Put the transaction log on these replicas, so that the others may be frozen."""
    part = {"partition_index": 0, "replicas": brokers}
    values = {"timeout": timedelta(seconds=30), "topics": [{"name": _LOG, "partitions": [part]}]}
    return (
        *ask(request(_ALTER_PARTITION_REASSIGNMENTS, 0, values), conn="admin"),
        AwaitIsr(_LOG, brokers),
        AwaitTransaction(txn.id),
    )


def _led_elsewhere(txn: Txn) -> Sequence[Step]:
    """Partitions of two other brokers; their leaders ask the coordinator, and are sent markers."""
    return (
        MoveLeader(txn.topic, 2, 0),
        MoveLeader(txn.topic, 3, 1),
        *_coordinated(txn),
        *txn.begin(),
        *(() if txn.is_v2 else ask(txn.add(0, 1))),
        *ask(txn.write(b"a"), conn="b", broker=2),
        *ask(txn.write(b"b", partition=1), conn="c", broker=3),
        *ask(txn.write(b"nobody's", partition=1, epoch=4), conn="c", broker=3),
        *ask(describe_transactions(txn.id)),
        *txn.ended(),
        *ask(txn.read(), txn.last_stable(), describe_producers(txn.topic), conn="b", broker=2),
        ReadTransactions(txn.id),
    )


def _not_coordinator(txn: Txn) -> Sequence[Step]:
    """Brokers that do not coordinate say so."""
    group = f"{txn.id}-group"
    return (
        *_coordinated(txn),
        *txn.begin(),
        *ask(
            init_transactions(txn.id),
            txn.add(0),
            txn.add(0, version=5),
            txn.add(0, version=5, verify_only=True),
            add_offsets(txn.id, group),
            txn.end(),
            describe_transactions(txn.id),
            list_transactions(pattern=txn.id),
            find_transaction_coordinator(txn.id, version=3),
            conn="b",
            broker=2,
        ),
    )


def _moves_open(txn: Txn) -> Sequence[Step]:
    """The next coordinator knows of the open transaction."""
    return (
        *_coordinated(txn),
        *txn.begin(),
        *txn.written(b"a"),
        *_coordinated(txn, 2),
        *ask(describe_transactions(txn.id), txn.end(), conn="a"),
        *ask(describe_transactions(txn.id), conn="b", broker=2),
        *ask(txn.write(b"b", sequence=1)),
        *ask(txn.end(), conn="b", broker=2),
        txn.done(),
        *ask(describe_transactions(txn.id), txn.end(), conn="b", broker=2),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=txn.after(1)), conn="b", broker=2),
        *_coordinated(txn),
    )


def _moves_ended(txn: Txn) -> Sequence[Step]:
    """Move the coordinator of an ended transaction: it forgets the epoch before."""
    return (
        *_coordinated(txn),
        *txn.begin(),
        *txn.written(b"a"),
        *txn.ended(),
        *_coordinated(txn, 3),
        *ask(describe_transactions(txn.id), conn="c", broker=3),
        *ask(txn.end(), conn="c", broker=3),
        *ask(txn.end(commit=False), conn="c", broker=3),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=0), conn="c", broker=3),
        *_coordinated(txn),
    )


def _leader_moves(txn: Txn) -> Sequence[Step]:
    """Move the leader of a partition: the next one knows of the open transaction and of its producer."""
    return (
        *_coordinated(txn),
        *warm(txn.topic),
        *txn.begin(),
        *txn.written(b"a"),
        MoveLeader(txn.topic, 2),
        *ask(txn.write(b"there", sequence=1)),
        *ask(txn.write(b"b", sequence=1), describe_producers(txn.topic), txn.last_stable(), conn="b", broker=2),
        *txn.ended(commit=False),
        *ask(txn.read(), describe_producers(txn.topic), conn="b", broker=2),
        MoveLeader(txn.topic, 1),
        ReadLog(txn.topic),
        *ask(txn.read(), describe_producers(txn.topic)),
    )


def _frozen_data(txn: Txn) -> Sequence[Step]:
    """Freeze a replica of the partition: the marker is written and not committed; EndTxn gets its response."""
    return (
        *_coordinated(txn),
        *_log_on(txn, 1, 2),
        *warm(txn.topic),
        *txn.begin(),
        *ask(txn.add(0)),
        Send(numbered([txn.write(b"a")]), "b"),
        Settle("b"),
        Freeze(3),
        *ask(txn.end()),
        *ask(describe_transactions(txn.id)),
        *ask(txn.end()),
        *ask(txn.end(commit=False)),
        *ask(txn.end(epoch=1)),
        *ask(txn.add(0, epoch=txn.after(1)), txn.add(0, epoch=txn.after(1), version=5)),
        *ask(txn.add(0, epoch=0), txn.add(0, epoch=txn.after(1), version=5, verify_only=True)),
        *ask(init_transactions(txn.id)),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=txn.after(1))),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=7)),
        *ask(describe_transactions(txn.id), list_transactions(pattern=txn.id, states=["PrepareCommit"])),
        *ask(txn.read(), txn.last_stable(), describe_producers(txn.topic)),
        Thaw(3),
        txn.done(),
        *ask(txn.end()),
        *_log_on(txn, 1, 2, 3),
        ReadTransactions(txn.id),
    )


def _frozen_abort(txn: Txn) -> Sequence[Step]:
    """Abort by another producer's InitProducerId while a replica of the partition is frozen."""
    return (
        *_coordinated(txn),
        *_log_on(txn, 1, 2),
        *warm(txn.topic),
        *txn.begin(),
        *txn.written(b"a"),
        Freeze(3),
        *ask(init_transactions(txn.id)),
        *ask(init_transactions(txn.id)),
        *ask(describe_transactions(txn.id)),
        *ask(txn.end(), txn.end(epoch=1), txn.end(commit=False, epoch=1), txn.end(commit=False, epoch=0)),
        Thaw(3),
        txn.done(commit=False),
        *ask(init_transactions(txn.id)),
        *_log_on(txn, 1, 2, 3),
        ReadTransactions(txn.id),
    )


def _frozen_log(txn: Txn) -> Sequence[Step]:
    """Freeze the followers of the transaction log: the first request is parked, others get a retriable error."""
    return (
        *_coordinated(txn),
        *warm(txn.topic),
        *txn.begin(timeout_ms=60_000),
        *txn.written(b"a"),
        Freeze(2),
        Send(numbered([txn.end()]), "b"),
        Listen(200, "b"),
        *ask(describe_transactions(txn.id)),
        *ask(txn.end(), txn.end(commit=False), init_transactions(txn.id)),
        *ask(txn.add(0), txn.add(0, version=5), txn.add(0, version=5, verify_only=True)),
        *ask(txn.read()),
        Thaw(2),
        Settle("b"),
        txn.done(),
        ReadTransactions(txn.id),
    )


def _moves_prepared(txn: Txn) -> Sequence[Step]:
    """The next coordinator goes on with the markers of what was decided."""
    return (
        *_coordinated(txn),
        *_log_on(txn, 1, 2),
        *warm(txn.topic),
        *txn.begin(),
        *txn.written(b"a"),
        Freeze(3),
        *ask(txn.end()),
        *ask(describe_transactions(txn.id)),
        *_coordinated(txn, 2),
        *ask(describe_transactions(txn.id), txn.end(), init_transactions(txn.id), conn="b", broker=2),
        Thaw(3),
        txn.done(),
        *ask(txn.read()),
        *_coordinated(txn),
        *_log_on(txn, 1, 2, 3),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=txn.after(1))),
    )


def _other_epochs(txn: Txn) -> Sequence[Step]:
    """Markers have the coordinator's epoch; those of one before are refused."""
    here = {txn.topic: (0,)}
    return (
        *_coordinated(txn),
        *txn.begin(),
        *txn.written(b"a"),
        *ask(write_markers(marker(here, coordinator_epoch=1_000, epoch=txn.after(1), commit=False))),
        *ask(txn.read(), describe_producers(txn.topic)),
    )


def _verify_elsewhere(txn: Txn) -> Sequence[Step]:
    """A partition that was not added, of another broker."""
    return (
        MoveLeader(txn.topic, 2),
        *_coordinated(txn),
        *txn.begin(),
        *ask(
            *(txn.write(b"v", version=version) for version in (9, 10, 11)),
            produce(txn.topic, batch(b"plain")),
            conn="b",
            broker=2,
        ),
        *ask(describe_transactions(txn.id)),
    )


def _offsets(txn: Txn) -> Sequence[Step]:
    """The group has another coordinator."""
    group = f"{txn.id}-group"
    return (
        AwaitCoordinator(group),
        MoveLeader("__consumer_offsets", 1),
        AwaitCoordinator(group),
        *_coordinated(txn),
        *txn.begin(),
        *ask(add_offsets(txn.id, group)),
        *ask(
            *(
                txn_offset_commit(txn.id, group, [(txn.topic, 0, 3)], version=version, producer_id=4_000_012)
                for version in (3, 4, 5)
            ),
            conn="b",
            broker=2,
        ),
        *ask(txn.end(version=4)),
        txn.done(),
    )


def _three(what: str, why: str, steps: Steps, *, logs: int = 1, partitions: int = 1) -> list[Case]:
    return list(both(what, why, steps, partitions=partitions, logs=logs, box=BOX, replicas=3, versions=(1, 2)))


CASES: list[Case] = [
    *_three("led-elsewhere", "partitions with other leaders", _led_elsewhere, partitions=2, logs=0),
    *_three("not-coordinator", "brokers that are not the coordinator: NOT_COORDINATOR", _not_coordinator, logs=0),
    *_three("moves-open", "the coordinator moves during an open transaction", _moves_open),
    *_three("moves-ended", "the coordinator moves after an end", _moves_ended),
    *_three("leader-moves", "a partition's leader moves during an open transaction", _leader_moves),
    *_three("frozen-data", "COMMIT markers that cannot be replicated", _frozen_data, logs=0),
    *_three("frozen-abort", "ABORT markers that cannot be replicated", _frozen_abort, logs=0),
    *_three("frozen-log", "a prepared state that is not replicated", _frozen_log),
    *_three("moves-prepared", "the coordinator moves before all markers are written", _moves_prepared, logs=0),
    *_three("other-epochs", "coordinator epochs in WriteTxnMarkers", _other_epochs, logs=0),
    *_three("verify-elsewhere", "a partition of another broker that was not added", _verify_elsewhere, logs=0),
    *_three("offsets-elsewhere", "brokers that are not the coordinator of the group", _offsets, logs=0),
]
