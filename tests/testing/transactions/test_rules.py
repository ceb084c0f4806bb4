"""The rules of transactions in one log, by hand (testing/rules/transactions.py)."""

from __future__ import annotations

import pytest

from fakebroker.testing.messages import ClientBatch
from fakebroker.testing.oracle_partition import OracleLogEntry
from fakebroker.testing.rules.transactions import committed, last_stable_offset

# A letter is a batch of that producer, small ones are of none; then a marker: + of a commit, - of an abort.
LOG = "A B x A+ B B- x A"


def log(text: str) -> list[OracleLogEntry]:
    entries = []
    for base, word in enumerate(text.split()):
        producer = None if word[0].islower() else (ord(word[0]), 0, 0)
        commits = {"+": True, "-": False}.get(word[1:])
        ident = b"%d" % base
        batch = ClientBatch(ident, 1, producer, is_transactional=producer is not None, commits=commits)
        entries.append(OracleLogEntry(base, base + 1, batch, 0, 0))
    return entries


@pytest.mark.parametrize(("watermark", "stable"), [(0, 0), (1, 0), (3, 0), (4, 1), (5, 1), (6, 6), (7, 7), (8, 7)])
def test_it_is_stable_up_to_what_is_not_decided(watermark: int, stable: int) -> None:
    assert last_stable_offset(log(LOG), watermark) == stable


@pytest.mark.parametrize(
    ("offset", "limit", "kept"),
    [(0, 7, [0, 2, 3, 5, 6]), (1, 6, [2, 3, 5]), (4, 7, [5, 6]), (0, 2, [0]), (7, 7, [])],
)
def test_what_is_aborted_is_left_out_wherever_its_marker_stands(offset: int, limit: int, kept: list[int]) -> None:
    assert committed(log(LOG), offset, limit) == tuple(b"%d" % base for base in kept)


def test_a_marker_of_another_producer_ends_nothing() -> None:
    assert last_stable_offset(log("B+ A B- A"), 4) == 1
    assert committed(log("A- A+ B"), 0, 2) == (b"0", b"1")
