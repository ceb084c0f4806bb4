"""What is asked of the classic groups of one partition of __consumer_offsets.

Theory   A group is found, or made, by its id; what is to be done to it is in join.py, sync.py and leave.py, and what
         follows in rebalance.py. All but DescribeGroups are write operations of the coordinator.
Source   group-coordinator/.../GroupMetadataManager.java classicGroupSync, classicGroupHeartbeat, classicGroupLeave,
         describeGroups, onLoaded, onUnloaded @ 4.2.
"""

from __future__ import annotations

from typing import final

from fakebroker.core.coordinator.record import CoordinatorRecord
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
from fakebroker.core.groups.classic.states import COMPLETING_REBALANCE, DEAD, EMPTY, PREPARING_REBALANCE, STABLE
from fakebroker.core.groups.classic.sync import Syncs
from fakebroker.core.groups.classic.tools import NOTHING, ClassicTools, Done
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.group_records.group_metadata import GroupMetadataKey, GroupMetadataValue


@final
class ClassicGroups:
    """Raises KafkaError for what is answered with that error."""

    def __init__(self, tools: ClassicTools) -> None:
        self._tools = tools
        self.rebalances = Rebalances(tools)
        self._joins = Joins(tools, self.rebalances)
        self._syncs = Syncs(tools, self.rebalances)
        self._leaves = Leaves(self.rebalances)

    def join(self, request: JoinRequest, reply: Reply[JoinAnswer], before: tuple[CoordinatorRecord, ...] = ()) -> Done:
        """To a classic group or to none yet; `before` if it takes the place of an empty group of another type, which is
        no longer there."""
        return self._joins.join(request, reply, list(before))

    def sync(self, request: SyncRequest, reply: Reply[SyncAnswer]) -> Done:
        group = self._tools.classic_group(request.group_id)
        if group is None or group.state is EMPTY:
            reply.complete(SyncAnswer(ErrorCode.unknown_member_id))
            return NOTHING
        return self._syncs.sync(group, request, reply)

    def heartbeat(self, request: HeartbeatRequest) -> CoordinatorResult[ErrorCode]:
        """While a rebalance is prepared, that is what the member is told."""
        group = self._found(request.group_id)
        if group.state is DEAD:
            return CoordinatorResult((), ErrorCode.coordinator_not_available)
        group.validate_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation_id:
            return CoordinatorResult((), ErrorCode.illegal_generation)
        self.rebalances.expect_heartbeat(group, group.members[request.member_id])
        is_preparing = group.state is PREPARING_REBALANCE
        return CoordinatorResult((), ErrorCode.rebalance_in_progress if is_preparing else ErrorCode.none)

    def leave(self, request: LeaveRequest) -> CoordinatorResult[LeaveAnswer]:
        return self._leaves.leave(self._found(request.group_id), request)

    def describe(self, group_id: str, committed_offset: int, is_missing_told: bool) -> DescribedGroup:
        """Of a group that is not there, or of another type, either the error (v6 and later) or that it is dead."""
        group = self._tools.groups.get(group_id, committed_offset)
        if isinstance(group, ClassicGroup):
            return group.describe()
        if not is_missing_told:
            return DescribedGroup(ErrorCode.none, group_id, DEAD.value)
        what = "not found" if group is None else "is not a classic group"
        message = f"Group {group_id} {what}."
        return DescribedGroup(ErrorCode.group_id_not_found, group_id, DEAD.value, error_message=message)

    def _found(self, group_id: str) -> ClassicGroup:
        group = self._tools.classic_group(group_id)
        if group is None:
            raise KafkaError(ErrorCode.unknown_member_id, f"Group {group_id} not found.")
        return group

    # The life of the partition.

    def replay(self, key: GroupMetadataKey, value: GroupMetadataValue | None) -> None:
        if value is None:
            self._tools.groups.pop(key.group)
        else:
            self._tools.groups[key.group] = loaded_group(key.group, value)

    def on_loaded(self) -> None:
        """All members have their session timeout from now on. A group that is too large by now is rebalanced."""
        for group in self._classic_groups():
            for member in group.members.values():
                self.rebalances.expect_heartbeat(group, member)
            if len(group.members) > self._tools.max_size:
                self.rebalances.prepare(group, f"Freshly-loaded group {group.group_id} is over capacity")

    def on_unloaded(self) -> None:
        """Whoever waits has to look for the coordinator again."""
        for group in self._classic_groups():
            group.transition_to(DEAD, self._tools.wall_ms)
            if group.previous_state is PREPARING_REBALANCE:
                group.complete_all_joins(ErrorCode.not_coordinator)
            elif group.previous_state in (COMPLETING_REBALANCE, STABLE):
                group.complete_all_syncs(ErrorCode.not_coordinator)

    def _classic_groups(self) -> list[ClassicGroup]:
        return [group for group in self._tools.groups.values() if isinstance(group, ClassicGroup)]
