"""JoinGroup of a classic group, for new members and for members that rejoin.

Theory   A new member gets an id. From v4 on the coordinator returns it with MEMBER_ID_REQUIRED, and the client rejoins
         with it (KIP-394). Until then the id is pending, for at most the session timeout. So a client that never reads
         the response leaves no member behind. A member that rejoins a stable group with unchanged protocols gets a
         response at once. A rejoining leader, or changed protocols, begin a rebalance.
Source   group-coordinator/.../GroupMetadataManager.java classicGroupJoinToClassicGroup, classicGroupJoinNewMember,
         classicGroupJoinExistingMember, acceptJoiningMember @ 4.2.
"""

from __future__ import annotations

from typing import final

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.groups.classic.group import ClassicGroup, generate_member_id
from fakebroker.core.groups.classic.member import ClassicGroupMember
from fakebroker.core.groups.classic.messages import UNKNOWN_MEMBER_ID, JoinAnswer, JoinRequest, Reply
from fakebroker.core.groups.classic.rebalance import NEW_MEMBER_JOIN_TIMEOUT_MS, Rebalances
from fakebroker.core.groups.classic.records import empty_group_metadata_record, told_as
from fakebroker.core.groups.classic.states import COMPLETING_REBALANCE, DEAD, EMPTY, PREPARING_REBALANCE, STABLE
from fakebroker.core.groups.classic.static_join import StaticJoins
from fakebroker.core.groups.classic.tools import NOTHING, ClassicTools, Done
from fakebroker.core.journal.group_events import MemberJoined
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

JoinReply = Reply[JoinAnswer]


@final
class Joins:
    """JoinGroup requests to the classic groups of one partition."""

    def __init__(self, tools: ClassicTools, rebalances: Rebalances) -> None:
        self._tools = tools
        self._rebalances = rebalances
        self._static = StaticJoins(tools, rebalances)

    def join(self, request: JoinRequest, reply: JoinReply) -> Done:
        """Join a classic group. A missing group is created; it also replaces an empty group of another type."""
        member_id = request.member_id
        group, before = self._found(request.group_id)
        is_new_group = group is None
        if group is None:
            if member_id:
                reply.complete(JoinAnswer(ErrorCode.unknown_member_id, member_id))
                return NOTHING
            group = self._tools.groups[request.group_id] = self._tools.new_group(request.group_id)
        result = NOTHING
        if not self._accepts(group, member_id):
            group.roster.remove(member_id)
            reply.complete(JoinAnswer(ErrorCode.group_max_size_reached))
        elif member_id == UNKNOWN_MEMBER_ID:
            result = self._join_new(group, request, reply)
        else:
            result = self._join_known(group, request, reply)
        if is_new_group and result is NOTHING:
            return self._write_new_group(group, reply, before)
        return result

    def _found(self, group_id: str) -> tuple[ClassicGroup | None, list[CoordinatorRecord]]:
        """Return the classic group, and the tombstones of an empty group of another type that had this id. That group
        is removed at once, since the records of this operation are not replayed."""
        group = self._tools.groups.get(group_id)
        if group is None or isinstance(group, ClassicGroup):
            return group, []
        assert group.is_empty, f"{group_id} is no classic group"
        self._tools.groups.pop(group_id)
        group.cancel_timers(self._tools.timer)
        return None, group.create_group_tombstone_records()

    def _write_new_group(self, group: ClassicGroup, reply: JoinReply, before: list[CoordinatorRecord]) -> Done:
        """Write the record of a new group. If the write fails, the timeline forgets the group."""

        def on_complete(error: KafkaError | None) -> None:
            if error is not None:
                reply.complete(JoinAnswer(told_as(error.code)))

        return CoordinatorResult([*before, empty_group_metadata_record(group)], None, on_complete, False)

    def _accepts(self, group: ClassicGroup, member_id: str) -> bool:
        """Return True if there is room for the member. During a rebalance only members that have rejoined count, so the
        last ones may be refused."""
        if group.state in (EMPTY, DEAD):
            return True
        member = group.members.get(member_id)
        if group.state is PREPARING_REBALANCE:
            has_joined = member is not None and member.awaiting_join is not None
            return has_joined or group.roster.awaiting_join_count < self._tools.max_size
        return member is not None or len(group.members) < self._tools.max_size

    def _join_new(self, group: ClassicGroup, request: JoinRequest, reply: JoinReply) -> Done:
        refused = self._refused(group, request)
        if refused is not None:
            reply.complete(JoinAnswer(refused))
            return NOTHING
        member_id = generate_member_id(request.client_id, request.group_instance_id, self._tools.random_uuid())
        if request.group_instance_id is not None:
            existing = group.roster.static_member_id(request.group_instance_id)
            if existing is not None:
                return self._static.replace(group, request, existing, member_id, reply)
            return self._add(group, request, member_id, reply)
        if not request.requires_known_member_id:
            return self._add(group, request, member_id, reply)
        group.roster.add_pending(member_id)
        self._rebalances.expect_of(group.group_id, member_id, request.session_timeout_ms)
        reply.complete(JoinAnswer(ErrorCode.member_id_required, member_id))
        return NOTHING

    def _join_known(self, group: ClassicGroup, request: JoinRequest, reply: JoinReply) -> Done:
        member_id = request.member_id
        refused = self._refused(group, request)
        if refused is not None:
            reply.complete(JoinAnswer(refused, member_id))
            return NOTHING
        if group.roster.is_pending(member_id):
            if request.group_instance_id is not None:
                raise KafkaError(ErrorCode.unknown_server_error, f"pending member {member_id} cannot be static")
            return self._add(group, request, member_id, reply)
        try:
            group.roster.validate_member(member_id, request.group_instance_id)
        except KafkaError as error:
            reply.complete(JoinAnswer(error.code, member_id))
            return NOTHING
        member = group.members[member_id]
        if group.state is PREPARING_REBALANCE:
            return self._update(group, request, member, "is joining again", reply)
        if group.state in (COMPLETING_REBALANCE, STABLE):
            if group.state is STABLE and group.leader_id == member_id:
                return self._update(group, request, member, "leads, and joins again", reply)
            if member.protocols != request.protocols:
                return self._update(group, request, member, "has something else to say", reply)
            reply.complete(self._rebalances.joined(group, member))
            return NOTHING
        reply.complete(JoinAnswer(ErrorCode.unknown_member_id, member_id))
        return NOTHING

    def _refused(self, group: ClassicGroup, request: JoinRequest) -> ErrorCode | None:
        if group.state is DEAD:
            return ErrorCode.coordinator_not_available
        if not group.supports(request.protocol_type, {protocol.name for protocol in request.protocols}):
            return ErrorCode.inconsistent_group_protocol
        return None

    def _add(self, group: ClassicGroup, request: JoinRequest, member_id: str, reply: JoinReply) -> Done:
        member = ClassicGroupMember(
            member_id,
            request.group_instance_id,
            request.client_id,
            request.client_host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocol_type,
            request.protocols,
        )
        member.is_new = True
        if group.state is PREPARING_REBALANCE and group.previous_state is EMPTY:
            group.new_member_added = True
        group.add(member, reply)
        # While the member waits, its connection is not read, so a disconnect would stay unnoticed. This timeout removes
        # it.
        self._rebalances.expect_heartbeat(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        probe = self._tools.probe
        if probe.listeners:
            instance_id, client_id = request.group_instance_id, request.client_id
            probe.tell(MemberJoined(*probe.times, group.group_id, member_id, instance_id, client_id))
        return self._rebalances.prepare_or_complete(group, f"Adding new member {member_id}; {_reason(request)}")

    def _update(
        self, group: ClassicGroup, request: JoinRequest, member: ClassicGroupMember, what: str, reply: JoinReply
    ) -> Done:
        group.roster.update_member(
            member, request.protocols, request.rebalance_timeout_ms, request.session_timeout_ms, reply
        )
        return self._rebalances.prepare_or_complete(group, f"Member {member.member_id} {what}; {_reason(request)}")


def _reason(request: JoinRequest) -> str:
    return f"client reason: {request.reason or 'not provided'}"
