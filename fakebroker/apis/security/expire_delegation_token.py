"""ExpireDelegationToken (API key 40), versions 1-2.

Behaviour      Lets a token expire after a time, or, if that is negative, removes it at once. Clients that may not make
               tokens get DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
Version notes  v2 flexible.
Source         core/.../server/KafkaApis.scala handleExpireTokenRequest;
               metadata/.../controller/DelegationTokenControlManager.java expireDelegationToken
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakebroker.apis import registry
from fakebroker.apis.authorization import nothing
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CHANGED, TOKEN, changes
from fakebroker.apis.security.token_requests import change_expiry, respond_expiry
from fakebroker.protocol.error_code import ErrorCode

if TYPE_CHECKING:
    from kio.schema.expire_delegation_token.v2.request import ExpireDelegationTokenRequest

KEY = 40


def error_response(ctx: RequestContext, request: ExpireDelegationTokenRequest, code: ErrorCode) -> None:
    respond_expiry(ctx, KEY, code)


@registry.api(
    KEY,
    1,
    2,
    error_response=error_response,
    authorization=nothing("The owner and the renewers of a token may, no other client."),
    errors=changes("", before=TOKEN, after=CHANGED),
)
def handle(ctx: RequestContext, request: ExpireDelegationTokenRequest) -> None:
    change_expiry(ctx, KEY, ctx.controller.delegation_tokens.expire, request.hmac, request.expiry_time_period)
