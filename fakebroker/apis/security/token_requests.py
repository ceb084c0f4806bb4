"""Common parts of the APIs of delegation tokens.

Source   core/.../server/KafkaApis.scala allowTokenRequests @ 4.0; DelegationTokenManager.java ERROR_TIMESTAMP.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from fakebroker.apis.context import RequestContext
from fakebroker.core.security.identity import ANONYMOUS, PLAINTEXT, SSL, KafkaPrincipal
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type

ChangeExpiry = Callable[[bytes, KafkaPrincipal, int, int], int]
"""Change when the token with this HMAC expires: for a principal, with a period and the present time in milliseconds.
Return when it expires. Raise KafkaError."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def time_of(ms: int) -> datetime:
    """Return wall milliseconds as messages have them."""
    return _EPOCH + ms * _MILLISECOND


def milliseconds(duration: timedelta) -> int:
    return duration // _MILLISECOND


ERROR_TIME: Final = time_of(-1)
UNSET_TIME: Final = time_of(0)  # the default of the field, for a refusal of the controller


def allow_token_requests(ctx: RequestContext) -> bool:
    """Return True if the client may make and see delegation tokens: it is authenticated, and not by such a token."""
    protocol = ctx.listener.security_protocol
    return not (
        ctx.is_token_authenticated
        or protocol == PLAINTEXT.security_protocol
        or (protocol == SSL and ctx.principal == ANONYMOUS)
    )


def respond_expiry(ctx: RequestContext, key: int, code: ErrorCode, expiry: datetime = ERROR_TIME) -> None:
    """Respond to RenewDelegationToken or ExpireDelegationToken, which is the API `key`."""
    values = {"error_code": code, "expiry_timestamp": expiry, "throttle_time": timedelta(0)}
    ctx.respond(build(response_type(key, ctx.api_version), values))


def change_expiry(ctx: RequestContext, key: int, change: ChangeExpiry, hmac: bytes, period: timedelta) -> None:
    """Change the expiry of a token and respond to the API `key`."""
    if not allow_token_requests(ctx):
        respond_expiry(ctx, key, ErrorCode.delegation_token_request_not_allowed)
        return
    try:
        expiry_ms = change(hmac, ctx.principal, milliseconds(period), ctx.now.wall_ms)
    except KafkaError as error:
        respond_expiry(ctx, key, error.code, UNSET_TIME)
        return
    respond_expiry(ctx, key, ErrorCode.none, time_of(expiry_ms))
