"""Plans as text, and drawn from seeds; replaying and shrinking them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given

from fakebroker.testing import strategies
from fakebroker.testing.plan import Action, action, from_text, random_plan, to_text
from fakebroker.testing.replay import command, shrink


@given(strategies.plans())
def test_a_plan_is_its_text(plan: list[Action]) -> None:
    assert from_text(to_text(plan)) == plan


def test_a_longer_plan_of_a_seed_begins_with_the_shorter_one() -> None:
    assert random_plan(3, 50) == random_plan(3, 90)[: len(random_plan(3, 50))]
    assert random_plan(3, 50) != random_plan(4, 50)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fly 1", "there is no action 'fly'"),
        ("stop", "takes broker, and not 0 numbers"),
        ("stop one", "come whole numbers"),
    ],
)
def test_what_is_no_plan(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_text(text)


def test_a_plan_is_shrunk_to_what_breaks_a_rule() -> None:
    def breaks(plan: Sequence[Action], seed: int) -> bool:
        names = [step.name for step in plan]
        return "stop" in names and "advance" in names[names.index("stop") :]

    plan = random_plan(1, 100)
    assert [step.name for step in shrink(plan, 1, breaks)] == ["cluster", "stop", "advance"]


def test_the_command_can_be_pasted() -> None:
    plan = [action("cluster", 3, 1_000), action("jump")]
    assert command(7, steps=20) == "fakebroker replay 7 --steps 20"
    assert command(7, plan=plan) == "fakebroker replay 7 --plan 'cluster 3 1000; jump'"
