"""LeaveGroup of a classic group: members leave, or an operator removes static members.

Source   group-coordinator/.../GroupMetadataManager.java classicGroupLeaveToClassicGroup @ 4.2.
"""

from __future__ import annotations

from typing import final

from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.classic.messages import (
    UNKNOWN_MEMBER_ID,
    LeaveAnswer,
    LeaveRequest,
    LeavingMember,
    LeftMember,
)
from fakebroker.core.groups.classic.rebalance import Rebalances
from fakebroker.core.groups.classic.states import COMPLETING_REBALANCE, DEAD, PREPARING_REBALANCE, STABLE
from fakebroker.core.groups.classic.tools import NOTHING
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


@final
class Leaves:
    """LeaveGroup requests to the classic groups of one partition."""

    def __init__(self, rebalances: Rebalances) -> None:
        self._rebalances = rebalances

    def leave(self, group: ClassicGroup, request: LeaveRequest) -> CoordinatorResult[LeaveAnswer]:
        """Remove all members of the request before a rebalance begins."""
        if group.state is DEAD:
            return CoordinatorResult((), LeaveAnswer(ErrorCode.coordinator_not_available))
        left = tuple(
            LeftMember(member.member_id, member.group_instance_id, self._remove(group, member))
            for member in request.members
        )
        result = NOTHING
        gone = [member.member_id for member in left if member.error_code is ErrorCode.none]
        if gone and group.state in (STABLE, COMPLETING_REBALANCE):
            reason = f"explicit `LeaveGroup` request for ({', '.join(gone)}) members."
            result = self._rebalances.prepare_or_complete(group, reason)
        elif gone and group.state is PREPARING_REBALANCE:
            result = self._rebalances.complete_join_phase_if_all_joined(group)
        return CoordinatorResult(result.records, LeaveAnswer(members=left), result.on_complete, result.replay_records)

    def _remove(self, group: ClassicGroup, leaving: LeavingMember) -> ErrorCode:
        """Remove a member. Without a member id, remove the static member that has the instance id."""
        reason = f"it left: {leaving.reason or 'not provided'}"
        member_id: str | None = leaving.member_id
        if member_id == UNKNOWN_MEMBER_ID:
            instance_id = leaving.group_instance_id
            member_id = None if instance_id is None else group.roster.static_member_id(instance_id)
            if member_id is None:
                return ErrorCode.unknown_member_id
        elif group.roster.is_pending(leaving.member_id):
            self._rebalances.remove_pending(group, leaving.member_id, reason)
            return ErrorCode.none
        else:
            try:
                group.roster.validate_member(leaving.member_id, leaving.group_instance_id)
            except KafkaError as error:
                return error.code
        assert member_id is not None
        self._rebalances.remove_member(group, group.members[member_id], reason)
        return ErrorCode.none
