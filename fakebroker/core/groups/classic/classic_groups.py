"""Requests to the classic groups of one partition of __consumer_offsets.

Theory   A group is found, or made, by its id. join.py, sync.py and leave.py change it, and rebalance.py does what
         follows. All requests but DescribeGroups are write operations of the coordinator.
Source   group-coordinator/.../GroupMetadataManager.java classicGroupSync, classicGroupHeartbeat, classicGroupLeave,
         describeGroups, onLoaded, onUnloaded @ 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, final

from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.classic.join import Joins
from fakebroker.core.groups.classic.leave import Leaves
from fakebroker.core.groups.classic.messages import (
    DescribedGroup,
    HeartbeatRequest,
    JoinAnswer,
    JoinRequest,
    LeaveAnswer,
    LeaveRequest,
    Reply,
    SyncAnswer,
    SyncRequest,
)
from fakebroker.core.groups.classic.rebalance import Rebalances
from fakebroker.core.groups.classic.records import loaded_group
from fakebroker.core.groups.classic.states import COMPLETING_REBALANCE, DEAD, PREPARING_REBALANCE, STABLE
from fakebroker.core.groups.classic.sync import Syncs
from fakebroker.core.groups.classic.tools import NOTHING, ClassicTools, Done
from fakebroker.core.groups.group import Group, GroupType
from fakebroker.core.groups.manager import GroupManager, Replay
from fakebroker.core.groups.services import GroupServices
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.group_records.group_metadata import GroupMetadataKey, GroupMetadataValue


class ClassicMemberService(Protocol):
    """Classic members of a consumer group that has members (KIP-848, migration). The consumer groups serve them."""

    def join(self, request: JoinRequest, reply: Reply[JoinAnswer]) -> Done: ...
    def sync(self, request: SyncRequest, reply: Reply[SyncAnswer]) -> Done: ...
    def heartbeat(self, request: HeartbeatRequest) -> CoordinatorResult[ErrorCode]: ...
    def leave(self, request: LeaveRequest) -> CoordinatorResult[LeaveAnswer]: ...


@final
class ClassicGroups(GroupManager):
    """The classic groups of one partition. Raises KafkaError with the error code of the response.

    `of_consumer_groups` serves members of consumer groups. Without it they are refused, as in a group of any other
    type."""

    def __init__(self, services: GroupServices) -> None:
        self._tools = ClassicTools(services)
        self.rebalances = Rebalances(self._tools)
        self.of_consumer_groups: ClassicMemberService | None = None
        self._joins = Joins(self._tools, self.rebalances)
        self._syncs = Syncs(self._tools, self.rebalances)
        self._leaves = Leaves(self.rebalances)
        services.groups.new_classic_group = self._tools.new_group

    def join(self, request: JoinRequest, reply: Reply[JoinAnswer]) -> Done:
        group = self._tools.groups.get(request.group_id)
        if group is None or group.type is GroupType.CLASSIC or group.is_empty:
            return self._joins.join(request, reply)
        if group.type is GroupType.CONSUMER and self.of_consumer_groups is not None:
            return self.of_consumer_groups.join(request, reply)
        reply.complete(JoinAnswer(ErrorCode.inconsistent_group_protocol))
        return NOTHING

    def sync(self, request: SyncRequest, reply: Reply[SyncAnswer]) -> Done:
        group = self._tools.groups.get(request.group_id)
        if group is not None and not group.is_empty:
            if isinstance(group, ClassicGroup):
                return self._syncs.sync(group, request, reply)
            if group.type is GroupType.CONSUMER and self.of_consumer_groups is not None:
                return self.of_consumer_groups.sync(request, reply)
        reply.complete(SyncAnswer(ErrorCode.unknown_member_id))
        return NOTHING

    def heartbeat(self, request: HeartbeatRequest) -> CoordinatorResult[ErrorCode]:
        group = self._tools.groups.get(request.group_id)
        if isinstance(group, ClassicGroup):
            return self._heartbeat(group, request)
        if group is not None and group.type is GroupType.CONSUMER and self.of_consumer_groups is not None:
            return self.of_consumer_groups.heartbeat(request)
        raise _not_found(request.group_id)

    def leave(self, request: LeaveRequest) -> CoordinatorResult[LeaveAnswer]:
        group = self._tools.groups.get(request.group_id)
        if isinstance(group, ClassicGroup):
            return self._leaves.leave(group, request)
        if group is not None and group.type is GroupType.CONSUMER and self.of_consumer_groups is not None:
            return self.of_consumer_groups.leave(request)
        raise _not_found(request.group_id)

    def _heartbeat(self, group: ClassicGroup, request: HeartbeatRequest) -> CoordinatorResult[ErrorCode]:
        """Return REBALANCE_IN_PROGRESS while a rebalance is prepared."""
        if group.state is DEAD:
            return CoordinatorResult((), ErrorCode.coordinator_not_available)
        group.roster.validate_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation_id:
            return CoordinatorResult((), ErrorCode.illegal_generation)
        self.rebalances.expect_heartbeat(group, group.members[request.member_id])
        is_preparing = group.state is PREPARING_REBALANCE
        return CoordinatorResult((), ErrorCode.rebalance_in_progress if is_preparing else ErrorCode.none)

    def describe(self, group_id: str, committed_offset: int, is_missing_told: bool) -> DescribedGroup:
        """Describe a group. If it is missing or of another type, return GROUP_ID_NOT_FOUND (`is_missing_told`, v6 and
        later), else a group in state Dead."""
        group = self._tools.groups.get(group_id, committed_offset)
        if isinstance(group, ClassicGroup):
            return group.describe()
        if not is_missing_told:
            return DescribedGroup(ErrorCode.none, group_id, DEAD.value)
        what = "not found" if group is None else "is not a classic group"
        message = f"Group {group_id} {what}."
        return DescribedGroup(ErrorCode.group_id_not_found, group_id, DEAD.value, error_message=message)

    # The life cycle of the partition.

    def on_offset_commit(self, group: Group, member_id: str) -> None:
        """Restart the session timeout: an offset commit counts as a heartbeat."""
        if isinstance(group, ClassicGroup) and group.state in (STABLE, PREPARING_REBALANCE):
            self.rebalances.expect_heartbeat(group, group.members[member_id])

    def replayers(self) -> Mapping[type, Replay]:
        return {GroupMetadataKey: self._replay}

    def _replay(self, key: GroupMetadataKey, value: GroupMetadataValue | None, producer_id: int) -> None:
        if value is None:
            self._tools.groups.pop(key.group)
        else:
            self._tools.groups[key.group] = loaded_group(key.group, value)

    def on_loaded(self) -> None:
        """Start the session timeouts of all members. Rebalance a group that exceeds `group.max.size` by now."""
        for group in self._classic_groups():
            for member in group.members.values():
                self.rebalances.expect_heartbeat(group, member)
            if len(group.members) > self._tools.max_size:
                self.rebalances.prepare(group, f"Freshly-loaded group {group.group_id} is over capacity")

    def on_unloaded(self) -> None:
        """Answer NOT_COORDINATOR to members that wait for a join or a sync: they have to find the new coordinator."""
        for group in self._classic_groups():
            group.transition_to(DEAD, self._tools.wall_ms)
            if group.previous_state is PREPARING_REBALANCE:
                group.roster.complete_all_joins(ErrorCode.not_coordinator)
            elif group.previous_state in (COMPLETING_REBALANCE, STABLE):
                group.roster.complete_all_syncs(ErrorCode.not_coordinator)

    def _classic_groups(self) -> list[ClassicGroup]:
        return [group for group in self._tools.groups.values() if isinstance(group, ClassicGroup)]


def _not_found(group_id: str) -> KafkaError:
    return KafkaError(ErrorCode.unknown_member_id, f"Group {group_id} not found.")
