"""Heartbeat (API key 12), versions 0-4.

Behaviour      Restarts the session of a member of a classic group. While the group prepares a rebalance:
               REBALANCE_IN_PROGRESS. An empty group id: INVALID_GROUP_ID.
Version notes  v3 static members (KIP-345); v4 flexible.
Not done       Authorization.
Source         core/.../server/KafkaApis.scala handleHeartbeatRequest; GroupCoordinatorService.java heartbeat @ 4.2
"""

from __future__ import annotations

from functools import partial

from fakebroker.apis import registry
from fakebroker.apis.authorization import group
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import GENERATION, changes
from fakebroker.core.groups.classic.messages import HeartbeatRequest
from fakebroker.core.groups.classic.service import heartbeat
from fakebroker.protocol.answers.group_answers import encode_heartbeat
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.groups.by_hand import read_heartbeat
from fakebroker.protocol.groups.reader import heartbeat_of_kio, read, read_in_slices

KEY = 12

_ERRORS = GENERATION.replace("COORDINATOR_LOAD_IN_PROGRESS ", "")  # during loading the response is NONE


def _respond(ctx: RequestContext, code: ErrorCode) -> None:
    ctx.respond_frame(encode_heartbeat(ctx.api_version, ctx.correlation_id, ctx.throttle(), code))


def error_response(ctx: RequestContext, request: HeartbeatRequest, code: ErrorCode) -> None:
    _respond(ctx, code)


@registry.api(
    KEY,
    0,
    4,
    error_response=error_response,
    decode=partial(read, KEY, read_heartbeat, heartbeat_of_kio),
    decode_in_slices=partial(read_in_slices, KEY, heartbeat_of_kio),
    authorization=group("READ"),
    errors=changes("group member", before=_ERRORS, after="REBALANCE_IN_PROGRESS"),
)
def handle(ctx: RequestContext, request: HeartbeatRequest) -> None:
    heartbeat(ctx.groups, request, lambda code: _respond(ctx, code))
