"""Transitions of a group's state follow the table."""

from __future__ import annotations

import pytest

from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.classic.states import VALID_PREVIOUS_STATES, ClassicGroupState

ALL = list(ClassicGroupState)


@pytest.mark.parametrize("after", ALL)
@pytest.mark.parametrize("before", ALL)
def test_only_what_stands_in_the_table_may_follow(before: ClassicGroupState, after: ClassicGroupState) -> None:
    group = ClassicGroup("g", before, 1)
    if before in VALID_PREVIOUS_STATES[after]:
        group.transition_to(after, 2)
        assert (group.previous_state, group.state, group.state_timestamp_ms) == (before, after, 2)
    else:
        with pytest.raises(ValueError, match="may not become"):
            group.transition_to(after, 2)
        assert (group.state, group.state_timestamp_ms) == (before, 1)


def test_a_rebalance_can_begin_in_three_states() -> None:
    assert [state.value for state in ALL if ClassicGroup("g", state, 1).can_rebalance] == [
        "Empty",
        "CompletingRebalance",
        "Stable",
    ]


def test_nothing_comes_back_from_the_dead() -> None:
    assert [state for state in ALL if ClassicGroupState.DEAD in VALID_PREVIOUS_STATES[state]] == [
        ClassicGroupState.DEAD
    ]
