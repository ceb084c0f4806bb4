"""Transactions among faults, drawn from seeds: both versions, one broker and several, readers of both kinds.

A seed that fails prints the line that runs it again; FAKEBROKER_MINUTES makes the search as long as it is told.
"""

from __future__ import annotations

import os
import time

import pytest
from support import doses

from fakebroker.testing.messages import Violation
from fakebroker.testing.transactions.plan import TransactionRun, random_transaction_plan
from fakebroker.testing.transactions.world import SETTLES_MS

STEPS = 80
SEEDS = range(doses.seeds(16, 60, "FAKEBROKER_TRANSACTION_SEEDS"))
PARTS = 4
MINUTES = float(os.environ.get("FAKEBROKER_MINUTES", "0"))


def check(seed: int) -> TransactionRun:
    run = TransactionRun(random_transaction_plan(seed, STEPS), seed, check_every=64)
    try:
        run.run()
    except Violation as violation:
        pytest.fail(f"{violation}\n\nAgain: fakebroker replay {seed} --transactions --steps {STEPS} --shrink")
    return run


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_rule_holds(part: int) -> None:
    committed = aborted = 0
    for seed in SEEDS[part::PARTS]:
        run = check(seed)
        assert run.settled_ms < SETTLES_MS
        assert run.torn == 0 or run.world.version == 1
        committed += sum(producer.committed for producer in run.world.producers)
        aborted += sum(producer.aborted for producer in run.world.producers)
    assert committed > 4 * len(SEEDS) // PARTS
    assert aborted > len(SEEDS) // PARTS // 2


@pytest.mark.skipif(not MINUTES, reason="make properties MINUTES=10 looks for so long")
def test_for_as_long_as_told() -> None:
    ends = time.monotonic() + 60 * MINUTES
    seed = time.time_ns() // 1_000_000 % 10**10
    while time.monotonic() < ends:
        check(seed)
        seed += 1
