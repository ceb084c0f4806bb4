"""DescribeDelegationToken (API key 41), versions 1-3.

Behaviour      Clients over PLAINTEXT may not see tokens: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, whatever the owner.
Version notes  v2 flexible; v3 the requester of a token (KIP-373).
Not done       Tokens.
Source         core/.../server/KafkaApis.scala handleDescribeTokensRequest, allowTokenRequests
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from fakebroker.apis import registry
from fakebroker.apis.authorization import nothing
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import TOKEN, reads
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.describe_delegation_token.v3.request import DescribeDelegationTokenRequest

KEY = 41


def _respond(ctx: RequestContext, code: ErrorCode) -> None:
    values = {"error_code": code, "tokens": (), "throttle_time": timedelta(0)}
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: DescribeDelegationTokenRequest, code: ErrorCode) -> None:
    _respond(ctx, code)


@registry.api(
    KEY,
    1,
    3,
    error_response=error_response,
    authorization=nothing("Clients over PLAINTEXT are refused before."),
    errors=reads("", TOKEN),
)
def handle(ctx: RequestContext, request: DescribeDelegationTokenRequest) -> None:
    _respond(ctx, ErrorCode.delegation_token_request_not_allowed)
