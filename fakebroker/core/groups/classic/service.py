"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup at the group coordinator of a broker: checks that need no group, the
operation, and the response if it failed.

Theory   Each `answer` is called once, now or later.
Source   group-coordinator/.../GroupCoordinatorService.java joinGroup, syncGroup, heartbeat, leaveGroup @ 4.2.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.core.groups.classic.messages import (
    HeartbeatRequest,
    JoinAnswer,
    JoinRequest,
    LeaveAnswer,
    LeaveRequest,
    LeftMember,
    Reply,
    SyncAnswer,
    SyncRequest,
)
from fakebroker.core.groups.coordinator import GroupCoordinator
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


def join_group(groups: GroupCoordinator, request: JoinRequest, answer: Callable[[JoinAnswer], None]) -> None:
    config = groups.environment.configs.current
    shortest_ms, longest_ms = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
    if not request.group_id:
        answer(JoinAnswer(ErrorCode.invalid_group_id, request.member_id))
        return
    if not shortest_ms <= request.session_timeout_ms <= longest_ms:
        answer(JoinAnswer(ErrorCode.invalid_session_timeout, request.member_id))
        return
    reply = Reply(answer, groups.put_off)

    def then(response: KafkaError | None) -> None:
        if response is not None:
            reply.complete(JoinAnswer(response.code))

    groups.write("classic-group-join", request.group_id, lambda shard: shard.classic.join(request, reply), then)


def sync_group(groups: GroupCoordinator, request: SyncRequest, answer: Callable[[SyncAnswer], None]) -> None:
    if not request.group_id:
        answer(SyncAnswer(ErrorCode.invalid_group_id))
        return
    reply = Reply(answer, groups.put_off)

    def then(response: KafkaError | None) -> None:
        if response is not None:
            reply.complete(SyncAnswer(response.code))

    groups.write("classic-group-sync", request.group_id, lambda shard: shard.classic.sync(request, reply), then)


def heartbeat(groups: GroupCoordinator, request: HeartbeatRequest, answer: Callable[[ErrorCode], None]) -> None:
    """Handle a Heartbeat. While the coordinator loads, the response is NONE: the member is not fenced."""
    if not request.group_id:
        answer(ErrorCode.invalid_group_id)
        return

    def then(response: ErrorCode | KafkaError) -> None:
        code = response.code if isinstance(response, KafkaError) else response
        answer(ErrorCode.none if code is ErrorCode.coordinator_load_in_progress else code)

    groups.write("classic-group-heartbeat", request.group_id, lambda shard: shard.classic.heartbeat(request), then)


def leave_group(groups: GroupCoordinator, request: LeaveRequest, answer: Callable[[LeaveAnswer], None]) -> None:
    if not request.group_id:
        answer(LeaveAnswer(ErrorCode.invalid_group_id))
        return

    def then(response: LeaveAnswer | KafkaError) -> None:
        if not isinstance(response, KafkaError):
            answer(response)
        elif response.code is ErrorCode.unknown_member_id:  # the group does not exist
            unknown = ErrorCode.unknown_member_id
            members = (LeftMember(member.member_id, member.group_instance_id, unknown) for member in request.members)
            answer(LeaveAnswer(members=tuple(members)))
        else:
            answer(LeaveAnswer(response.code))

    groups.write("classic-group-leave", request.group_id, lambda shard: shard.classic.leave(request), then)
