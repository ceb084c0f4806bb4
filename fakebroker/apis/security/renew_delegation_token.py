"""RenewDelegationToken (API key 39), versions 1-2.

Behaviour      Moves the expiry of a token, as its owner or a renewer. Clients that may not make tokens get
               DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
Version notes  v2 flexible.
Source         core/.../server/KafkaApis.scala handleRenewTokenRequest;
               metadata/.../controller/DelegationTokenControlManager.java renewDelegationToken
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from fakebroker.apis import registry
from fakebroker.apis.authorization import nothing
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CHANGED, TOKEN, changes
from fakebroker.apis.security.token_requests import (
    ERROR_TIME,
    UNSET_TIME,
    allow_token_requests,
    milliseconds,
    time_of,
)
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.renew_delegation_token.v2.request import RenewDelegationTokenRequest

KEY = 39


def _respond(ctx: RequestContext, code: ErrorCode, expiry: datetime) -> None:
    values = {"error_code": code, "expiry_timestamp": expiry, "throttle_time": timedelta(0)}
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: RenewDelegationTokenRequest, code: ErrorCode) -> None:
    _respond(ctx, code, ERROR_TIME)


@registry.api(
    KEY,
    1,
    2,
    error_response=error_response,
    authorization=nothing("The owner and the renewers of a token may, no other client."),
    errors=changes("", before=TOKEN, after=CHANGED),
)
def handle(ctx: RequestContext, request: RenewDelegationTokenRequest) -> None:
    if not allow_token_requests(ctx):
        _respond(ctx, ErrorCode.delegation_token_request_not_allowed, ERROR_TIME)
        return
    period_ms, now_ms = milliseconds(request.renew_period), ctx.now.wall_ms
    try:
        expiry_ms = ctx.controller.delegation_tokens.renew(request.hmac, ctx.principal, period_ms, now_ms)
    except KafkaError as error:
        _respond(ctx, error.code, UNSET_TIME)
        return
    _respond(ctx, ErrorCode.none, time_of(expiry_ms))
