"""CreateDelegationToken (API key 38), versions 1-3.

Behaviour      Makes a token for the client, or for another owner, which takes CREATE_TOKENS on that user. Clients over
               PLAINTEXT, anonymous ones over SSL, and those that have authenticated with a token get
               DELEGATION_TOKEN_REQUEST_NOT_ALLOWED. Without `delegation.token.secret.key`:
               DELEGATION_TOKEN_AUTH_DISABLED.
Version notes  v2 flexible; v3 a token for another owner (KIP-373).
Source         core/.../server/KafkaApis.scala handleCreateTokenRequest;
               metadata/.../controller/DelegationTokenControlManager.java createDelegationToken
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CHANGED, TOKEN, changes
from fakebroker.apis.security.token_requests import (
    ERROR_TIME,
    UNSET_TIME,
    allow_token_requests,
    milliseconds,
    time_of,
)
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.core.security.identity import USER, KafkaPrincipal
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.create_delegation_token.v3.request import CreateDelegationTokenRequest

KEY = 38


def _owner(ctx: RequestContext, request: CreateDelegationTokenRequest) -> KafkaPrincipal:
    if ctx.api_version >= 3 and request.owner_principal_name:
        return KafkaPrincipal(request.owner_principal_type or "", request.owner_principal_name)
    return ctx.principal


def _respond(
    ctx: RequestContext,
    request: CreateDelegationTokenRequest,
    code: ErrorCode,
    unset: datetime = ERROR_TIME,
    **values: Any,
) -> None:
    owner, requester = _owner(ctx, request), ctx.principal
    defaults: dict[str, Any] = {
        "error_code": code,
        "principal_type": owner.principal_type,
        "principal_name": owner.name,
        "token_requester_principal_type": requester.principal_type,
        "token_requester_principal_name": requester.name,
        "issue_timestamp": unset,
        "expiry_timestamp": unset,
        "max_timestamp": unset,
        "token_id": "",
        "hmac": b"",
        "throttle_time": timedelta(0),
    }
    ctx.respond(build(response_type(KEY, ctx.api_version), defaults | values))


def error_response(ctx: RequestContext, request: CreateDelegationTokenRequest, code: ErrorCode) -> None:
    _respond(ctx, request, code)


@registry.api(
    KEY,
    1,
    3,
    error_response=error_response,
    authorization=in_handler("USER CREATE_TOKENS DELEGATION_TOKEN_AUTHORIZATION_FAILED request"),
    errors=changes("", before=TOKEN, after=CHANGED),
)
def handle(ctx: RequestContext, request: CreateDelegationTokenRequest) -> None:
    if not allow_token_requests(ctx):
        _respond(ctx, request, ErrorCode.delegation_token_request_not_allowed)
        return
    owner = _owner(ctx, request)
    if owner != ctx.principal and not ctx.is_authorized(AclOperation.CREATE_TOKENS, ResourceType.USER, str(owner)):
        _respond(ctx, request, ErrorCode.delegation_token_authorization_failed)
        return
    if any(renewer.principal_type != USER for renewer in request.renewers):
        _respond(ctx, request, ErrorCode.invalid_principal_type)
        return
    renewers = [KafkaPrincipal(renewer.principal_type, renewer.principal_name) for renewer in request.renewers]
    lifetime_ms, now_ms = milliseconds(request.max_lifetime), ctx.now.wall_ms
    tokens = ctx.controller.delegation_tokens
    try:
        token = tokens.create(owner, ctx.principal, renewers, lifetime_ms, now_ms)
    except KafkaError as error:
        _respond(ctx, request, error.code, UNSET_TIME)
        return
    _respond(
        ctx,
        request,
        ErrorCode.none,
        issue_timestamp=time_of(token.issue_ms),
        expiry_timestamp=time_of(token.expiry_ms),
        max_timestamp=time_of(token.max_ms),
        token_id=token.token_id,
        hmac=token.hmac,
    )
