"""RenewDelegationToken (API key 39), versions 1-2.

Behaviour      Moves the expiry of a token, as its owner or a renewer. Clients that may not make tokens get
               DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
Version notes  v2 flexible.
Source         core/.../server/KafkaApis.scala handleRenewTokenRequest;
               metadata/.../controller/DelegationTokenControlManager.java renewDelegationToken
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
    from kio.schema.renew_delegation_token.v2.request import RenewDelegationTokenRequest

KEY = 39


def error_response(ctx: RequestContext, request: RenewDelegationTokenRequest, code: ErrorCode) -> None:
    respond_expiry(ctx, KEY, code)


@registry.api(
    KEY,
    1,
    2,
    error_response=error_response,
    authorization=nothing("The owner and the renewers of a token may, no other client."),
    errors=changes("", before=TOKEN, after=CHANGED),
)
def handle(ctx: RequestContext, request: RenewDelegationTokenRequest) -> None:
    change_expiry(ctx, KEY, ctx.controller.delegation_tokens.renew, request.hmac, request.renew_period)
