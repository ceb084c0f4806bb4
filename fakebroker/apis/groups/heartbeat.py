"""Heartbeat (API key 12), versions 0-4.

Behaviour      A member of a classic group is alive: its session begins anew. While the group prepares a rebalance it is
               told so, REBALANCE_IN_PROGRESS. An empty group id: INVALID_GROUP_ID.
Version notes  v3 static members (KIP-345); v4 flexible.
Not done       Authorization.
Source         core/.../server/KafkaApis.scala handleHeartbeatRequest; GroupCoordinatorService.java heartbeat @ 4.2
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.core.groups.classic.messages import HeartbeatRequest
from fakebroker.core.groups.classic.service import heartbeat
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.heartbeat.v4.request import HeartbeatRequest as Request

KEY = 12


def _respond(ctx: RequestContext, code: ErrorCode) -> None:
    values = {"throttle_time": timedelta(0), "error_code": code}
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: Request, code: ErrorCode) -> None:
    _respond(ctx, code)


@registry.api(KEY, 0, 4, error_response=error_response)
def handle(ctx: RequestContext, request: Request) -> None:
    asked = HeartbeatRequest(
        request.group_id, request.generation_id, request.member_id, getattr(request, "group_instance_id", None)
    )
    heartbeat(ctx.groups, asked, lambda code: _respond(ctx, code))
