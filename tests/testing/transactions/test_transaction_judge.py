"""The judge of transactions: each kind of anomaly is told, and what is right is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakebroker.testing.history import describe
from fakebroker.testing.transactions.judge import (
    ABORTED_READ,
    DUPLICATE,
    FRACTURED_READ,
    LOST_WRITE,
    PRECOMMITTED_READ,
    REORDERED,
    TORN,
    UNSETTLED,
    TransactionHistory,
)

A, B = ("t", 0), ("t", 1)


def two_records() -> TransactionHistory:
    """Transaction t1 has written one record to each of two partitions, and asked for nothing."""
    history = TransactionHistory()
    history.begins("t1", "p")
    for place, value in ((A, b"a"), (B, b"b")):
        history.writes("t1", place, value)
        history.written(value, 0)
    return history


def commit(history: TransactionHistory) -> None:
    history.asks("t1", commits=True)
    history.ends("t1", committed=True)


def abort(history: TransactionHistory) -> None:
    history.asks("t1", commits=False)
    history.ends("t1", committed=False)


def read_all(history: TransactionHistory) -> None:
    for place, value in ((A, b"a"), (B, b"b")):
        history.reads("r", place, 0, value, 1)
        history.passes("r", place, 1)


def kinds(history: TransactionHistory) -> list[str]:
    history.finish()
    return [finding.kind for finding in history.findings]


def test_what_is_committed_is_read() -> None:
    history = two_records()
    commit(history)
    read_all(history)
    assert kinds(history) == []


def test_read_uncommitted_may_read_aborted_records() -> None:
    history = two_records()
    abort(history)
    for place, value in ((A, b"a"), (B, b"b")):
        history.reads("all", place, 0, value, is_committed=False)
        history.passes("all", place, 1, is_committed=False)
        history.passes("committed", place, 1)
    assert kinds(history) == []


def aborted_read(history: TransactionHistory) -> None:
    abort(history)
    history.reads("r", A, 0, b"a", 1)


def aborted_afterwards(history: TransactionHistory) -> None:
    history.asks("t1", commits=True)
    history.reads("r", A, 0, b"a", 1)
    history.ends("t1", committed=False)


def given_up(history: TransactionHistory) -> None:
    history.asks("t1", commits=False)
    history.reads("r", A, 0, b"a", 1)


def precommitted_read(history: TransactionHistory) -> None:
    history.reads("r", A, 0, b"a", 1)
    commit(history)


def torn(history: TransactionHistory) -> None:
    commit(history)
    history.reads("r", A, 0, b"a", 1)
    history.passes("r", A, 1)
    history.passes("r", B, 1)


def torn_without_a_response(history: TransactionHistory) -> None:
    history.asks("t1", commits=True)
    history.reads("r", B, 0, b"b", 1)
    history.passes("r", A, 1)
    history.passes("r", B, 1)


def lost(history: TransactionHistory) -> None:
    commit(history)
    history.passes("r", A, 1)


def lost_to_read_uncommitted(history: TransactionHistory) -> None:
    abort(history)
    history.passes("r", A, 1, is_committed=False)


def another_stands_there(history: TransactionHistory) -> None:
    history.writes(None, A, b"x")
    history.reads("r", A, 0, b"x", is_committed=False)


def from_no_producer(history: TransactionHistory) -> None:
    history.reads("r", A, 5, b"who?", is_committed=False)


def fractured(history: TransactionHistory) -> None:
    history.writes("t1", A, b"more")
    history.written(b"more", 1)
    commit(history)
    history.reads("r", A, 0, b"a", 1)


def fractured_and_seen_later(history: TransactionHistory) -> None:
    history.writes("t1", A, b"more")
    history.asks("t1", commits=True)
    history.reads("r", A, 0, b"a", 1)
    history.reads("r", A, 1, b"more", 2)


def doubled(history: TransactionHistory) -> None:
    history.reads("r", A, 3, b"a", is_committed=False)


def reordered(history: TransactionHistory) -> None:
    history.begins("t2", "p")
    history.writes("t2", A, b"next")
    history.written(b"next", 5)
    history.begins("t3", "p")
    history.writes("t3", A, b"last")
    history.written(b"last", 4)


def unsettled(history: TransactionHistory) -> None:
    history.unsettled("it never ends")


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        (aborted_read, ABORTED_READ),
        (aborted_afterwards, ABORTED_READ),
        (given_up, ABORTED_READ),
        (precommitted_read, PRECOMMITTED_READ),
        (torn, TORN),
        (torn_without_a_response, TORN),
        (lost, LOST_WRITE),
        (lost_to_read_uncommitted, LOST_WRITE),
        (another_stands_there, LOST_WRITE),
        (from_no_producer, LOST_WRITE),
        (fractured, FRACTURED_READ),
        (fractured_and_seen_later, FRACTURED_READ),
        (doubled, DUPLICATE),
        (reordered, REORDERED),
        (unsettled, UNSETTLED),
    ],
)
def test_each_anomaly_has_its_name(what: Callable[[TransactionHistory], None], kind: str) -> None:
    history = two_records()
    what(history)
    assert kinds(history) == [kind], describe(history.findings)


@pytest.mark.parametrize(("read", "to"), [([], 1), ([b"e"], 0), ([b"e", b"again"], 1)])
def test_an_effect_and_its_offset_go_together(read: list[bytes], to: int) -> None:
    history = TransactionHistory()
    for offset, value in enumerate((b"e", b"again")):
        history.begins(f"t{offset}", "p")
        history.writes(f"t{offset}", A, value)
        history.effect(("in", 0), 0, value)
        history.asks(f"t{offset}", commits=True)
        if value in read:
            history.reads("r", A, offset, value, 2)
    history.finish({("in", 0): to})
    assert [finding.kind for finding in history.findings] == [TORN]


def test_an_effect_with_its_offset_is_right() -> None:
    history = TransactionHistory()
    history.begins("t1", "p")
    history.writes("t1", A, b"e")
    history.effect(("in", 0), 0, b"e")
    history.asks("t1", commits=True)
    history.reads("r", A, 0, b"e", 1)
    history.finish({("in", 0): 1})
    assert history.findings == []
