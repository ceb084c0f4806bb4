"""Epochs of a producer that are used up: the next ones are of another producer id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.scenario import Case, Step
from conformance.transactions.frames import describe_producers, init_transactions
from conformance.transactions.loaded import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    LAST,
    LONG_AGO_MS,
    MINE,
    ONGOING,
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


def _exhausted_init(txn: Txn) -> Sequence[Step]:
    """The last epoch, then another id; the old one is nobody's."""
    return (
        *loaded(txn, value(txn, EMPTY, LAST - 1)),
        *ask_coordinator(init_transactions(txn.id)),
        *ask_coordinator(init_transactions(txn.id)),
        *described(txn),
        *ask_coordinator(goes_on(txn, LAST), goes_on(txn, LAST - 1), goes_on(txn, 0)),
        *ask_coordinator(txn.end(producer_id=MINE, epoch=LAST), txn.add(0, producer_id=MINE, epoch=LAST)),
        *ask_coordinator(init_transactions(txn.id)),
        *over(txn),
    )


def _exhausted_goes_on(txn: Txn) -> Sequence[Step]:
    """Initialise with the last epoch (KIP-360): the producer gets another id, and the same one again, then nothing
    more."""
    return (
        *loaded(txn, value(txn, COMPLETE_COMMIT, LAST)),
        *ask_coordinator(goes_on(txn, LAST - 2), goes_on(txn, LAST, 4_000_299)),
        *ask_coordinator(goes_on(txn, LAST)),
        *ask_coordinator(goes_on(txn, LAST)),
        *described(txn),
        *ask_coordinator(init_transactions(txn.id)),
        *ask_coordinator(goes_on(txn, LAST)),
        *over(txn),
    )


def _exhausted_again(txn: Txn) -> Sequence[Step]:
    """Repeat the request that got the last epoch, as if its response were lost."""
    return (
        *loaded(txn, value(txn, EMPTY, LAST - 1)),
        *ask_coordinator(goes_on(txn, LAST - 1)),
        *ask_coordinator(goes_on(txn, LAST - 1)),
        *described(txn),
        *ask_coordinator(goes_on(txn, LAST)),
        *over(txn),
    )


def _exhausted_end(txn: Txn, commit: bool = True) -> Sequence[Step]:
    """Version 2: the end brings the next id, and so does its repetition. Version 1: the next InitProducerId does."""
    mine: dict[str, Any] = {"producer_id": MINE, "epoch": LAST}
    return (
        *loaded(txn, value(txn, EMPTY, LAST - 1)),
        *ask_coordinator(init_transactions(txn.id)),
        *(() if txn.is_v2 else ask_coordinator(txn.add(0, **mine))),
        *ask(txn.write(b"a", **mine)),
        *described(txn),
        *ask_coordinator(txn.end(commit, **mine)),
        settled(txn),
        *described(txn),
        *ask_coordinator(txn.end(commit, **mine)),
        *ask_coordinator(txn.end(not commit, **mine)),
        *ask_coordinator(txn.end(commit, **mine | {"epoch": LAST + 1})),
        *ask(txn.write(b"late", sequence=1, **mine), describe_producers(txn.topic), txn.read()),
        *ask_coordinator(goes_on(txn, LAST)),
        settled(txn),
        *ask_coordinator(init_transactions(txn.id)),
        *over(txn),
    )


def _exhausted_abort(txn: Txn) -> Sequence[Step]:
    return _exhausted_end(txn, commit=False)


def _exhausted_empty(txn: Txn) -> Sequence[Step]:
    """An abort of what was never begun, with the last epoch."""
    mine: dict[str, Any] = {"producer_id": MINE, "epoch": LAST}
    return (
        *loaded(txn, value(txn, COMPLETE_COMMIT, LAST)),
        *ask_coordinator(txn.end(**mine)),
        *ask_coordinator(txn.end(commit=False, **mine)),
        settled(txn),
        *described(txn),
        *ask_coordinator(txn.end(commit=False, **mine)),
        settled(txn),
        *over(txn),
    )


def _exhausted_fence(txn: Txn) -> Sequence[Step]:
    """Another one begins while the transaction of the last epoch is open: the fence has the very last."""
    mine: dict[str, Any] = {"producer_id": MINE, "epoch": LAST}
    return (
        *loaded(txn, value(txn, ONGOING, LAST, partitions=[0])),
        *ask(txn.write(b"a", **mine)),
        *ask_coordinator(init_transactions(txn.id)),
        aborted(txn),
        *ask_coordinator(txn.end(commit=False, **mine), txn.end(**mine), txn.add(0, **mine)),
        *ask_coordinator(txn.end(commit=False, **mine | {"epoch": LAST + 1})),
        settled(txn),
        *ask(txn.write(b"late", sequence=1, **mine), describe_producers(txn.topic)),
        *ask_coordinator(goes_on(txn, LAST)),
        settled(txn),
        *ask_coordinator(init_transactions(txn.id)),
        *over(txn),
    )


def _exhausted_mine(txn: Txn) -> Sequence[Step]:
    """Abort an open transaction at the last epoch by an InitProducerId of its own producer."""
    mine: dict[str, Any] = {"producer_id": MINE, "epoch": LAST}
    return (
        *loaded(txn, value(txn, ONGOING, LAST, partitions=[0])),
        *ask(txn.write(b"a", **mine)),
        *ask_coordinator(goes_on(txn, LAST)),
        aborted(txn),
        *ask_coordinator(goes_on(txn, LAST)),
        *ask_coordinator(goes_on(txn, LAST + 1)),
        *over(txn),
    )


def _exhausted_timeout(txn: Txn) -> Sequence[Step]:
    """Load an open transaction at the last epoch that began long ago: it times out."""
    mine: dict[str, Any] = {"producer_id": MINE, "epoch": LAST}
    return (
        *loaded(txn, value(txn, ONGOING, LAST, partitions=[0], started_ms=LONG_AGO_MS))[:-2],
        aborted(txn),
        *ask_coordinator(txn.end(commit=False, **mine), txn.end(**mine), goes_on(txn, LAST)),
        settled(txn),
        *ask_coordinator(txn.end(commit=False, **mine | {"epoch": LAST + 1})),
        settled(txn),
        *ask_coordinator(init_transactions(txn.id)),
        *over(txn),
    )


def _behind_the_fence(txn: Txn) -> Sequence[Step]:
    """Load a transaction at the very last epoch, which no producer has."""
    fence: dict[str, Any] = {"producer_id": MINE, "epoch": LAST + 1}
    return (
        *loaded(txn, value(txn, COMPLETE_ABORT, LAST + 1)),
        *ask_coordinator(txn.end(**fence)),
        *ask_coordinator(txn.add(0, **fence, version=5, verify_only=True)),
        *ask_coordinator(goes_on(txn, LAST)),
        *ask_coordinator(goes_on(txn, LAST + 1)),
        *over(txn),
    )


CASES: list[Case] = [
    *both_three("exhausted-init", "after the last epoch the coordinator assigns another producer id", _exhausted_init),
    *both_three("exhausted-goes-on", "InitProducerId with the last epoch in the request (KIP-360)", _exhausted_goes_on),
    *both_three("exhausted-again", "InitProducerId with the last epoch, repeated", _exhausted_again),
    *both_three("exhausted-end", "a commit with the last epoch", _exhausted_end),
    *both_three("exhausted-abort", "an abort with the last epoch", _exhausted_abort),
    *both_three("exhausted-empty", "an abort without a transaction, with the last epoch", _exhausted_empty),
    *both_three("exhausted-fence", "an open transaction of the last epoch is fenced", _exhausted_fence),
    *both_three(
        "exhausted-mine",
        "an open transaction of the last epoch is aborted by InitProducerId of its own producer",
        _exhausted_mine,
    ),
    *both_three("exhausted-timeout", "a transaction of the last epoch times out", _exhausted_timeout),
    *both_three("exhausted-fenced", "the epoch after the last one, which no producer has", _behind_the_fence),
]
