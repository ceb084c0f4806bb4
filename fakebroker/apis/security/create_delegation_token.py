"""CreateDelegationToken (API key 38), versions 1-3.

Behaviour      Clients over PLAINTEXT are not authenticated, so none gets a token: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
               with requester and owner.
Version notes  v2 flexible; v3 a token for another owner (KIP-373).
Not done       Tokens.
Source         core/.../server/KafkaApis.scala handleCreateTokenRequest, allowTokenRequests
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import nothing
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CHANGED, TOKEN, changes
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.create_delegation_token.v3.request import CreateDelegationTokenRequest

KEY = 38
_NO_TIME = datetime.fromtimestamp(-0.001, UTC)  # -1 on the wire


def _respond(ctx: RequestContext, request: CreateDelegationTokenRequest, code: ErrorCode) -> None:
    requester = ctx.principal
    kind, name = requester.principal_type, requester.name
    if ctx.api_version >= 3 and request.owner_principal_name:
        kind, name = request.owner_principal_type or "", request.owner_principal_name
    values: dict[str, Any] = {
        "error_code": code,
        "principal_type": kind,
        "principal_name": name,
        "token_requester_principal_type": requester.principal_type,
        "token_requester_principal_name": requester.name,
        "issue_timestamp": _NO_TIME,
        "expiry_timestamp": _NO_TIME,
        "max_timestamp": _NO_TIME,
        "token_id": "",
        "hmac": b"",
        "throttle_time": timedelta(0),
    }
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: CreateDelegationTokenRequest, code: ErrorCode) -> None:
    _respond(ctx, request, code)


@registry.api(
    KEY,
    1,
    3,
    error_response=error_response,
    authorization=nothing("Clients over PLAINTEXT are refused before."),
    errors=changes("", before=TOKEN, after=CHANGED),
)
def handle(ctx: RequestContext, request: CreateDelegationTokenRequest) -> None:
    _respond(ctx, request, ErrorCode.delegation_token_request_not_allowed)
