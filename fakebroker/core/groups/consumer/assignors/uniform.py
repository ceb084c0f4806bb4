"""The uniform assignor: members get the same number of partitions, within one, and keep what they have.

Theory   If all members subscribe to the same topics, each has a quota: partitions divided by members. The remainder
         gives some members one more: those that have it already, else the last ones. Members give back partitions above
         their quota. The others are filled up from unassigned and returned partitions.
Source   group-coordinator/.../assignor/{UniformAssignor,UniformHomogeneousAssignmentBuilder}.java @ 4.4.
Differs  Topics are taken in ascending order of their ids; Kafka uses the order of a hash table. Ids are random in both.
         In Kafka the order of insertion into a hash table also decides which partitions a member gives up. Here they
         count as inserted in ascending order. Up to 16 partitions give the same result.
"""

from __future__ import annotations

from typing import final
from uuid import UUID

from fakebroker.core.groups.consumer.assignors.assignor import GroupSpec
from fakebroker.core.groups.consumer.assignors.uniform_heterogeneous import assign_heterogeneous
from fakebroker.core.groups.consumer.state.member import Assignment
from fakebroker.core.hash_order import hash_set_order


def assign_uniformly(group: GroupSpec) -> dict[str, Assignment]:
    if not group.members:
        return {}
    return _Homogeneous(group).assign() if group.is_homogeneous else assign_heterogeneous(group)


@final
class _Homogeneous:
    """The state of one assignment."""

    def __init__(self, group: GroupSpec) -> None:
        self._group = group
        self._topic_ids = sorted(next(iter(group.members.values())).topic_ids)
        self._target: dict[str, Assignment] = {}
        self._unassigned: list[tuple[UUID, int]] = []
        self._unfilled: list[tuple[str, int]] = []  # members, each with the number of partitions that it still gets

    def assign(self) -> dict[str, Assignment]:
        if not self._topic_ids:
            return {}
        counts = self._group.partition_counts
        taken: dict[UUID, set[int]] = {topic_id: set() for topic_id in self._topic_ids}
        for member in self._group.members.values():
            for topic_id, partitions in member.partitions.items():
                if topic_id in taken:
                    taken[topic_id] |= partitions
        for topic_id in self._topic_ids:
            held = taken[topic_id]
            self._unassigned += [(topic_id, index) for index in range(counts[topic_id]) if index not in held]
        self._keep_or_revoke(sum(counts[topic_id] for topic_id in self._topic_ids))
        self._fill_up()
        return self._target

    def _keep_or_revoke(self, total: int) -> None:
        """Let each member keep what fits into its quota."""
        members, topics = self._group.members, set(self._topic_ids)
        at_least, extra = divmod(total, len(members))
        for index, (member_id, member) in enumerate(members.items()):
            has_extra = extra > 0
            quota = at_least + has_extra
            kept: dict[UUID, frozenset[int]] = {}
            for topic_id, partitions in sorted(member.partitions.items()):
                if topic_id not in topics:
                    continue
                if len(partitions) <= quota:
                    kept[topic_id] = partitions
                    quota -= len(partitions)
                    continue
                ordered = hash_set_order(partitions)
                self._unassigned += [(topic_id, partition) for partition in ordered[quota:]]
                if quota:
                    kept[topic_id] = frozenset(ordered[:quota])
                    quota = 0
            # A member that would get one more than the others, but does not have it, leaves it to later members. It
            # does so only while there are enough of them.
            if quota > 0 and has_extra and len(members) - index > extra:
                quota -= 1
                has_extra = False
            if quota > 0:
                self._unfilled.append((member_id, quota))
            extra -= has_extra
            self._target[member_id] = kept

    def _fill_up(self) -> None:
        start = 0
        for member_id, quota in self._unfilled:
            given = self._unassigned[start : start + quota]
            start += quota
            if not given:
                break
            more: dict[UUID, set[int]] = {}
            for topic_id, partition in given:
                more.setdefault(topic_id, set()).add(partition)
            kept = self._target[member_id]
            self._target[member_id] = {
                **kept,
                **{topic_id: kept.get(topic_id, frozenset()) | partitions for topic_id, partitions in more.items()},
            }
        assert start >= len(self._unassigned), "partitions were left without a member"
