"""The range assignor: each member gets one range of partitions of each topic, the same range for equal topics.

Theory   Members are sorted: static ones by their instance id, then the others by their member id. Each gets the next
         range of a topic; the first ones get one partition more. Present owners do not matter.
Source   group-coordinator/.../assignor/RangeAssignor.java @ 4.4.
Differs  One algorithm serves groups with equal and with different subscriptions. The result is the same.
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
    following: dict[UUID, tuple[int, int]] = dict.fromkeys(subscribers, (0, 0))  # members served, end of the last range
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
    """Return a key that sorts as Java compares strings, by UTF-16 units."""
    return instance_id is None, (member_id if instance_id is None else instance_id).encode("utf-16-be", "surrogatepass")
