"""The whole cluster under Hypothesis: every step is compared with the oracle, whole logs and invariants included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from fakebroker.testing import strategies
from fakebroker.testing.cluster_machine import ClusterMachine
from fakebroker.testing.plan import Action
from fakebroker.testing.replay import Replay, command
from fakebroker.testing.run import EVERY_STEP

TestClusterMachine = ClusterMachine.TestCase
TestClusterMachine.settings = settings(stateful_step_count=50)


@pytest.fixture(scope="module", autouse=True)
def count_steps(simulated: Counter[str]) -> Iterator[None]:
    before = ClusterMachine.steps
    yield
    simulated["of the cluster's machine"] += ClusterMachine.steps - before


@given(strategies.plans())
def test_any_plan_holds(plan: list[Action]) -> None:
    violation = Replay(plan, 0, look_every=EVERY_STEP).violation
    assert violation is None, f"{violation}\nAgain: {command(0, plan=plan)}"
