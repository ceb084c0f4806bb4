"""The members of a group, and counts of them.

Theory   A member is replaced as a whole, and the counts follow: instances, assignors, subscriptions, classic protocols,
         owners of partitions. If a member names very many topics, these are not counted one by one. Members with the
         same names are.
Source   group-coordinator/.../modern/consumer/ConsumerGroup.java updateMember, removeMember @ 4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import final

from fakebroker.core.coordinator.timeline import LATEST, SnapshotRegistry, TimelineDict, TimelineValue
from fakebroker.core.groups.consumer.state.member import ConsumerGroupMember
from fakebroker.core.groups.consumer.state.partition_epochs import PartitionEpochs
from fakebroker.core.groups.consumer.state.subscriptions import (
    SubscriptionCount,
    Subscriptions,
    count,
    count_names,
    count_topics,
    is_homogeneous,
    regexes_if,
    topics_if,
    topics_without,
)
from fakebroker.core.groups.consumer.state.topics import ResolvedRegularExpression
from fakebroker.core.hash_order import copied_capacity, hash_map_order, timeline_order
from fakebroker.protocol.group_records.many_names import ManyNames


@final
class ConsumerGroupMembers:
    """The members of one group. `topics` includes those of resolved patterns."""

    def __init__(self, registry: SnapshotRegistry) -> None:
        self._by_id: TimelineDict[str, ConsumerGroupMember] = TimelineDict(registry)
        self._ids_by_instance: TimelineDict[str, str] = TimelineDict(registry)
        self._assignors: TimelineDict[str, int] = TimelineDict(registry)
        self._classic: TimelineValue[int] = TimelineValue(registry, 0)
        self._classic_protocols: TimelineDict[str, int] = TimelineDict(registry)
        self._topics: TimelineDict[str, SubscriptionCount] = TimelineDict(registry)
        self._many: TimelineDict[ManyNames, int] = TimelineDict(registry)
        self._regexes: TimelineDict[str, int] = TimelineDict(registry)
        self._resolved: TimelineDict[str, ResolvedRegularExpression] = TimelineDict(registry)
        self._is_homogeneous: TimelineValue[bool] = TimelineValue(registry, True)
        self.partitions = PartitionEpochs(registry)

    # Members.

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._by_id

    def get(self, member_id: str, committed_offset: int = LATEST) -> ConsumerGroupMember | None:
        return self._by_id.get(member_id, committed_offset)

    def all(self, committed_offset: int = LATEST) -> Iterator[ConsumerGroupMember]:
        return self._by_id.values(committed_offset)

    def is_any(self, committed_offset: int = LATEST) -> bool:
        return next(self._by_id.keys(committed_offset), None) is not None

    def by_instance(self, instance_id: str | None) -> ConsumerGroupMember | None:
        """Return the static member of an instance."""
        member_id = None if instance_id is None else self._ids_by_instance.get(instance_id)
        return None if member_id is None else self._by_id.get(member_id)

    def update(self, member: ConsumerGroupMember) -> None:
        """Add or replace a member."""
        old = self._by_id.get(member.member_id)
        self._by_id[member.member_id] = member
        self._replace(old, member)

    def remove(self, member_id: str) -> None:
        old = self._by_id.pop(member_id)
        if old is not None:
            self._replace(old, None)

    def _replace(self, old: ConsumerGroupMember | None, new: ConsumerGroupMember | None) -> None:
        self.partitions.replace(old, new)
        names_differ = old is None or new is None or old.topic_names is not new.topic_names
        for member, by in ((old, -1), (new, 1)):
            if member is None:
                continue
            if names_differ:
                count_names(self._topics, self._many, member.topic_names, by)
            count(self._assignors, [member.assignor] if member.assignor is not None else [], by)
            count(self._regexes, [member.regex] if member.regex is not None else [], by)
            if member.classic is not None:
                self._classic.set(self._classic.get() + by)
                count(self._classic_protocols, [protocol.name for protocol in member.classic.protocols], by)
        if old is not None and old.instance_id is not None:
            self._ids_by_instance.pop(old.instance_id)
        if new is not None and new.instance_id is not None:
            self._ids_by_instance[new.instance_id] = new.member_id
        if names_differ or self.has_regexes or len(self._resolved):
            many = list(self._many.values())
            self._is_homogeneous.set(is_homogeneous(self.regexes, self._topics.values(), many, len(self._by_id)))

    # Subscriptions.

    @property
    def is_homogeneous(self) -> bool:
        """Return True if all members subscribed to the same topics when a member last changed."""
        return self._is_homogeneous.get()

    @property
    def topics(self) -> Subscriptions:
        return Subscriptions(dict(self._topics.items()), dict(self._many.items()))

    @property
    def regexes(self) -> dict[str, int]:
        """Return the patterns, each with the number of its members."""
        return dict(self._regexes.items())

    @property
    def has_regexes(self) -> bool:
        return len(self._regexes) > 0

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self._topics or any(topic in names for names, _ in self._many.items())

    def subscribed_to_regex(self, regex: str) -> int:
        """Return the number of members that subscribe by this pattern."""
        return self._regexes.get(regex) or 0

    def resolved(self, regex: str) -> ResolvedRegularExpression | None:
        return self._resolved.get(regex)

    def all_resolved(self) -> dict[str, ResolvedRegularExpression]:
        return dict(self._resolved.items())

    def resolve(self, regex: str, resolved: ResolvedRegularExpression | None) -> None:
        """Store the topics that a pattern matches; None if no member has the pattern any more."""
        before = self._resolved.pop(regex)
        if before is not None:
            count_topics(self._topics, before.topics, by_regex=-1)
        if resolved is not None:
            self._resolved[regex] = resolved
            count_topics(self._topics, resolved.topics, by_regex=1)

    # Values after a hypothetical change of a member.

    def topics_if(self, old: ConsumerGroupMember, new: ConsumerGroupMember) -> Subscriptions:
        return topics_if(self.topics, self.regexes, self.all_resolved(), old, new)

    def topics_without(self, members: Iterable[ConsumerGroupMember], regexes: Iterable[str]) -> Subscriptions:
        return topics_without(self.topics, self.all_resolved(), members, regexes)

    def regexes_if(self, old: ConsumerGroupMember, new: ConsumerGroupMember) -> dict[str, int]:
        return regexes_if(self.regexes, old, new)

    def preferred_assignor(self, committed_offset: int = LATEST) -> str | None:
        """Return the assignor that most members choose."""
        counts = dict(self._assignors.items(committed_offset))
        return max(timeline_order(counts), key=lambda name: counts[name], default=None)

    def preferred_assignor_if(self, old: ConsumerGroupMember, new: ConsumerGroupMember) -> str | None:
        counts = dict(self._assignors.items())
        known = timeline_order(counts)
        count(counts, [old.assignor] if old.assignor is not None else [], -1)
        count(counts, [new.assignor] if new.assignor is not None else [], 1)
        fresh = [name for name in counts if name not in known]  # HashMap.compute puts these before others of the slot
        ordered = [name for name in hash_map_order([*fresh, *known], copied_capacity(len(known))) if name in counts]
        return max(ordered, key=lambda name: counts[name], default=None)

    # Members that speak the classic protocol.

    @property
    def classic_count(self) -> int:
        return self._classic.get()

    def are_all_classic_without(self, members: Collection[ConsumerGroupMember]) -> bool:
        """Return True if all other members speak the classic protocol."""
        classic = sum(member.classic is not None for member in members)
        return self.classic_count - classic == len(self) - len(members)

    def do_all_classic_support_any(self, protocols: Iterable[str]) -> bool:
        """Return True if all classic members support one of these protocols."""
        return any((self._classic_protocols.get(name) or 0) == self.classic_count for name in protocols)
