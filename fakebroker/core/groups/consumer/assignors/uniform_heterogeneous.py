"""The uniform assignor for members with different subscriptions: balance comes first, then keeping partitions.

Theory   Members keep what they have of the topics to which they still subscribe. Unassigned partitions go to the
         subscribers with the fewest partitions. Topics with the most partitions per subscriber come first. Then each
         topic is balanced among its subscribers, from those with most to those with fewest. This repeats until a whole
         round has changed nothing, at most 16 times.
Source   group-coordinator/.../assignor/UniformHeterogeneousAssignmentBuilder.java @ 4.4.
Differs  Between topics that are equal otherwise, Kafka compares ids as signed numbers. Ids are random in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final
from uuid import UUID

from fakebroker.core.groups.consumer.assignors.assignor import GroupSpec
from fakebroker.core.groups.consumer.assignors.balancer import Balancer
from fakebroker.core.groups.consumer.state.member import Assignment

MAX_ROUNDS: Final = 16
_NOBODY: Final = -1


def assign_heterogeneous(group: GroupSpec) -> dict[str, Assignment]:
    return _Heterogeneous(group).assign()


@final
class _Heterogeneous:
    """The state of one assignment. Members are numbered."""

    def __init__(self, group: GroupSpec) -> None:
        self._member_ids = list(group.members)
        self._members = list(group.members.values())
        self._sizes = [0] * len(self._members)
        self._subscribers: dict[UUID, list[int]] = {}
        for index, member in enumerate(self._members):
            for topic_id in member.topic_ids:
                self._subscribers.setdefault(topic_id, []).append(index)
        self._owners = {topic_id: [_NOBODY] * group.partition_counts[topic_id] for topic_id in self._subscribers}

    def assign(self) -> dict[str, Assignment]:
        if not self._subscribers:
            return {}
        self._keep()
        self._give_out()
        self._balance([topic_id for topic_id, members in self._subscribers.items() if len(members) >= 2])
        target: list[dict[UUID, set[int]]] = [{} for _ in self._members]
        for topic_id, owners in self._owners.items():
            for partition, owner in enumerate(owners):
                target[owner].setdefault(topic_id, set()).add(partition)
        return {
            member_id: {topic_id: frozenset(partitions) for topic_id, partitions in assignment.items()}
            for member_id, assignment in zip(self._member_ids, target, strict=True)
        }

    def _keep(self) -> None:
        for index, member in enumerate(self._members):
            for topic_id, partitions in member.partitions.items():
                if topic_id in member.topic_ids:
                    self._sizes[index] += len(partitions)
                    for partition in partitions:
                        self._owners[topic_id][partition] = index

    def _give_out(self) -> None:
        free = {
            topic_id: [partition for partition, owner in enumerate(owners) if owner == _NOBODY]
            for topic_id, owners in self._owners.items()
        }
        for topic_id in self._sorted(topic_id for topic_id, partitions in free.items() if partitions):
            balancer = Balancer(self._subscribers[topic_id], self._sizes)
            for partition in free[topic_id]:
                self._move(topic_id, partition, balancer.least_loaded())

    def _sorted(self, topic_ids: Iterable[UUID]) -> list[UUID]:
        """Sort the topics: most partitions per subscriber first, then fewest subscribers."""

        def rank(topic_id: UUID) -> tuple[float, int, UUID]:
            subscribers = len(self._subscribers[topic_id])
            return -len(self._owners[topic_id]) / subscribers, subscribers, topic_id

        return sorted(topic_ids, key=rank)

    def _balance(self, topic_ids: list[UUID]) -> None:
        ordered = self._sorted(topic_ids)
        last_moved = None
        for _ in range(MAX_ROUNDS):
            for topic_id in ordered:
                if topic_id == last_moved:
                    return  # one whole round without a move
                if self._balance_topic(topic_id) or last_moved is None:
                    last_moved = topic_id

    def _balance_topic(self, topic_id: UUID) -> bool:
        """Move partitions of one topic from members with most to members with fewest. Return True if any moved."""
        balancer = Balancer(self._subscribers[topic_id], self._sizes)
        if balancer.imbalance <= 1:
            return False
        held: dict[int, list[int]] = {}
        for partition, owner in enumerate(self._owners[topic_id]):
            held.setdefault(owner, []).append(partition)
        moved = False
        while not balancer.is_balanced():
            giver = balancer.most_loaded()
            while giver is not None and not held.get(giver):
                balancer.exclude_most_loaded()
                giver = balancer.most_loaded()
            if giver is None:
                break
            partition = held[giver].pop()
            taker = balancer.least_loaded()
            if balancer.is_balanced():
                break
            self._move(topic_id, partition, taker)
            moved = True
        return moved

    def _move(self, topic_id: UUID, partition: int, taker: int) -> None:
        owner = self._owners[topic_id][partition]
        if owner != _NOBODY:
            self._sizes[owner] -= 1
        self._owners[topic_id][partition] = taker
        self._sizes[taker] += 1
