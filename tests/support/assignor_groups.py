"""Groups for assignors: members with subscriptions, and with earlier partitions."""

from __future__ import annotations

from uuid import UUID

from hypothesis import strategies as st

from fakebroker.core.groups.consumer.assignors.assignor import GroupSpec, MemberSpec
from fakebroker.core.groups.consumer.state.member import Assignment


@st.composite
def groups(draw: st.DrawFn, is_homogeneous: bool = False) -> GroupSpec:
    """Draw a group: one member or none had each partition before; some had members that are not subscribed any more."""
    counts = {UUID(int=topic): draw(st.integers(1, 9)) for topic in draw(st.sets(st.integers(1, 6), min_size=1))}
    ids = [f"m{number}" for number in range(draw(st.integers(1, 8)))]
    topics = sorted(counts)
    some = st.frozensets(st.sampled_from(topics))
    subscriptions = {member_id: frozenset(topics) if is_homogeneous else draw(some) for member_id in ids}
    before: dict[str, dict[UUID, set[int]]] = {member_id: {} for member_id in ids}
    for topic in topics:
        for partition in range(counts[topic]):
            owner = draw(st.sampled_from([*ids, None]))
            if owner is not None:
                before[owner].setdefault(topic, set()).add(partition)
    members = {
        member_id: MemberSpec(
            draw(st.sampled_from([None, f"instance-{member_id}"])),
            subscriptions[member_id],
            {topic: frozenset(partitions) for topic, partitions in before[member_id].items()},
        )
        for member_id in ids
    }
    subscribed = frozenset[UUID]().union(*subscriptions.values())
    return GroupSpec(members, {topic: counts[topic] for topic in subscribed}, is_homogeneous)


def owners(target: dict[str, Assignment]) -> dict[tuple[UUID, int], str]:
    """Return the owner of each partition. Each has at most one."""
    owner_of: dict[tuple[UUID, int], str] = {}
    for member_id, assignment in target.items():
        for topic, partitions in assignment.items():
            for partition in partitions:
                assert (topic, partition) not in owner_of, "two members have it"
                owner_of[topic, partition] = member_id
    return owner_of


def sizes(target: dict[str, Assignment], group: GroupSpec) -> dict[str, int]:
    return {member_id: sum(map(len, target.get(member_id, {}).values())) for member_id in group.members}


def check_everything_is_assigned(target: dict[str, Assignment], group: GroupSpec) -> None:
    """Check that a subscriber has each partition once, and that there is nothing else, and no empty topics."""
    owner_of = owners(target)
    assert owner_of.keys() == {
        (topic, index) for topic, count in group.partition_counts.items() for index in range(count)
    }
    for (topic, _), member_id in owner_of.items():
        assert topic in group.members[member_id].topic_ids
    assert all(partitions for assignment in target.values() for partitions in assignment.values())
