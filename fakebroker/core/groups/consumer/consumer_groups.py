"""The consumer groups of one partition of __consumer_offsets, and the requests that they handle.

Theory   Heartbeats are write operations, descriptions are read operations. Requests of members that speak the classic
         protocol arrive through the classic groups. A group exists from the replay of its first record to that of its
         last tombstone.
Source   group-coordinator/.../GroupMetadataManager.java getOrMaybeCreateConsumerGroup, consumerGroupDescribe, onLoaded
         @ 4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import final

from fakebroker.core.controller.topics import Topic
from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.groups.classic.classic_groups import ClassicGroups
from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.consumer.describing import describe_group
from fakebroker.core.groups.consumer.heartbeats import Heartbeats
from fakebroker.core.groups.consumer.leaving import Leaving
from fakebroker.core.groups.consumer.messages import ConsumerHeartbeatRequest, DescribedConsumerGroup, HeartbeatAnswer
from fakebroker.core.groups.consumer.migration.classic_members import ClassicMembers
from fakebroker.core.groups.consumer.migration.downgrade import Downgrade
from fakebroker.core.groups.consumer.migration.upgrade import Upgrade
from fakebroker.core.groups.consumer.pattern_subscriptions import PatternSubscriptions
from fakebroker.core.groups.consumer.rebalancing import Rebalancing
from fakebroker.core.groups.consumer.state.group import ConsumerGroup
from fakebroker.core.groups.consumer.state.member import MemberState
from fakebroker.core.groups.consumer.state.replay import Replay
from fakebroker.core.groups.consumer.state.topics_view import TopicsView
from fakebroker.core.groups.consumer.tools import ConsumerTools
from fakebroker.core.groups.group import GroupType
from fakebroker.core.groups.groups import group_id_not_found
from fakebroker.core.groups.manager import GroupManager
from fakebroker.core.groups.manager import Replay as ReplayRecord
from fakebroker.core.groups.services import GroupServices
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


@final
class ConsumerGroups(GroupManager):
    """Each method raises KafkaError with the error code of the response."""

    def __init__(self, services: GroupServices, classic: ClassicGroups) -> None:
        self._topics = TopicsView(services.metadata)
        self._tools = ConsumerTools(services, self._topics)
        downgrade = Downgrade(self._tools, classic.rebalances)
        self._leaving = Leaving(self._tools, downgrade.without)
        self._upgrade = Upgrade(self._tools, self._leaving.timeouts)
        rebalancing = Rebalancing(self._tools, self._leaving.timeouts)
        patterns = PatternSubscriptions(self._tools)
        self._heartbeats = Heartbeats(self._tools, self._find_or_make, self._leaving, rebalancing, patterns)
        classic.of_consumer_groups = ClassicMembers(self._tools, self._leaving, rebalancing, patterns, downgrade)
        self._replay = Replay(self._find_persisted, self._remove)

    # Requests.

    def heartbeat(self, request: ConsumerHeartbeatRequest) -> CoordinatorResult[HeartbeatAnswer]:
        return self._heartbeats.heartbeat(request)

    def describe(self, group_id: str, committed_offset: int) -> DescribedConsumerGroup:
        group = self._tools.consumer_group(group_id, committed_offset)
        return describe_group(group, committed_offset, self._tools.default_assignor, self._topics)

    def _find_or_make(self, group_id: str, is_joining: bool, records: list[CoordinatorRecord]) -> ConsumerGroup:
        """Raise GROUP_ID_NOT_FOUND, or UNKNOWN_MEMBER_ID for a group of an earlier life. Other requests do not find a
        new group before its records are replayed."""
        group = self._tools.groups.get(group_id)
        if group is None:
            if not is_joining:
                if group_id in self._tools.groups.ids.earlier:
                    message = f"Group {group_id} is new here; its members were those of an earlier cluster."
                    raise KafkaError(ErrorCode.unknown_member_id, message)
                raise group_id_not_found(f"Consumer group {group_id} not found.")
            return self._tools.new_group(group_id)
        if is_joining and group.type is GroupType.CLASSIC and group.is_empty:
            records += group.create_group_tombstone_records()
            group.cancel_timers(self._tools.timer)
            return self._tools.new_group(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if is_joining and isinstance(group, ClassicGroup):
            return self._upgrade.upgrade(group, records)
        raise group_id_not_found(f"Group {group_id} is not a consumer group.")

    # The life cycle of the partition.

    def replayers(self) -> Mapping[type, ReplayRecord]:
        return dict.fromkeys(self._replay.kinds, lambda key, value, _: self._replay.replay(key, value))

    def _find_persisted(self, group_id: str, is_wanted: bool) -> ConsumerGroup | None:
        """Return the group; make one if it is missing and `is_wanted`. The new group takes over offsets that were
        committed before. Raise ValueError for a group of another type."""
        group = self._tools.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if group is None and not is_wanted:
            return None
        if group is not None and not (group.type is GroupType.CLASSIC and group.is_empty):
            raise ValueError(f"group {group_id} is not a consumer group")
        made = self._tools.groups[group_id] = self._tools.new_group(group_id)
        return made

    def _remove(self, group_id: str) -> None:
        self._tools.groups.pop(group_id)

    def on_loaded(self) -> None:
        """Start the session timeouts of all members."""
        for group in self._tools.groups.values():
            if isinstance(group, ConsumerGroup):
                for member in group.members.all():
                    self._leaving.timeouts.expect_heartbeat(group.group_id, member.member_id)
                    if member.state is MemberState.UNREVOKED_PARTITIONS:
                        self._leaving.timeouts.expect_revocation(group.group_id, member)

    def on_topics_changed(self, changed: Collection[str], deleted: Collection[Topic]) -> None:
        self._topics.on_topics_changed()
