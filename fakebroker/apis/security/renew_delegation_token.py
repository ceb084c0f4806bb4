"""RenewDelegationToken (API key 39), versions 1-2.

Behaviour      Clients over PLAINTEXT cannot have a token: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
Version notes  v2 flexible.
Not done       Tokens.
Source         core/.../server/KafkaApis.scala handleRenewTokenRequest, allowTokenRequests
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from fakebroker.apis import registry
from fakebroker.apis.authorization import nothing
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CHANGED, TOKEN, changes
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.renew_delegation_token.v2.request import RenewDelegationTokenRequest

KEY = 39
_NO_TIME = datetime.fromtimestamp(-0.001, UTC)  # -1 on the wire


def _respond(ctx: RequestContext, code: ErrorCode) -> None:
    values = {"error_code": code, "expiry_timestamp": _NO_TIME, "throttle_time": timedelta(0)}
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: RenewDelegationTokenRequest, code: ErrorCode) -> None:
    _respond(ctx, code)


@registry.api(
    KEY,
    1,
    2,
    error_response=error_response,
    authorization=nothing("Clients over PLAINTEXT are refused before."),
    errors=changes("", before=TOKEN, after=CHANGED),
)
def handle(ctx: RequestContext, request: RenewDelegationTokenRequest) -> None:
    _respond(ctx, ErrorCode.delegation_token_request_not_allowed)
