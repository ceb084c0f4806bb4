"""A static member that rejoins under a new id (KIP-345): it replaces the member that had its instance id.

Theory   A stable group need not rebalance if its protocol stays the same: the new id is written, and the member gets
         the current generation. From v9 on a leader is told to skip the assignment (KIP-814). An older leader gets its
         old id as the leader's id, so it does not know that it leads.
Source   group-coordinator/.../GroupMetadataManager.java updateStaticMemberThenRebalanceOrCompleteJoin @ 4.2.
Differs  If the write fails after the member was replaced again or removed, the old member is not put back. Kafka fails
         there.
"""

from __future__ import annotations

from typing import final

from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.classic.member import ClassicGroupMember
from fakebroker.core.groups.classic.messages import JoinAnswer, JoinRequest, Reply
from fakebroker.core.groups.classic.rebalance import Rebalances
from fakebroker.core.groups.classic.records import group_metadata_record, told_as
from fakebroker.core.groups.classic.states import COMPLETING_REBALANCE, STABLE
from fakebroker.core.groups.classic.tools import ClassicTools, Done, write
from fakebroker.core.journal.group_events import MemberJoined
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


@final
class StaticJoins:
    """Static members that rejoin, in the groups of one partition."""

    def __init__(self, tools: ClassicTools, rebalances: Rebalances) -> None:
        self._tools = tools
        self._rebalances = rebalances

    def replace(
        self, group: ClassicGroup, request: JoinRequest, old_member_id: str, member_id: str, reply: Reply[JoinAnswer]
    ) -> Done:
        """Give the request's instance id, which `old_member_id` has, to `member_id`."""
        instance_id = request.group_instance_id
        assert instance_id is not None
        old_leader = group.leader_id
        member = group.roster.replace_static_member(instance_id, old_member_id, member_id)
        self._rebalances.expect_heartbeat(group, member)
        before = member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms
        group.roster.update_member(
            member, request.protocols, request.rebalance_timeout_ms, request.session_timeout_ms, reply
        )
        probe = self._tools.probe
        if probe.listeners:
            probe.tell(MemberJoined(*probe.times, group.group_id, member_id, instance_id, request.client_id))
        reason = f"static member {member_id} with instance id {instance_id} has come back"
        if group.state is COMPLETING_REBALANCE:
            # The leader may know only the old id, and would assign to that.
            return self._rebalances.prepare(group, reason)
        if group.state is not STABLE:
            return self._rebalances.complete_join_phase_if_all_joined(group)
        if group.roster.select_protocol() != group.protocol_name:
            return self._rebalances.prepare_or_complete(group, f"{reason} with another protocol")

        def on_complete(error: KafkaError | None) -> None:
            if error is None:
                group.roster.complete_join(member, self._told(group, member, request, old_leader))
                return
            if group.roster.static_member_id(instance_id) == member_id:
                group.roster.update_member(member, *before, None)
                old = group.roster.replace_static_member(instance_id, member_id, old_member_id)
                self._rebalances.expect_heartbeat(group, old)
            reply.complete(
                JoinAnswer(
                    told_as(error.code),
                    "",
                    group.generation_id,
                    group.protocol_type,
                    group.protocol_name,
                    old_leader or "",
                )
            )

        assignment = {member.member_id: member.assignment for member in group.members.values()}
        return write(group_metadata_record(group, assignment), on_complete)

    def _told(
        self, group: ClassicGroup, member: ClassicGroupMember, request: JoinRequest, old_leader: str | None
    ) -> JoinAnswer:
        if not request.supports_skipping_assignment:
            return JoinAnswer(
                ErrorCode.none,
                member.member_id,
                group.generation_id,
                group.protocol_type,
                group.protocol_name,
                old_leader or "",
            )
        answer = self._rebalances.joined(group, member)
        return answer._replace(skip_assignment=group.leader_id == member.member_id)
