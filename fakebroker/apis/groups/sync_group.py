"""SyncGroup (API key 14), versions 0-5.

Behaviour      The leader of a generation sends the assignments, and each member gets its own once they are committed.
               An empty group id: INVALID_GROUP_ID. core/groups/classic/sync.py has the other errors.
Version notes  v3 static members (KIP-345); v4 flexible; v5 protocol type and name in request and response (KIP-559):
               without them, before anything else, INCONSISTENT_GROUP_PROTOCOL.
Not done       Authorization.
Source         core/.../server/KafkaApis.scala handleSyncGroupRequest; SyncGroupRequest.java;
               GroupCoordinatorService.java syncGroup @ 4.2
"""

from __future__ import annotations

from functools import partial

from fakebroker.apis import registry
from fakebroker.apis.authorization import group
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import GENERATION, TAKEN_BACK, appends
from fakebroker.core.groups.classic.messages import SyncAnswer, SyncRequest
from fakebroker.core.groups.classic.service import sync_group
from fakebroker.protocol.answers.group_answers import encode_sync_group
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.groups.by_hand import read_sync_group
from fakebroker.protocol.groups.reader import read, read_in_slices, sync_group_of_kio

KEY = 14


def _respond(ctx: RequestContext, answer: SyncAnswer) -> None:
    ctx.respond_frame(
        encode_sync_group(
            ctx.api_version,
            ctx.correlation_id,
            ctx.throttle(),
            answer.error_code,
            answer.protocol_type,
            answer.protocol_name,
            answer.assignment,
        )
    )


def error_response(ctx: RequestContext, request: SyncRequest, code: ErrorCode) -> None:
    _respond(ctx, SyncAnswer(code))


@registry.api(
    KEY,
    0,
    5,
    error_response=error_response,
    decode=partial(read, KEY, read_sync_group, sync_group_of_kio),
    decode_in_slices=partial(read_in_slices, KEY, sync_group_of_kio),
    decode_by_hand=read_sync_group,
    authorization=group("READ"),
    errors=appends(
        "group member",
        before=f"{GENERATION} REBALANCE_IN_PROGRESS INCONSISTENT_GROUP_PROTOCOL",
        after=f"{TAKEN_BACK} REBALANCE_IN_PROGRESS",
    ),
)
def handle(ctx: RequestContext, request: SyncRequest) -> None:
    if ctx.api_version >= 5 and (request.protocol_type is None or request.protocol_name is None):
        _respond(ctx, SyncAnswer(ErrorCode.inconsistent_group_protocol))
        return
    sync_group(ctx.groups, request, lambda answer: _respond(ctx, answer))
