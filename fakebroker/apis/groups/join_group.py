"""JoinGroup (API key 11), versions 0-9.

Behaviour      An empty group id: INVALID_GROUP_ID; a session timeout out of bounds: INVALID_SESSION_TIMEOUT. A new
               member gets its response when its generation begins. That may take until the other members have rejoined,
               at most their rebalance timeout. The rules are in core/groups/classic/.
Version notes  v0 the session timeout is the rebalance timeout as well; v4 a new member first gets its id by
               MEMBER_ID_REQUIRED (KIP-394); v5 static members (KIP-345); v6 flexible; v7 the protocol type, and null
               for no protocol; v8 reason (KIP-800); v9 skip_assignment (KIP-814).
Not done       Authorization.
Source         core/.../server/KafkaApis.scala handleJoinGroupRequest; JoinGroupRequest.java, JoinGroupResponse.java;
               GroupCoordinatorService.java joinGroup @ 4.2
"""

from __future__ import annotations

from functools import partial

from fakebroker.apis import registry
from fakebroker.apis.authorization import group
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import KNOWN, LOST_WRITE, MEMBER, MOMENT, appends, because
from fakebroker.core.groups.classic.messages import JoinAnswer, JoinRequest
from fakebroker.core.groups.classic.protocols import CONSUMER, may_have_very_many_topics, with_topics
from fakebroker.core.groups.classic.service import join_group
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.answers.group_answers import encode_join_group
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.groups.by_hand import read_join_group
from fakebroker.protocol.groups.reader import join_group_of_kio, read, read_in_slices
from fakebroker.protocol.groups.requests import JoinGroupRequest, MemberProtocol
from fakebroker.protocol.slices import Slices

KEY = 11


def _respond(ctx: RequestContext, answer: JoinAnswer) -> None:
    ctx.respond_frame(
        encode_join_group(
            ctx.api_version,
            ctx.correlation_id,
            ctx.throttle(),
            answer.error_code,
            answer.generation_id,
            answer.protocol_type,
            answer.protocol_name,
            answer.leader,
            answer.skip_assignment,
            answer.member_id,
            answer.members,
        )
    )


def error_response(ctx: RequestContext, request: JoinGroupRequest, code: ErrorCode) -> None:
    _respond(ctx, JoinAnswer(code))


@registry.api(
    KEY,
    0,
    9,
    error_response=error_response,
    decode=partial(read, KEY, read_join_group, join_group_of_kio),
    decode_in_slices=partial(read_in_slices, KEY, join_group_of_kio),
    decode_by_hand=read_join_group,
    authorization=group("READ"),
    errors=appends(
        "group member",
        before=f"{MEMBER} INVALID_SESSION_TIMEOUT INCONSISTENT_GROUP_PROTOCOL GROUP_MAX_SIZE_REACHED "
        "UNSUPPORTED_VERSION",
        after=f"{LOST_WRITE} UNKNOWN_MEMBER_ID REBALANCE_IN_PROGRESS",
        not_parts="members",
        unseen=because(UNSUPPORTED_VERSION=KNOWN, REBALANCE_IN_PROGRESS=MOMENT),
    ),
)
def handle(ctx: RequestContext, request: JoinGroupRequest) -> Slices[None] | None:
    if request.protocol_type == CONSUMER and may_have_very_many_topics(request.protocols):
        return _handle_in_slices(ctx, request)
    _handle(ctx, request, request.protocols)
    return None


def _handle_in_slices(ctx: RequestContext, request: JoinGroupRequest) -> Slices[None]:
    _handle(ctx, request, (yield from with_topics(request.protocols)))


def _handle(ctx: RequestContext, request: JoinGroupRequest, protocols: tuple[MemberProtocol, ...]) -> None:
    version = ctx.api_version
    join_request = JoinRequest(
        request.group_id,
        request.member_id,
        request.group_instance_id,
        ctx.client_id,
        ctx.client_host,
        request.protocol_type,
        protocols,
        request.session_timeout_ms,
        request.rebalance_timeout_ms,
        requires_known_member_id=version >= 4,
        supports_skipping_assignment=version >= 9,
        reason=request.reason,
        may_describe=ctx.later_check(AclOperation.DESCRIBE, ResourceType.TOPIC),
    )
    join_group(ctx.groups, join_request, lambda answer: _respond(ctx, answer))
