"""The range assignor: of each topic, every member has one stretch of partitions, the same one of topics alike.

Theory   Members are sorted: static ones by their instance, then the others by their id. Of a topic each has the
         next stretch, the first ones one partition more. Nothing is kept for being held.
Source   group-coordinator/.../assignor/RangeAssignor.java @ 4.4.
Differs  One way for groups whose members are subscribed alike and for others: what comes of it is the same.
"""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from fakebroker.core.groups.consumer.assignors.assignor import GroupSpec
from fakebroker.core.groups.consumer.state.member import Assignment


def assign_ranges(group: GroupSpec) -> dict[str, Assignment]:
    members = sorted(group.members.items(), key=lambda item: _rank(item[0], item[1].instance_id))
    subscribers: Counter[UUID] = Counter()
    for _, member in members:
        subscribers.update(member.topic_ids)
    following: dict[UUID, tuple[int, int]] = dict.fromkeys(subscribers, (0, 0))  # how many had theirs; where they ended
    target: dict[str, Assignment] = {}
    for member_id, member in members:
        ranges: dict[UUID, frozenset[int]] = {}
        for topic_id in member.topic_ids:
            served, start = following[topic_id]
            at_least, extra = divmod(group.partition_counts[topic_id], subscribers[topic_id])
            end = start + at_least + (served < extra)
            following[topic_id] = (served + 1, end)
            if start < end:
                ranges[topic_id] = frozenset(range(start, end))
        target[member_id] = ranges
    return target


def _rank(member_id: str, instance_id: str | None) -> tuple[bool, bytes]:
    """Texts are compared as Java does, by UTF-16 units."""
    return instance_id is None, (member_id if instance_id is None else instance_id).encode("utf-16-be", "surrogatepass")
