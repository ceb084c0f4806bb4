"""The rebalance of a classic group: which members it waits for, how long, and what follows.

Theory   A rebalance is prepared: heartbeats tell the members to rejoin. The join phase ends when all have joined or
         their timeout is over. The rebalance ends when the leader's assignment is written. A group has one timer for
         the join phase, one for the sync phase, and one session timer for each member. All are on the timing wheel. The
         first generation of a group waits for `group.initial.rebalance.delay.ms`. Each time a member has joined
         meanwhile it waits again, up to the rebalance timeout.
Units    milliseconds.
Source   group-coordinator/.../GroupMetadataManager.java prepareRebalance, maybeCompleteJoinElseSchedule,
         tryCompleteInitialRebalanceElseSchedule, completeClassicGroupJoin, expirePendingSync,
         expireClassicGroupMemberHeartbeat, propagateAssignment @ 4.2.
Differs  If a new group could not be written, its timer stays. Suppose that a new group of that name exists when the
         timer fires. Kafka then bumps its generation, and fails; here nothing happens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.classic.member import EMPTY_ASSIGNMENT, ClassicGroupMember
from fakebroker.core.groups.classic.messages import Answer, JoinAnswer, Reply, SyncAnswer
from fakebroker.core.groups.classic.records import group_metadata_record
from fakebroker.core.groups.classic.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from fakebroker.core.groups.classic.tools import NOTHING, ClassicTools, Done, write
from fakebroker.core.journal.group_events import GenerationBegan, MemberLeft, RebalanceBegan
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000  # GroupCoordinatorConfig.CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS
_AT_ONCE: Final = 64  # responses of one rebalance that are sent at once; the others are put off

_UNKNOWN: Final = JoinAnswer(ErrorCode.unknown_member_id)


@final
class Rebalances:
    """The rebalances of the classic groups of one partition."""

    def __init__(self, tools: ClassicTools) -> None:
        self._tools = tools
        self._timer = tools.timer

    # The join phase.

    def prepare_or_complete(self, group: ClassicGroup, reason: str) -> Done:
        """Begin a rebalance; if one is running already, complete its join phase if this change allows it."""
        return self.prepare(group, reason) if group.can_rebalance else self.complete_join_phase_if_all_joined(group)

    def prepare(self, group: ClassicGroup, reason: str) -> Done:
        if group.state is COMPLETING_REBALANCE:
            self.reset_assignment(group, ErrorCode.rebalance_in_progress)
        group.roster.clear_pending_sync()
        self._timer.cancel(sync_key(group.group_id))
        is_initial = group.state is EMPTY
        if is_initial:
            delay_ms = self._tools.initial_rebalance_delay_ms
            self._schedule_initial(group, delay_ms, max(group.roster.rebalance_timeout_ms - delay_ms, 0))
        group.transition_to(PREPARING_REBALANCE, self._tools.wall_ms)
        probe = self._tools.probe
        if probe.listeners:
            probe.tell(RebalanceBegan(*probe.times, group.group_id, group.generation_id, reason))
        if is_initial:
            return NOTHING
        if group.roster.have_all_joined:
            return self._complete_join(group)
        self._schedule_join(group)
        return NOTHING

    def complete_join_phase_if_all_joined(self, group: ClassicGroup) -> Done:
        """Complete the join phase if all members have joined. The first generation always waits for its initial
        delay."""
        if group.state is not PREPARING_REBALANCE or group.previous_state is EMPTY or not group.roster.have_all_joined:
            return NOTHING
        return self._complete_join(group)

    def _schedule_join(self, group: ClassicGroup) -> None:
        group_id = group.group_id
        self._timer.schedule(
            join_key(group_id), group.roster.rebalance_timeout_ms, lambda: self._join_is_due(group_id), retry=False
        )

    def _join_is_due(self, group_id: str) -> Done:
        group = self._preparing(group_id)
        return NOTHING if group is None else self._complete_join(group)

    def _preparing(self, group_id: str) -> ClassicGroup | None:
        """Return the group if its join phase has not ended."""
        group = self._tools.classic_group(group_id)
        return None if group is None or group.state is not PREPARING_REBALANCE else group

    def _schedule_initial(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        group_id = group.group_id
        self._timer.schedule(
            join_key(group_id),
            delay_ms,
            lambda: self._initial_join_is_due(group_id, delay_ms, remaining_ms),
            retry=False,
            is_awaited=True,
        )

    def _initial_join_is_due(self, group_id: str, delay_ms: int, remaining_ms: int) -> Done:
        group = self._preparing(group_id)
        if group is None:
            return NOTHING
        if not group.new_member_added or remaining_ms == 0:
            return self._complete_join(group)
        group.new_member_added = False
        next_ms = min(self._tools.initial_rebalance_delay_ms, remaining_ms)
        self._schedule_initial(group, next_ms, max(remaining_ms - delay_ms, 0))
        return NOTHING

    def _complete_join(self, group: ClassicGroup) -> Done:
        """Remove the members that have not joined, except static ones, and begin the next generation."""
        self._timer.cancel(join_key(group.group_id))
        for member in list(group.members.values()):
            if member.awaiting_join is None and not member.is_static:
                self._forget(group, member.member_id, "it did not join in time")
        if group.state is DEAD:
            return NOTHING
        if not group.roster.elect_joined_leader() and group.members:
            self._schedule_join(group)  # only static members are left: wait until their sessions expire
            return NOTHING
        group.init_next_generation(self._tools.wall_ms)
        probe = self._tools.probe
        if probe.listeners:
            chosen, members = (group.protocol_name or "", group.leader_id or ""), tuple(group.members)
            probe.tell(GenerationBegan(*probe.times, group.group_id, group.generation_id, *chosen, members))
        if group.state is EMPTY:
            return write(group_metadata_record(group, {}), _whatever_becomes_of_it)
        self._answer_joins(group)
        return NOTHING

    def _answer_joins(self, group: ClassicGroup) -> None:
        """Complete the joins of all members, and start the sync phase. The leader's response lists all members."""
        generation_id, roster = group.generation_id, group.roster
        for number, member in enumerate(list(roster.members.values())):
            member.is_new = False
            roster.add_pending_sync(member.member_id)
            reply, answer = roster.take_join(member), self.joined(group, member)
            if reply is None:
                self.expect_heartbeat(group, member)
            else:
                self._complete(reply, answer, group, member, number)
        group_id = group.group_id
        self._timer.schedule(
            sync_key(group_id),
            roster.rebalance_timeout_ms,
            lambda: self._sync_is_due(group_id, generation_id),
            retry=False,
        )

    def joined(self, group: ClassicGroup, member: ClassicGroupMember) -> JoinAnswer:
        """Return the JoinGroup response to a member of the generation. The leader's response has the metadata of all
        members."""
        leader_id = group.leader_id
        return JoinAnswer(
            ErrorCode.none,
            member.member_id,
            group.generation_id,
            group.protocol_type,
            group.protocol_name,
            leader_id or "",
            False,
            group.joined_members() if leader_id == member.member_id else (),
        )

    # The sync phase.

    def _sync_is_due(self, group_id: str, generation_id: int) -> Done:
        """Remove the members that have not synced, and begin a new rebalance."""
        group = self._tools.classic_group(group_id)
        if group is None or group.generation_id != generation_id or group.state not in (COMPLETING_REBALANCE, STABLE):
            return NOTHING
        late = group.roster.pending_sync
        if not late:
            return NOTHING
        for member_id in late:
            self._forget(group, member_id, "it did not sync in time")
        return self.prepare(group, f"Removing {', '.join(late)} on pending sync request expiration")

    def synced(self, group: ClassicGroup, member_id: str) -> None:
        """Note that the member has sent its SyncGroup."""
        group.roster.remove_pending_sync(member_id)
        if group.roster.have_all_synced:
            self._timer.cancel(sync_key(group.group_id))

    def set_assignment(self, group: ClassicGroup, assignment: Mapping[str, bytes]) -> None:
        """Set each member's assignment, and complete the SyncGroups that wait."""
        for member in group.members.values():
            member.assignment = assignment.get(member.member_id, EMPTY_ASSIGNMENT)
        self._tell_assignment(group, ErrorCode.none)

    def reset_assignment(self, group: ClassicGroup, code: ErrorCode) -> None:
        for member in group.members.values():
            member.assignment = EMPTY_ASSIGNMENT
        self._tell_assignment(group, code)

    def _tell_assignment(self, group: ClassicGroup, code: ErrorCode) -> None:
        is_good = code is ErrorCode.none
        for number, member in enumerate(list(group.members.values())):
            answer = SyncAnswer(
                code,
                group.protocol_type if is_good else None,
                group.protocol_name if is_good else None,
                member.assignment,
            )
            reply, member.awaiting_sync = member.awaiting_sync, None
            if reply is not None:
                self._complete(reply, answer, group, member, number)

    def _complete(
        self, reply: Reply[Answer], answer: Answer, group: ClassicGroup, member: ClassicGroupMember, number: int
    ) -> None:
        """Send a response of a rebalance, and restart the session timer: it did not run while the member waited."""

        def expect_heartbeat() -> None:
            member.is_being_answered = False
            if group.state is not DEAD and group.members.get(member.member_id) is member:
                self.expect_heartbeat(group, member)

        if number < _AT_ONCE:
            self.expect_heartbeat(group, member)
            reply.complete(answer)
        else:
            member.is_being_answered = True
            reply.complete_in_turn(answer, expect_heartbeat)

    # Sessions.

    def expect_heartbeat(self, group: ClassicGroup, member: ClassicGroupMember, within_ms: int | None = None) -> None:
        """Restart the session timer, with the session timeout or `within_ms`."""
        group_id, member_id = group.group_id, member.member_id
        self.expect_of(group_id, member_id, member.session_timeout_ms if within_ms is None else within_ms)

    def expect_of(self, group_id: str, member_id: str, within_ms: int) -> None:
        self._timer.schedule(
            heartbeat_key(group_id, member_id),
            within_ms,
            lambda: self._heartbeat_is_due(group_id, member_id),
            retry=False,
        )

    def forget_heartbeat(self, group: ClassicGroup, member_id: str) -> None:
        self._timer.cancel(heartbeat_key(group.group_id, member_id))

    def _heartbeat_is_due(self, group_id: str, member_id: str) -> Done:
        group = self._tools.classic_group(group_id)
        if group is None or group.state is DEAD:
            return NOTHING
        if group.roster.is_pending(member_id):
            group.roster.remove(member_id)
            self._tell_removed(group, member_id, "it did not join with its id in time")
            if group.state is PREPARING_REBALANCE and group.roster.have_all_joined:
                return self._complete_join(group)
            return NOTHING
        member = group.members.get(member_id)
        if member is None or member.has_satisfied_heartbeat:
            return NOTHING
        group.roster.complete_join(member, _UNKNOWN)
        group.roster.remove(member_id)
        self._tell_removed(group, member_id, "its session has expired")
        if group.state in (STABLE, COMPLETING_REBALANCE):
            return self.prepare_or_complete(group, f"removing member {member_id} on heartbeat expiration.")
        if group.state is PREPARING_REBALANCE and group.roster.have_all_joined:
            return self._complete_join(group)
        return NOTHING

    def remove_member(self, group: ClassicGroup, member: ClassicGroupMember, reason: str) -> None:
        """Remove a member that leaves. If it waits to join, it gets UNKNOWN_MEMBER_ID."""
        self.forget_heartbeat(group, member.member_id)
        group.roster.complete_join(member, _UNKNOWN)
        group.roster.remove(member.member_id)
        self._tell_removed(group, member.member_id, reason)

    def remove_pending(self, group: ClassicGroup, member_id: str, reason: str) -> None:
        self.forget_heartbeat(group, member_id)
        group.roster.remove(member_id)
        self._tell_removed(group, member_id, reason)

    def _forget(self, group: ClassicGroup, member_id: str, reason: str) -> None:
        group.roster.remove(member_id)
        self.forget_heartbeat(group, member_id)
        self._tell_removed(group, member_id, reason)

    def _tell_removed(self, group: ClassicGroup, member_id: str, reason: str) -> None:
        probe = self._tools.probe
        if probe.listeners:
            probe.tell(MemberLeft(*probe.times, group.group_id, member_id, group.generation_id, reason))


def _whatever_becomes_of_it(error: KafkaError | None) -> None:
    """Ignore that an empty generation could not be written. If the group is loaded again, the generation before comes
    back, and its members time out."""


def heartbeat_key(group_id: str, member_id: str) -> str:
    return f"heartbeat-{group_id}-{member_id}"


def join_key(group_id: str) -> str:
    return f"join-{group_id}"


def sync_key(group_id: str) -> str:
    return f"sync-{group_id}"
