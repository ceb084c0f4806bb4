"""Whole clusters drawn from seeds: each step is compared with the oracle, at night more than 100,000 of them.

A seed that fails prints the line that runs it again. FAKEBROKER_MINUTES makes the search as long as it is told
(`make properties`); it begins at a number taken from the clock, so that each looks at something new.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import Any

import pytest
from support import doses

from fakebroker.testing.messages import ClientOutcome, ClientProduce, Violation
from fakebroker.testing.plan import random_plan
from fakebroker.testing.replay import command
from fakebroker.testing.run import OFTEN, Run
from fakebroker.testing.side_by_side import SideBySide

STEPS = 200
SEEDS = range(doses.seeds(40, 500))
PARTS = 5  # tests that share them, so that several processes can
FEW = 100  # take no time
MINUTES = float(os.environ.get("FAKEBROKER_MINUTES", "0"))


def simulate(seed: int, simulated: Counter[str]) -> Run:
    run = Run(seed)
    try:
        for action in random_plan(seed, STEPS):
            run.perform(action)
        run.finish()
    except Violation as violation:
        pytest.fail(f"{violation}\n\nAgain:   {command(seed, STEPS)}\nShorter: {command(seed, STEPS)} --shrink")
    simulated["from seeds"] += run.steps
    return run


def test_the_parts_are_all_the_seeds() -> None:
    assert sorted(seed for part in range(PARTS) for seed in SEEDS[part::PARTS]) == list(SEEDS)


@pytest.mark.parametrize("part", [pytest.param(p, marks=[pytest.mark.slow] * (len(SEEDS) > FEW)) for p in range(PARTS)])
def test_the_seeds_hold(part: int, simulated: Counter[str]) -> None:
    """FAKEBROKER_SEEDS=1000 looks longer."""
    seeds = SEEDS[part::PARTS]
    assert sum(simulate(seed, simulated).steps for seed in seeds) >= len(seeds) * STEPS


@pytest.mark.skipif(not MINUTES, reason="make properties MINUTES=10 looks for so long")
def test_for_as_long_as_told(simulated: Counter[str]) -> None:
    ends = time.monotonic() + 60 * MINUTES
    seed = time.time_ns() // 1_000_000 % 10**10
    while time.monotonic() < ends:
        simulate(seed, simulated)
        seed += 1


@pytest.mark.slow
def test_no_connection_is_kept() -> None:
    for seed in range(5):
        run = Run(seed)
        for action in random_plan(seed, STEPS):
            run.perform(action)
        run.finish()
        run.check_leaks()


def test_a_connection_that_is_kept_is_found() -> None:
    run = Run()
    for action in random_plan(0, STEPS):
        run.perform(action)
    run.finish()
    kept = next(iter(run.simulation._clients))
    with pytest.raises(Violation, match=r"1 of \d+ closed connections"):
        run.check_leaks()
    assert kept.is_closed


@pytest.mark.slow
@pytest.mark.nightly
def test_the_seeds_reach_every_answer() -> None:
    """Every error that the rules know is answered somewhere, or the search would be blind to it."""
    seen: Counter[int] = Counter()

    class Watching(SideBySide):
        def _tell(self, outcome: ClientOutcome) -> None:
            request = self._asked.get(outcome.number)
            if isinstance(request, ClientProduce):
                result: Any = outcome.result
                seen.update(error for _, error, _ in result)
            super()._tell(outcome)

    class WatchedRun(Run):
        def _new_side_by_side(self, brokers: int, config: dict[str, str], lag_max_ms: int) -> SideBySide:
            return Watching(brokers, config, lag_max_ms, self.seed, OFTEN, None)

    for seed in range(60):
        run = WatchedRun(seed)
        for action in random_plan(seed, STEPS):
            run.perform(action)
    assert seen.keys() >= {0, 2, 3, 6, 7, 19, 21, 45, 87}
    assert seen[0] > 1_000
    assert seen[7] > 200
