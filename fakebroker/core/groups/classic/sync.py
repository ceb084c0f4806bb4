"""SyncGroup of a classic group: members fetch their assignment, and the leader sends the assignment of all.

Theory   A member that syncs before the leader waits. The leader's assignment is written. When that is committed, the
         group is stable, and the waiting members get their assignments.
Source   group-coordinator/.../GroupMetadataManager.java classicGroupSyncToClassicGroup, validateSyncGroup @ 4.2.
"""

from __future__ import annotations

from typing import final

from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.classic.member import EMPTY_ASSIGNMENT
from fakebroker.core.groups.classic.messages import Reply, SyncAnswer, SyncRequest
from fakebroker.core.groups.classic.rebalance import Rebalances
from fakebroker.core.groups.classic.records import group_metadata_record, told_as
from fakebroker.core.groups.classic.states import COMPLETING_REBALANCE, DEAD, PREPARING_REBALANCE, STABLE
from fakebroker.core.groups.classic.tools import NOTHING, ClassicTools, Done, write
from fakebroker.core.journal.group_events import GroupStabilized
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


@final
class Syncs:
    """SyncGroup requests to the groups of one partition."""

    def __init__(self, tools: ClassicTools, rebalances: Rebalances) -> None:
        self._tools = tools
        self._rebalances = rebalances

    def sync(self, group: ClassicGroup, request: SyncRequest, reply: Reply[SyncAnswer]) -> Done:
        """Handle a SyncGroup. The group must not be empty."""
        refused = _refused(group, request)
        if refused is None and group.state is PREPARING_REBALANCE:
            refused = ErrorCode.rebalance_in_progress
        if refused is not None:
            reply.complete(SyncAnswer(refused))
            return NOTHING
        member = group.members[request.member_id]
        if group.state is STABLE:
            self._rebalances.synced(group, member.member_id)
            reply.complete(SyncAnswer(ErrorCode.none, group.protocol_type, group.protocol_name, member.assignment))
            return NOTHING
        member.awaiting_sync = reply
        self._rebalances.synced(group, member.member_id)
        if group.leader_id != member.member_id:
            return NOTHING
        return self._write_assignment(group, request)

    def _write_assignment(self, group: ClassicGroup, request: SyncRequest) -> Done:
        assignment = dict.fromkeys(group.members, EMPTY_ASSIGNMENT) | request.assignments

        def on_complete(error: KafkaError | None) -> None:
            if group.state is not COMPLETING_REBALANCE or group.generation_id != request.generation_id:
                return  # a member has joined or left meanwhile
            if error is not None:
                code = told_as(error.code)
                self._rebalances.reset_assignment(group, code)
                self._rebalances.prepare_or_complete(group, f"Error {code.name} when storing group assignment")
                return
            self._rebalances.set_assignment(group, assignment)
            group.transition_to(STABLE, self._tools.wall_ms)
            probe = self._tools.probe
            if probe.listeners:
                probe.tell(GroupStabilized(*probe.times, group.group_id, group.generation_id))

        return write(group_metadata_record(group, assignment), on_complete)


def _refused(group: ClassicGroup, request: SyncRequest) -> ErrorCode | None:
    if group.state is DEAD:
        return ErrorCode.coordinator_not_available
    try:
        group.roster.validate_member(request.member_id, request.group_instance_id)
    except KafkaError as error:
        return error.code
    if request.generation_id != group.generation_id:
        return ErrorCode.illegal_generation
    if _differ(request.protocol_type, group.protocol_type) or _differ(request.protocol_name, group.protocol_name):
        return ErrorCode.inconsistent_group_protocol
    return None


def _differ(requested: str | None, known: str | None) -> bool:
    return requested is not None and known is not None and requested != known
