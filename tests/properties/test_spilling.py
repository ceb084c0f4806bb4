"""Histories in which nearly every append spills older records: no response is different.

Seeds as in test_seeds.py, and the partition of test_partition_machine.py, where logs are truncated and leaders move.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings
from support import doses
from support.simulation import Simulation
from test_partition_machine import ReplicatedPartition

from fakebroker.core.log.memory import LogMemory
from fakebroker.testing.messages import Violation
from fakebroker.testing.plan import random_plan
from fakebroker.testing.run import OFTEN, Run
from fakebroker.testing.side_by_side import SideBySide

STEPS = 200
BOUNDS = {"log.memory.bytes": "0"}, {"log.memory.bytes": "700"}


class SpillingRun(Run):
    """A run with hardly any memory for its logs."""

    def _new_side_by_side(self, brokers: int, config: dict[str, str], lag_max_ms: int) -> SideBySide:
        config = config | BOUNDS[self.seed % 2]
        return SideBySide(brokers, config, lag_max_ms, self.seed, OFTEN, None)


def memory_of(simulation: Simulation) -> LogMemory:
    return simulation.cluster.controller.log_memory


@pytest.mark.parametrize("part", range(2))
def test_the_seeds_hold_with_hardly_any_memory(part: int, simulated: Counter[str]) -> None:
    spilled = 0
    seeds = range(part, doses.count(10, 30), 2)
    for seed in seeds:
        run = SpillingRun(seed)
        try:
            for action in random_plan(seed, STEPS):
                run.perform(action)
                spilled += memory_of(run.simulation).cold_bytes > 0
            run.finish()
        except Violation as violation:
            pytest.fail(f"seed {seed}: {violation}")
        simulated["with hardly any memory"] += run.steps
    assert spilled > len(seeds) * STEPS / 2


class SpillingPartition(ReplicatedPartition):
    """A partition with hardly any memory for its log."""

    config = BOUNDS[0]

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "partition"):
            memory = memory_of(self.simulation)
            memory.check_invariants()
            self.simulation.delete_topic("t")
            assert memory.used_bytes == 0


TestSpillingPartition = SpillingPartition.TestCase
TestSpillingPartition.settings = settings(stateful_step_count=40)
