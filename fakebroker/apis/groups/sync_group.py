"""SyncGroup (API key 14), versions 0-5.

Behaviour      The leader of a generation says what each member is assigned, and each is told its own when that is safe.
               An empty group id: INVALID_GROUP_ID. What else is refused is in core/groups/classic/sync.py.
Version notes  v3 static members (KIP-345); v4 flexible; v5 protocol type and name are asked and told (KIP-559): without
               them, before anything else, INCONSISTENT_GROUP_PROTOCOL.
Not done       Authorization.
Source         core/.../server/KafkaApis.scala handleSyncGroupRequest; SyncGroupRequest.java;
               GroupCoordinatorService.java syncGroup @ 4.2
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.core.groups.classic.messages import SyncAnswer, SyncRequest
from fakebroker.core.groups.classic.service import sync_group
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.sync_group.v5.request import SyncGroupRequest

KEY = 14
_ASSIGNMENTS_OF_A_SLICE = 512


def _respond(ctx: RequestContext, answer: SyncAnswer) -> None:
    values = {
        "throttle_time": timedelta(0),
        "error_code": answer.error_code,
        "protocol_type": answer.protocol_type,
        "protocol_name": answer.protocol_name,
        "assignment": answer.assignment,
    }
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: SyncGroupRequest, code: ErrorCode) -> None:
    _respond(ctx, SyncAnswer(code))


@registry.api(KEY, 0, 5, error_response=error_response)
def handle(ctx: RequestContext, request: SyncGroupRequest) -> Slices[None]:
    protocol_type = getattr(request, "protocol_type", None)
    protocol_name = getattr(request, "protocol_name", None)
    if ctx.api_version >= 5 and (protocol_type is None or protocol_name is None):
        _respond(ctx, SyncAnswer(ErrorCode.inconsistent_group_protocol))
        return
    assignments: dict[str, bytes] = {}
    for number, each in enumerate(request.assignments, 1):
        assignments[each.member_id] = bytes(each.assignment)
        if number % _ASSIGNMENTS_OF_A_SLICE == 0:
            yield
    asked = SyncRequest(
        request.group_id,
        request.generation_id,
        request.member_id,
        getattr(request, "group_instance_id", None),
        protocol_type,
        protocol_name,
        assignments,
    )
    sync_group(ctx.groups, asked, lambda answer: _respond(ctx, answer))
