"""The subscribers of one topic, from fewest to most partitions, and the one that gives up the next partition."""

from __future__ import annotations

from fakebroker.core.groups.consumer.assignors.balancer import Balancer


def test_when_the_upper_level_comes_down_to_the_first_member_all_give_up_in_turn() -> None:
    sizes = [2, 3, 4]
    balancer = Balancer([0, 1, 2], sizes)
    chosen = []
    for _ in range(9):
        member = balancer.most_loaded()
        assert member is not None
        sizes[member] -= 1
        chosen.append(member)
    assert chosen == [2, 2, 1, 2, 1, 0, 2, 1, 0]
    assert sizes == [0, 0, 0]
