"""A swarm: each seed does without its own faults, and what it draws is otherwise what it was."""

from __future__ import annotations

import pytest

from fakebroker.testing.groups.plan import ACTIONS as GROUP_ACTIONS
from fakebroker.testing.groups.plan import random_group_plan
from fakebroker.testing.plan import ACTIONS, Action, random_plan, random_stream_plan
from fakebroker.testing.seeds import swarm
from fakebroker.testing.seeds.swarm import left_out
from fakebroker.testing.transactions.plan import ACTIONS as TRANSACTION_ACTIONS
from fakebroker.testing.transactions.plan import random_transaction_plan

SEEDS = range(200)


@pytest.mark.parametrize(
    ("kind", "faults", "actions"),
    [
        ("cluster", swarm.CLUSTER, ACTIONS),
        ("streams", swarm.STREAMS, ACTIONS),
        ("groups", swarm.GROUPS, GROUP_ACTIONS),
        ("transactions", swarm.TRANSACTIONS, TRANSACTION_ACTIONS),
    ],
)
def test_each_fault_is_left_out_by_about_half_of_the_seeds(kind: str, faults: tuple[str, ...], actions: object) -> None:
    chosen = [left_out(kind, seed) for seed in SEEDS]
    assert chosen == [left_out(kind, seed) for seed in SEEDS]
    assert len(set(chosen)) > len(SEEDS) / 3
    for name in faults:
        assert name in actions  # type: ignore[operator]
        assert 70 <= sum(name in names for names in chosen) <= 130


def draw_transactions(seed: int, steps: int, without: frozenset[str]) -> list[Action]:
    return random_transaction_plan(seed, steps, without=without)


def test_no_plan_has_what_its_seed_does_without() -> None:
    for seed in SEEDS:
        for kind, draw in (
            ("cluster", random_plan),
            ("streams", random_stream_plan),
            ("groups", random_group_plan),
            ("transactions", draw_transactions),
        ):
            without = left_out(kind, seed)
            assert without.isdisjoint(action.name for action in draw(seed, 80, without)[4:])


def test_without_a_swarm_plans_are_what_they_were() -> None:
    assert random_plan(7, 50, frozenset()) == random_plan(7, 50)
    assert random_group_plan(7, 50, frozenset()) == random_group_plan(7, 50)
    assert random_transaction_plan(7, 50, without=frozenset()) == random_transaction_plan(7, 50)
