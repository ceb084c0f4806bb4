"""DescribeDelegationToken (API key 41), versions 1-3.

Behaviour      Returns the tokens that the requested principals own or may renew, or all tokens. Those that the client
               neither owns nor may renew take DESCRIBE on the token, or DESCRIBE_TOKENS on the owner. Clients that may
               not make tokens get DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
Version notes  v2 flexible; v3 the requester of a token (KIP-373).
Source         core/.../server/KafkaApis.scala handleDescribeTokensRequest;
               server-common/.../security/DelegationTokenManager.java filterToken
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import TOKEN, reads
from fakebroker.apis.security.token_requests import allow_token_requests
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.core.security.delegation_tokens import DelegationToken
from fakebroker.core.security.identity import KafkaPrincipal
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.describe_delegation_token.v3.request import DescribeDelegationTokenRequest

KEY = 41


def _respond(ctx: RequestContext, code: ErrorCode, tokens: Sequence[DelegationToken] = ()) -> None:
    values = {"error_code": code, "tokens": [_described(token) for token in tokens], "throttle_time": timedelta(0)}
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: DescribeDelegationTokenRequest, code: ErrorCode) -> None:
    _respond(ctx, code)


@registry.api(
    KEY,
    1,
    3,
    error_response=error_response,
    authorization=in_handler("DELEGATION_TOKEN DESCRIBE - token", "USER DESCRIBE_TOKENS - token"),
    errors=reads("", TOKEN),
)
def handle(ctx: RequestContext, request: DescribeDelegationTokenRequest) -> None:
    tokens = ctx.controller.delegation_tokens
    if not allow_token_requests(ctx):
        _respond(ctx, ErrorCode.delegation_token_request_not_allowed)
    elif not tokens.is_enabled:
        _respond(ctx, ErrorCode.delegation_token_auth_disabled)
    else:
        owners = None
        if request.owners is not None:
            owners = [KafkaPrincipal(owner.principal_type, owner.principal_name) for owner in request.owners]
        requested = [token for token in tokens.all() if owners is None or any(map(token.concerns, owners))]
        _respond(ctx, ErrorCode.none, [token for token in requested if _may_see(ctx, token)])


def _may_see(ctx: RequestContext, token: DelegationToken) -> bool:
    return (
        token.concerns(ctx.principal)
        or ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id)
        or ctx.is_authorized(AclOperation.DESCRIBE_TOKENS, ResourceType.USER, str(token.owner))
    )


def _described(token: DelegationToken) -> dict[str, Any]:
    return {
        "principal_type": token.owner.principal_type,
        "principal_name": token.owner.name,
        "token_requester_principal_type": token.requester.principal_type,
        "token_requester_principal_name": token.requester.name,
        "issue_timestamp": token.issue_ms,
        "expiry_timestamp": token.expiry_ms,
        "max_timestamp": token.max_ms,
        "token_id": token.token_id,
        "hmac": token.hmac,
        "renewers": [
            {"principal_type": renewer.principal_type, "principal_name": renewer.name} for renewer in token.renewers
        ],
    }
