"""Members that are subscribed to different topics: as even as moves of single partitions allow."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from support.assignor_groups import check_everything_is_assigned, groups, sizes

from fakebroker.core.groups.consumer.assignors.assignor import GroupSpec
from fakebroker.core.groups.consumer.assignors.uniform import assign_uniformly


def alike(group: GroupSpec) -> bool:
    """Return True if all subscribers of each topic are subscribed to the same topics."""
    by_topic: dict[UUID, set[frozenset[UUID]]] = {}
    for member in group.members.values():
        for topic in member.topic_ids:
            by_topic.setdefault(topic, set()).add(frozenset(member.topic_ids))
    return all(len(subscriptions) == 1 for subscriptions in by_topic.values())


@given(groups())
def test_circles_that_do_not_overlap_are_even(group: GroupSpec) -> None:
    target = assign_uniformly(group)
    check_everything_is_assigned(target, group)
    if not alike(group):
        return
    counted = sizes(target, group)
    for topic in group.partition_counts:
        circle = [counted[member_id] for member_id, member in group.members.items() if topic in member.topic_ids]
        assert max(circle) - min(circle) <= 1


@given(groups(is_homogeneous=True))
def test_it_does_what_the_other_way_does_where_both_can(group: GroupSpec) -> None:
    target = assign_uniformly(group._replace(is_homogeneous=False))
    check_everything_is_assigned(target, group)
    counted = sizes(target, group).values()
    assert max(counted) - min(counted) <= 1


@given(groups())
def test_the_counts_of_members_with_a_common_topic_differ_by_at_most_one(group: GroupSpec) -> None:
    """Any remaining difference could be removed only by moves of partitions of several topics."""
    target = assign_uniformly(group)
    counted = sizes(target, group)
    for giver, assignment in target.items():
        for topic in assignment:
            takers = [counted[taker] for taker, member in group.members.items() if topic in member.topic_ids]
            assert counted[giver] - min(takers) <= 1
