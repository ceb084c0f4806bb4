"""Transactions under Hypothesis: every step is judged, and held against the bytes of the logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import settings

from fakebroker.testing.transactions.machine import TransactionMachine

TestTransactionMachine = TransactionMachine.TestCase
TestTransactionMachine.settings = settings(stateful_step_count=30)


@pytest.fixture(scope="module", autouse=True)
def count_steps(simulated: Counter[str]) -> Iterator[None]:
    before = TransactionMachine.steps
    yield
    simulated["of transactions"] += TransactionMachine.steps - before
