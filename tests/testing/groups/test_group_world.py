"""The world of a group: what members do in it, to the millisecond, and that a group that cannot settle is told."""

from __future__ import annotations

import pytest

from fakebroker.testing.groups.judge import UNSETTLED
from fakebroker.testing.groups.member import SETTLES_MS
from fakebroker.testing.groups.world import GroupWorld


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_two_members_share_what_there_is(protocol: str) -> None:
    world = GroupWorld(protocol=protocol)
    world.join()
    world.join()
    world.produce(2, 5)
    world.finish()
    assert world.history.findings == []
    assert [len(member.owned) for member in world.members] == [2, 2]
    assert world.history.read_to(("t", 2)) == 5


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_no_member_reads_above_the_high_watermark(protocol: str) -> None:
    world = GroupWorld(partitions=1, protocol=protocol)
    world.join()
    world.advance(10_000)
    world.followers("frozen", "t")
    world.produce(0, 3)
    world.advance(2_000)
    assert world.history.read_to(("t", 0)) == 0
    world.finish()
    assert world.history.read_to(("t", 0)) == 3
    assert world.history.findings == []


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_paused_member_is_replaced_and_returns(protocol: str) -> None:
    world = GroupWorld(protocol=protocol)
    first, second = world.join(), world.join()
    world.settle()
    first.is_paused = True
    world.advance(40_000)
    assert sorted(second.owned) == world.places
    first.is_paused = False
    world.finish()
    assert world.history.findings == []
    assert sorted(first.owned + second.owned) == world.places


def test_a_member_that_leaves_has_committed() -> None:
    world = GroupWorld(partitions=1)
    member = world.join()
    world.produce(0, 3)
    world.advance(3_700)
    member.leave()
    world.advance(1_000)
    assert not member.is_alive
    world.join()
    world.finish()
    assert world.history.findings == []


def test_a_group_that_does_not_settle_is_told() -> None:
    """A member counts as alive and does nothing: here no event wakes it."""
    world = GroupWorld()
    world.join().is_paused = True
    world.settle()
    assert [finding.kind for finding in world.history.findings] == [UNSETTLED]
    assert world.now_ms >= SETTLES_MS
