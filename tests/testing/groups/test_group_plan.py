"""Plans of groups among faults: text, the same from the same seed, carried out."""

from __future__ import annotations

import pytest

from fakebroker.core.journal.journal import to_lines
from fakebroker.testing.groups.plan import (
    GroupRun,
    group_plan_fails,
    group_plan_from_text,
    random_group_plan,
)
from fakebroker.testing.plan import to_text

STEPS = 60


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_is_the_same_history(seed: int) -> None:
    def history() -> list[str]:
        run = GroupRun(random_group_plan(seed, 25), seed)
        run.run()
        return list(to_lines(run.world.journal))

    assert history() == history()


def test_a_plan_is_a_line_of_text() -> None:
    plan = random_group_plan(3, STEPS)
    assert group_plan_from_text(to_text(plan)) == plan
    assert random_group_plan(4, STEPS) != plan


@pytest.mark.parametrize("text", ["dance", "group 3", "joins 1"])
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no action of a group"):
        group_plan_from_text(text)


def test_a_plan_begins_with_its_group() -> None:
    with pytest.raises(ValueError, match="begins with its group"):
        GroupRun(group_plan_from_text("joins"))
    assert not group_plan_fails(group_plan_from_text("joins"), 0)


def test_a_new_leader_tells_a_watermark_of_its_own() -> None:
    plan = "group 4 3 1; joins; stop 2; followers 5 3 3; produce 0 2; start 6; produce 0 2; stop 0"
    GroupRun(group_plan_from_text(plan), 1897).run()


@pytest.mark.parametrize("protocol", [0, 1])
def test_what_was_committed_is_there_at_the_next_coordinator(protocol: int) -> None:
    run = GroupRun(
        group_plan_from_text(
            f"group 3 2 {protocol}; joins; produce 0 4; produce 1 4; advance 11000; coordinator 1; stop 0; produce 0 4;"
            "advance 11000; crashes 0; coordinator 0; joins; advance 11000"
        )
    )
    run.run()
    assert [run.world.history.read_to(place) for place in run.world.places] == [10, 5]
