"""The range assignor, compared with a simple form of its rule."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from support.assignor_groups import check_everything_is_assigned, groups

from fakebroker.core.groups.consumer.assignors.assignor import GroupSpec, MemberSpec
from fakebroker.core.groups.consumer.assignors.range import assign_ranges

A, B = UUID(int=1), UUID(int=2)


@given(groups())
def test_stretches(group: GroupSpec) -> None:
    target = assign_ranges(group)
    check_everything_is_assigned(target, group)
    for topic, count in group.partition_counts.items():
        ordered = sorted(
            (member_id for member_id, member in group.members.items() if topic in member.topic_ids),
            key=lambda member_id: (group.members[member_id].instance_id is None, member_id),
        )
        given_out = [sorted(target[member_id].get(topic, ())) for member_id in ordered]
        assert [index for stretch in given_out for index in stretch] == list(range(count))
        lengths = [len(stretch) for stretch in given_out]
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[0] - lengths[-1] <= 1


def test_static_members_come_first_by_their_instance() -> None:
    topics = frozenset({A})
    members = {
        "a": MemberSpec(None, topics, {}),
        "b": MemberSpec("i2", topics, {}),
        "c": MemberSpec("i1", topics, {}),
    }
    target = assign_ranges(GroupSpec(members, {A: 3}, True))
    assert target == {"c": {A: frozenset({0})}, "b": {A: frozenset({1})}, "a": {A: frozenset({2})}}


def test_topics_alike_are_with_the_same_members() -> None:
    topics = frozenset({A, B})
    members = {name: MemberSpec(None, topics, {}) for name in "xyz"}
    for assignment in assign_ranges(GroupSpec(members, {A: 7, B: 7}, True)).values():
        assert assignment[A] == assignment[B]
