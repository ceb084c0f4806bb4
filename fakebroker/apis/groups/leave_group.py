"""LeaveGroup (API key 13), versions 0-5.

Behaviour      Members leave a classic group: one by its id, or many (v3 and later, KIP-345), static ones also by their
               instance ids alone. Each has an error of its own; the group rebalances once.
               An empty group id: INVALID_GROUP_ID.
Version notes  v0-v2 one member, with its error at the top; v3 many; v4 flexible; v5 reason (KIP-800).
Not done       Authorization.
Source         core/.../server/KafkaApis.scala handleLeaveGroupRequest; LeaveGroupRequest.java normalizedData;
               LeaveGroupResponse.java; GroupCoordinatorService.java leaveGroup @ 4.2
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import group
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import MEMBER, appends
from fakebroker.apis.later import Later
from fakebroker.core.groups.classic.messages import LeaveAnswer, LeaveRequest, LeavingMember, LeftMember
from fakebroker.core.groups.classic.service import leave_group
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.leave_group.v5.request import LeaveGroupRequest
    from kio.static.protocol import ResponsePayload

KEY = 13
_MEMBERS_OF_A_SLICE = 512


def _message(version: int, answer: LeaveAnswer) -> ResponsePayload:
    code = answer.error_code
    if version < 3 and code is ErrorCode.none:
        code = answer.members[0].error_code
    values = {"throttle_time": timedelta(0), "error_code": code, "members": Each(_answer, answer.members)}
    return build_lazily(response_type(KEY, version), values)


def _answer(member: LeftMember) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "error_code": member.error_code,
    }


def error_response(ctx: RequestContext, request: LeaveGroupRequest, code: ErrorCode) -> None:
    ctx.respond(_message(ctx.api_version, LeaveAnswer(code)))


@registry.api(
    KEY, 0, 5, error_response=error_response, authorization=group("READ"), errors=appends("group member", before=MEMBER)
)
def handle(ctx: RequestContext, request: LeaveGroupRequest) -> Slices[None]:
    members: list[LeavingMember] = []
    if ctx.api_version < 3:
        members.append(LeavingMember(request.member_id))  # type: ignore[attr-defined]
    else:
        for number, member in enumerate(request.members, 1):
            members.append(LeavingMember(member.member_id, member.group_instance_id, getattr(member, "reason", None)))
            if number % _MEMBERS_OF_A_SLICE == 0:
                yield
    later: Later[LeaveAnswer] = Later(
        ctx, partial(_message, ctx.api_version), lambda code: _message(ctx.api_version, LeaveAnswer(code))
    )
    leave_group(ctx.groups, LeaveRequest(request.group_id, tuple(members)), later)
    yield from later.answer()
