"""JoinGroup (API key 11), versions 0-9.

Behaviour      An empty group id: INVALID_GROUP_ID; a session timeout out of bounds: INVALID_SESSION_TIMEOUT. A new
               member is answered when the generation that it is in begins, which may take as long as the others need to
               join again, at most their rebalance timeout. What is decided then is in core/groups/classic/.
Version notes  v0 the session timeout is the rebalance timeout as well; v4 a new member is told its id first, by
               MEMBER_ID_REQUIRED (KIP-394); v5 static members (KIP-345); v6 flexible; v7 the protocol type, and null
               for no protocol; v8 reason (KIP-800); v9 skip_assignment (KIP-814).
Not done       Authorization.
Source         core/.../server/KafkaApis.scala handleJoinGroupRequest; JoinGroupRequest.java, JoinGroupResponse.java;
               GroupCoordinatorService.java joinGroup @ 4.2
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.core.groups.classic.messages import JoinAnswer, JoinRequest, MemberProtocol
from fakebroker.core.groups.classic.service import join_group
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.join_group.v9.request import JoinGroupRequest

KEY = 11
_MILLISECOND = timedelta(milliseconds=1)
_PROTOCOLS_OF_A_SLICE = 512


def _respond(ctx: RequestContext, answer: JoinAnswer) -> None:
    no_protocol = None if ctx.api_version >= 7 else ""
    values: dict[str, Any] = {
        "throttle_time": timedelta(0),
        "error_code": answer.error_code,
        "generation_id": answer.generation_id,
        "protocol_type": answer.protocol_type,
        "protocol_name": answer.protocol_name or no_protocol,
        "leader": answer.leader,
        "skip_assignment": answer.skip_assignment,
        "member_id": answer.member_id,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "metadata": member.metadata,
            }
            for member in answer.members
        ],
    }
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: JoinGroupRequest, code: ErrorCode) -> None:
    _respond(ctx, JoinAnswer(code))


@registry.api(KEY, 0, 9, error_response=error_response)
def handle(ctx: RequestContext, request: JoinGroupRequest) -> Slices[None]:
    version = ctx.api_version
    protocols: list[MemberProtocol] = []
    for number, protocol in enumerate(request.protocols, 1):
        protocols.append(MemberProtocol(protocol.name, bytes(protocol.metadata)))
        if number % _PROTOCOLS_OF_A_SLICE == 0:
            yield
    rebalance_timeout = request.session_timeout if version == 0 else request.rebalance_timeout
    asked = JoinRequest(
        request.group_id,
        request.member_id,
        getattr(request, "group_instance_id", None),
        ctx.client_id,
        ctx.client_host,
        request.protocol_type,
        tuple(protocols),
        request.session_timeout // _MILLISECOND,
        rebalance_timeout // _MILLISECOND,
        requires_known_member_id=version >= 4,
        supports_skipping_assignment=version >= 9,
        reason=getattr(request, "reason", None),
    )
    join_group(ctx.groups, asked, lambda answer: _respond(ctx, answer))
