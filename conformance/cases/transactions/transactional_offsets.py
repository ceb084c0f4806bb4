"""Offsets committed with a transaction: AddOffsetsToTxn, TxnOffsetCommit, and when which requests return them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.group_frames import delete_groups, join_group, sync_group
from conformance.group_steps import RANGE, nth
from conformance.offset_frames import offset_commit, offset_delete, offset_fetch
from conformance.scenario import AwaitCoordinator, AwaitTransaction, Case, ReadTransactions, Step
from conformance.transactions.frames import add_offsets, describe_transactions, end_txn, txn_offset_commit
from conformance.transactions.stand_ins import producer
from conformance.transactions.steps import Txn, ask, begin_another, both


def _commit(txn: Txn, offset: int = 5, partition: int = 0, **values: Any) -> bytes:
    given = {"version": 5 if txn.is_v2 else 4} | values
    return txn_offset_commit(txn.id, txn.group, [(txn.topic, partition, offset)], **given)


def _committed(txn: Txn, *, stable: bool = False, version: int = 8) -> bytes:
    return offset_fetch({txn.group: [(txn.topic, (0, 1))]}, version=version, require_stable=stable)


def _seen(txn: Txn) -> tuple[Step, ...]:
    """Fetch the offsets with require_stable and without, for named partitions and for all."""
    return ask(
        _committed(txn),
        _committed(txn, stable=True),
        _committed(txn, stable=True, version=7),
        _committed(txn, version=5),
        offset_fetch({txn.group: None}, require_stable=True),
        offset_fetch({txn.group: None}),
    )


def _begun(txn: Txn) -> tuple[Step, ...]:
    added = () if txn.is_v2 else ask(add_offsets(txn.id, txn.group))
    return (AwaitCoordinator(txn.group), *txn.begin(), *added)


def _both(txn: Txn, commit: bool = True) -> Sequence[Step]:
    """Pending, then there or not."""
    return (
        *_begun(txn),
        *ask(offset_commit(txn.group, [(txn.topic, 1, 3)])),
        *ask(_commit(txn), _commit(txn, 7, 1)),
        *_seen(txn),
        *txn.ended(commit),
        *_seen(txn),
        ReadTransactions(txn.id),
    )


def _aborted(txn: Txn) -> Sequence[Step]:
    return _both(txn, commit=False)


def _again(txn: Txn) -> Sequence[Step]:
    """Twice in one transaction, and others in between: the last one counts."""
    return (
        *_begun(txn),
        *ask(_commit(txn, 5), _commit(txn, 6), offset_commit(txn.group, [(txn.topic, 0, 99)])),
        *_seen(txn),
        *txn.ended(),
        *_seen(txn),
        *ask(offset_commit(txn.group, [(txn.topic, 0, 1)])),
        *_seen(txn),
    )


def _of_two(txn: Txn) -> Sequence[Step]:
    """Two transactions commit an offset of the same partition: the one that wrote last counts, whichever ends last."""
    other: dict[str, Any] = {"producer_id": producer(2)}
    id_2 = f"{txn.id}-2"
    version = 5 if txn.is_v2 else 4

    def commit_2(offset: int, partition: int, epoch: int) -> bytes:
        parts = [(txn.topic, partition, offset)]
        return txn_offset_commit(id_2, txn.group, parts, version=version, epoch=epoch, **other)

    def end_2(epoch: int) -> tuple[Step, ...]:
        ends = ask(end_txn(id_2, version=txn.end_version, epoch=epoch, **other))
        return *ends, AwaitTransaction(id_2, "CompleteCommit")

    add_2 = () if txn.is_v2 else ask(add_offsets(id_2, txn.group, **other))
    add = () if txn.is_v2 else ask(add_offsets(txn.id, txn.group))
    after = txn.after(1)
    return (
        *_begun(txn),
        *begin_another(id_2),
        *add_2,
        *ask(_commit(txn, 10, 0), commit_2(20, 0, 0), _commit(txn, 11, 1), _commit(txn, 12, 0)),
        *txn.ended(),
        *_seen(txn),
        *end_2(0),
        *_seen(txn),
        *add,
        *add_2,
        *ask(_commit(txn, 31, 1, epoch=after), commit_2(41, 1, after)),
        *end_2(after),
        *_seen(txn),
        *txn.ended(epoch=after),
        *_seen(txn),
    )


def _versions(txn: Txn) -> Sequence[Step]:
    return (
        AwaitCoordinator(txn.group),
        *txn.begin(),
        *ask(*(_commit(txn, version=version) for version in range(6))),
        *ask(describe_transactions(txn.id)),
        *ask(*(add_offsets(txn.id, txn.group, version=version) for version in range(5))),
        *ask(*(add_offsets(txn.id, txn.group, version=version, epoch=4) for version in range(5))),
        *ask(*(add_offsets(txn.id, txn.group, version=version, producer_id=4_000_009) for version in range(5))),
        *ask(*(add_offsets("", txn.group, version=version) for version in range(5))),
        *ask(*(_commit(txn, version=version) for version in range(6))),
        *ask(*(_commit(txn, version=version, epoch=4) for version in range(6))),
        *ask(*(_commit(txn, version=version, producer_id=4_000_009) for version in range(6))),
        *_seen(txn),
        *txn.ended(),
        *_seen(txn),
        *ask(*(_commit(txn, 9, version=version) for version in range(6))),
        *ask(describe_transactions(txn.id)),
    )


def _members(txn: Txn) -> Sequence[Step]:
    """KIP-447: a commit names the member and its generation."""
    joins = join_group(txn.group, nth(1), protocols=RANGE)
    return (
        *_begun(txn),
        *ask(join_group(txn.group, protocols=RANGE), conn="m"),
        *ask(joins, conn="m"),
        *ask(sync_group(txn.group, nth(1), assignments={nth(1): b"all"}, version=3), conn="m"),
        *(
            step
            for version in (2, 3, 4, 5)
            for member, generation, instance in (
                (nth(1), 1, None),
                (nth(1), 2, None),
                (nth(1), 0, None),
                ("nobody", 1, None),
                ("", 1, None),
                ("", -1, None),
                (nth(1), -1, None),
                (nth(1), 1, "static"),
            )
            for step in ask(
                _commit(txn, version=version, member_id=member, generation=generation, instance_id=instance)
            )
        ),
        *_seen(txn),
        *txn.ended(),
        *_seen(txn),
    )


def _rebalancing(txn: Txn) -> Sequence[Step]:
    """Commit while the group waits for assignments."""
    return (
        *_begun(txn),
        *ask(join_group(txn.group, protocols=RANGE), conn="m"),
        *ask(join_group(txn.group, nth(1), protocols=RANGE), conn="m"),
        *ask(*(_commit(txn, version=version, member_id=nth(1), generation=1) for version in (3, 4, 5))),
        *ask(_commit(txn, version=3)),
        *ask(_commit(txn, version=2)),
        *txn.ended(commit=False),
    )


def _by_id(txn: Txn) -> Sequence[Step]:
    """TxnOffsetCommit v6: topics by id, and errors by their own names (KIP-1319)."""
    joins = join_group(txn.group, nth(1), protocols=RANGE)
    return (
        *_begun(txn),
        *ask(_commit(txn, version=6, member_id="nobody", generation=1)),  # there is no such group
        *ask(
            txn_offset_commit(txn.id, txn.group, [(txn.topic, 0, 1), (txn.topic, 9, 1)], version=6),
            txn_offset_commit(txn.id, txn.group, [("txn-no-such-topic", 0, 1), (txn.topic, 1, 2)], version=6),
            txn_offset_commit(txn.id, txn.group, [("txn-no-such-topic", 0, 1)], version=6),
            txn_offset_commit(txn.id, txn.group, [], version=6),
            txn_offset_commit(txn.id, "", [(txn.topic, 0, 1)], version=6),
            _commit(txn, version=6, epoch=4),
            _commit(txn, 8, version=6),
        ),
        *ask(join_group(txn.group, protocols=RANGE), conn="m"),
        *ask(joins, conn="m"),
        *ask(sync_group(txn.group, nth(1), assignments={nth(1): b"all"}, version=3), conn="m"),
        *ask(*(_commit(txn, 9, version=6, member_id=nth(1), generation=generation) for generation in (1, 2, -1))),
        *_seen(txn),
        *txn.ended(),
        *_seen(txn),
    )


def _unknown(txn: Txn) -> Sequence[Step]:
    """Partitions that are not there, empty lists, no group, long metadata."""
    version = 5 if txn.is_v2 else 4
    return (
        *_begun(txn),
        *ask(
            txn_offset_commit(txn.id, txn.group, [(txn.topic, 0, 1), (txn.topic, 9, 1)], version=version),
            txn_offset_commit(txn.id, txn.group, [("txn-no-such-topic", 0, 1)], version=version),
            txn_offset_commit(txn.id, txn.group, [], version=version),
            txn_offset_commit(txn.id, "", [(txn.topic, 0, 1)], version=version),
            _commit(txn, metadata="m" * 5000),
            _commit(txn, metadata=None),
            _commit(txn, -1),
        ),
        *ask(add_offsets(txn.id, "")),
        *_seen(txn),
        *txn.ended(),
        *_seen(txn),
    )


def _deleted(txn: Txn) -> Sequence[Step]:
    """Delete the offsets of a group with pending offsets, and the group itself."""
    return (
        *_begun(txn),
        *ask(offset_commit(txn.group, [(txn.topic, 0, 3)])),
        *ask(_commit(txn, 5), _commit(txn, 6, 1)),
        *ask(offset_delete(txn.group, [(txn.topic, (0, 1))])),
        *_seen(txn),
        *ask(_commit(txn, 7)),
        *ask(delete_groups([txn.group])),
        *_seen(txn),
        *ask(describe_transactions(txn.id)),
        *txn.ended(),
        *_seen(txn),
    )


def _both_kinds(txn: Txn) -> Sequence[Step]:
    """Records and offsets in one transaction."""
    return (
        *_begun(txn),
        *txn.written(b"out"),
        *ask(_commit(txn)),
        *ask(describe_transactions(txn.id)),
        *ask(txn.read(), _committed(txn, stable=True)),
        *txn.ended(),
        *ask(txn.read(), _committed(txn, stable=True)),
        ReadTransactions(txn.id),
    )


CASES: list[Case] = [
    *both("offsets-commit", "offsets are pending until the COMMIT marker, then committed", _both, partitions=2, logs=0),
    *both(
        "offsets-abort", "offsets are pending until the ABORT marker, then as before", _aborted, partitions=2, logs=0
    ),
    *both("offsets-again", "offsets of the same partition twice", _again, partitions=2, logs=0),
    *both("offsets-of-two", "offsets of two transactions in one partition", _of_two, partitions=2, logs=0),
    *both(
        "offsets-versions",
        "each version, with and without AddOffsetsToTxn",
        _versions,
        partitions=2,
        logs=0,
        versions=(1, 2),
    ),
    *both("offsets-members", "member ids and generations (KIP-447)", _members, partitions=2, logs=0),
    *both("offsets-by-id", "offsets of topics by id (KIP-1319)", _by_id, partitions=2, logs=0),
    *both("offsets-rebalancing", "TxnOffsetCommit while the group rebalances", _rebalancing, partitions=2, logs=0),
    *both("offsets-unknown", "unknown partitions and groups", _unknown, partitions=2, logs=0),
    *both(
        "offsets-deleted",
        "offsets of a group, and the group, are deleted while offsets are pending",
        _deleted,
        partitions=2,
        logs=0,
    ),
    *both("offsets-and-records", "a transaction with offsets and records", _both_kinds, partitions=2, logs=1),
]
