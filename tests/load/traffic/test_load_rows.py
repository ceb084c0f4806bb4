"""Rows for Spark: all of them, in order, in batches, and in pieces between turns of the loop."""

from __future__ import annotations

import time

import pytest

from fakebroker_load.traffic.rows import PAUSE_S, RESULT_SCHEMA, ROWS_AT_ONCE, ROWS_OF_A_PIECE, RowQueue, to_batch

COUNT = 2 * ROWS_AT_ONCE + ROWS_OF_A_PIECE + 5


def added(count: int) -> RowQueue:
    results = RowQueue()
    for number in range(count):
        results.add({"run": "r", "sequence": number, "outcome": "answered", "also": ["7", str(number)]})
    results.close()
    return results


def test_all_rows_in_order_and_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    batches = list(added(COUNT).batches())
    assert [batch.num_rows for batch in batches] == [ROWS_AT_ONCE, ROWS_AT_ONCE, ROWS_OF_A_PIECE + 5]
    assert all(batch.schema == RESULT_SCHEMA for batch in batches)
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [row["sequence"] for row in rows] == list(range(COUNT))
    assert [row["also"][1] for row in rows] == [str(number) for number in range(COUNT)]
    assert rows[:ROWS_AT_ONCE] == to_batch(batches[0].to_pylist()).to_pylist()


def test_it_waits_between_the_pieces_unless_more_rows_do(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    batches = added(COUNT).batches()
    next(batches)
    next(batches)
    assert slept == []  # rows are waiting, and in the end that there are no more
    results = RowQueue()
    for number in range(ROWS_AT_ONCE):
        results.add({"run": "r", "sequence": number})
    assert next(results.batches()).num_rows == ROWS_AT_ONCE
    assert slept == [PAUSE_S] * (ROWS_AT_ONCE // ROWS_OF_A_PIECE)


def test_none() -> None:
    assert list(added(0).batches()) == []
