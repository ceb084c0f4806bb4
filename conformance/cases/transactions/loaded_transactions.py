"""Transactions that a coordinator reads from its log when it takes over: open ones, ends that were decided, ids that
are gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.scenario import Case, Step
from conformance.transactions.frames import describe_producers, init_transactions, list_transactions
from conformance.transactions.loaded import (
    COMPLETE_COMMIT,
    LAST,
    LONG_AGO_MS,
    MINE,
    NEXT,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    aborted,
    ask_coordinator,
    both_three,
    described,
    goes_on,
    loaded,
    over,
    settled,
    value,
)
from conformance.transactions.steps import Txn, ask


def _timed_out(txn: Txn) -> Sequence[Step]:
    """Late ends, with each epoch that there was."""
    steps: list[Step] = [
        *loaded(txn, value(txn, ONGOING, 5, partitions=[0], started_ms=LONG_AGO_MS))[:-2],
        aborted(txn),
        *described(txn),
    ]
    for epoch in (5, 6, 7):
        for commit in (True, False):
            steps += [*ask_coordinator(txn.end(commit, producer_id=MINE, epoch=epoch)), settled(txn)]
    return *steps, *over(txn)


def _open(txn: Txn) -> Sequence[Step]:
    """An open one goes on, in its partitions and another."""
    mine: dict[str, Any] = {"producer_id": MINE, "epoch": 3}
    return (
        *loaded(txn, value(txn, ONGOING, 3, partitions=[0])),
        *ask_coordinator(list_transactions(pattern=txn.id), txn.add(0, **mine), txn.add(1, **mine)),
        *ask(txn.write(b"a", **mine), txn.write(b"b", partition=1, **mine)),
        *ask_coordinator(txn.end(**mine)),
        settled(txn),
        *ask_coordinator(txn.end(**mine)),
        *over(txn),
    )


def _decided(txn: Txn, state: int) -> Sequence[Step]:
    """Load a decided transaction: the coordinator that takes over writes the markers."""
    epoch = 4 if txn.is_v2 else 3
    return (
        *loaded(txn, value(txn, state, epoch, partitions=[0, 1]))[:-2],
        settled(txn),
        *described(txn),
        *ask_coordinator(txn.end(state == PREPARE_COMMIT, producer_id=MINE, epoch=3)),
        *ask(txn.read(), describe_producers(txn.topic)),
        *over(txn),
    )


def _decided_commit(txn: Txn) -> Sequence[Step]:
    return _decided(txn, PREPARE_COMMIT)


def _decided_abort(txn: Txn) -> Sequence[Step]:
    return _decided(txn, PREPARE_ABORT)


def _decided_next(txn: Txn) -> Sequence[Step]:
    """The decision named the next id."""
    decided = value(txn, PREPARE_COMMIT, LAST + 1, partitions=[0], previous_producer_id=MINE, next_producer_id=NEXT)
    mine: dict[str, Any] = {"producer_id": MINE, "epoch": LAST}
    return (
        *loaded(txn, decided)[:-2],
        settled(txn),
        *described(txn),
        *ask_coordinator(txn.end(**mine)),
        *ask_coordinator(txn.end(producer_id=NEXT, epoch=0)),
        *ask_coordinator(goes_on(txn, LAST)),
        *over(txn),
    )


def _decided_nowhere(txn: Txn) -> Sequence[Step]:
    """Load a decided transaction of a topic and a partition that do not exist."""
    decided = value(txn, PREPARE_COMMIT, 3, partitions=[0, 9])
    return (*loaded(txn, decided)[:-2], settled(txn), *over(txn))


def _decided_deleted(txn: Txn) -> Sequence[Step]:
    decided = value(txn, PREPARE_ABORT, 3, partitions=[0], topic=f"{txn.topic}-was-there")
    return (*loaded(txn, decided)[:-2], settled(txn), *over(txn))


def _unlisted(txn: Txn) -> Sequence[Step]:
    """Decided, and all markers were written."""
    return (*loaded(txn, value(txn, PREPARE_COMMIT, 3))[:-2], settled(txn), *over(txn))


def _other_version(txn: Txn) -> Sequence[Step]:
    """Records as another version of transactions writes them."""
    mine: dict[str, Any] = {"producer_id": MINE, "epoch": 3}
    of_others = value(txn, ONGOING, 3, partitions=[0], client_version=0)
    return (
        *loaded(txn, of_others, version=0 if txn.is_v2 else 1),
        *ask_coordinator(txn.end(version=4, **mine)),
        settled(txn),
        *described(txn),
        *ask_coordinator(init_transactions(txn.id)),
        *over(txn),
    )


def _gone(txn: Txn) -> Sequence[Step]:
    """Expired: the id begins anew."""
    return (
        *loaded(txn, value(txn, COMPLETE_COMMIT, 3), None),
        *ask_coordinator(txn.end(producer_id=MINE, epoch=3), goes_on(txn, 3)),
        *over(txn),
    )


CASES: list[Case] = [
    *both_three("loaded-late", "EndTxn after the timeout, with each epoch", _timed_out),
    *both_three("loaded-open", "a coordinator that takes over continues an open transaction", _open, partitions=2),
    *both_three(
        "loaded-commit", "a coordinator that takes over completes a prepared commit", _decided_commit, partitions=2
    ),
    *both_three(
        "loaded-abort", "a coordinator that takes over completes a prepared abort", _decided_abort, partitions=2
    ),
    *both_three("loaded-next-id", "a prepared transaction with the next producer id", _decided_next, versions=(2,)),
    *both_three("loaded-no-partition", "transaction markers for an unknown partition", _decided_nowhere),
    *both_three("loaded-no-topic", "transaction markers for an unknown topic", _decided_deleted),
    *both_three("loaded-no-marks", "a prepared transaction without markers left to write", _unlisted),
    *both_three("loaded-other-version", "records of the other transaction version", _other_version),
    *both_three("loaded-gone", "a transactional id that has expired", _gone),
]
