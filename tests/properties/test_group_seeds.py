"""Groups among faults, drawn from seeds: members of both protocols, one broker and several.

A seed that fails prints the line that runs it again; FAKEBROKER_MINUTES makes the search as long as it is told.
"""

from __future__ import annotations

import os
import time

import pytest
from support import doses

from fakebroker.testing.groups.member import SETTLES_MS
from fakebroker.testing.groups.plan import GroupRun, random_group_plan
from fakebroker.testing.messages import Violation

STEPS = 60
SEEDS = range(doses.seeds(12, 40, "FAKEBROKER_GROUP_SEEDS"))
PARTS = 4
MINUTES = float(os.environ.get("FAKEBROKER_MINUTES", "0"))


def check(seed: int) -> GroupRun:
    run = GroupRun(random_group_plan(seed, STEPS), seed)
    try:
        run.run()
    except Violation as violation:
        pytest.fail(f"{violation}\n\nAgain: fakebroker replay {seed} --group --steps {STEPS} --shrink")
    return run


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_rule_holds(part: int) -> None:
    read = 0
    for seed in SEEDS[part::PARTS]:
        run = check(seed)
        assert run.settled_ms <= SETTLES_MS
        read += sum(run.world.history.read_to(place) for place in run.world.places)
    assert read > 100 * len(SEEDS) // PARTS // 10


@pytest.mark.skipif(not MINUTES, reason="make properties MINUTES=10 looks for so long")
def test_for_as_long_as_told() -> None:
    ends = time.monotonic() + 60 * MINUTES
    seed = time.time_ns() // 1_000_000 % 10**10
    while time.monotonic() < ends:
        check(seed)
        seed += 1
