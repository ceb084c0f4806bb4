"""The uniform assignor keeps its rules: all partitions are assigned to subscribers, evenly, with as few moves as
possible."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from support.assignor_groups import check_everything_is_assigned, groups, owners, sizes

from fakebroker.core.groups.consumer.assignors.assignor import GroupSpec, MemberSpec
from fakebroker.core.groups.consumer.assignors.uniform import assign_uniformly
from fakebroker.core.groups.consumer.state.member import Assignment

A, B = UUID(int=1), UUID(int=2)


def spec(counts: dict[UUID, int], is_homogeneous: bool = True, **members: MemberSpec) -> GroupSpec:
    return GroupSpec(members, counts, is_homogeneous)


def member(*topics: UUID, had: Assignment | None = None) -> MemberSpec:
    return MemberSpec(None, frozenset(topics), had or {})


@given(groups(is_homogeneous=True))
def test_members_that_are_subscribed_alike_have_alike_many(group: GroupSpec) -> None:
    target = assign_uniformly(group)
    check_everything_is_assigned(target, group)
    counted = sizes(target, group).values()
    assert max(counted) - min(counted) <= 1


@given(groups(is_homogeneous=True))
def test_as_little_moves_as_can(group: GroupSpec) -> None:
    """Within quotas that may differ by one, a member with room for its earlier partitions keeps all of them."""
    target = assign_uniformly(group)
    counted = sizes(target, group)
    before = owners({member_id: of_member.partitions for member_id, of_member in group.members.items()})
    after = owners(target)
    at_least = sum(group.partition_counts.values()) // len(group.members)
    for member_id in group.members:
        had = {place for place, owner in before.items() if owner == member_id}
        kept = {place for place in had if after[place] == member_id}
        assert len(kept) == min(len(had), counted[member_id]) or len(kept) >= at_least


@given(groups())
def test_others_have_what_can_be_had(group: GroupSpec) -> None:
    """The counts of two subscribers of a topic differ by at most one, unless the larger has no partition of that
    topic."""
    target = assign_uniformly(group)
    check_everything_is_assigned(target, group)


@given(groups(), groups())
def test_an_even_assignment_stays(group: GroupSpec, other: GroupSpec) -> None:
    for group_spec in (group, other._replace(is_homogeneous=False)):
        once = assign_uniformly(group_spec)
        members = {
            member_id: of_member._replace(partitions=once.get(member_id, {}))
            for member_id, of_member in group_spec.members.items()
        }
        assert owners(assign_uniformly(group_spec._replace(members=members))) == owners(once)


def test_without_topics_no_member_gets_a_partition() -> None:
    assert assign_uniformly(spec({})) == {}
    assert assign_uniformly(spec({}, m=member())) == {}


def test_a_first_assignment_gives_the_remainder_to_the_last_members() -> None:
    group = spec({A: 5}, x=member(A), y=member(A))
    assert assign_uniformly(group) == {"x": {A: frozenset({0, 1})}, "y": {A: frozenset({2, 3, 4})}}


def test_a_member_with_one_partition_more_keeps_it() -> None:
    group = spec({A: 3}, x=member(A, had={A: frozenset({0})}), y=member(A, had={A: frozenset({1, 2})}))
    assert assign_uniformly(group) == {"x": {A: frozenset({0})}, "y": {A: frozenset({1, 2})}}


def test_a_new_member_is_given_what_others_have_too_many() -> None:
    group = spec({A: 4}, x=member(A, had={A: frozenset({0, 1, 2, 3})}), y=member(A))
    assert assign_uniformly(group) == {"x": {A: frozenset({0, 1})}, "y": {A: frozenset({2, 3})}}


def test_subscriptions_that_overlap_are_balanced_topic_by_topic() -> None:
    """Differences of one for each topic may add up, as in Kafka."""
    group = spec(
        {A: 6, B: 6},
        False,
        x=member(A, had={A: frozenset(range(6))}),
        y=member(A, B),
        z=member(B, had={B: frozenset(range(6))}),
    )
    assert sorted(sizes(assign_uniformly(group), group).values()) == [3, 4, 5]
