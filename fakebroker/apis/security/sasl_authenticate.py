"""SaslAuthenticate (API key 36), versions 0-2.

Behaviour      Before a client of a listener with SASL is authenticated, cluster/sasl/authenticator.py responds. Any
               other such request gets ILLEGAL_SASL_STATE, and the connection goes on.
Version notes  v1 how long a session lasts (KIP-368); v2 flexible.
Source         core/.../server/KafkaApis.scala handleSaslAuthenticateRequest; SaslServerAuthenticator.java
               handleSaslToken
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import nothing
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import changes
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest

KEY = 36


def _respond(ctx: RequestContext, **values: Any) -> None:
    defaults: dict[str, Any] = {"error_message": None, "auth_bytes": b"", "session_lifetime": timedelta(0)}
    ctx.respond(build(response_type(KEY, ctx.api_version), defaults | values))


def respond_challenge(ctx: RequestContext, challenge: bytes, lifetime_ms: int) -> None:
    """Respond with the challenge to a token. `lifetime_ms` is that of the session; 0 if it has no end, or has not
    begun."""
    lifetime = timedelta(milliseconds=lifetime_ms)
    _respond(ctx, error_code=ErrorCode.none, error_message="", auth_bytes=challenge, session_lifetime=lifetime)


def respond_failure(ctx: RequestContext, code: ErrorCode, message: str) -> None:
    """Respond with the refusal of a token."""
    _respond(ctx, error_code=code, error_message=message)


def error_response(ctx: RequestContext, request: SaslAuthenticateRequest, code: ErrorCode) -> None:
    _respond(ctx, error_code=code)


@registry.api(
    KEY,
    0,
    2,
    error_response=error_response,
    authorization=nothing("A client is not authenticated yet."),
    errors=changes("", before="SASL_AUTHENTICATION_FAILED ILLEGAL_SASL_STATE"),
)
def handle(ctx: RequestContext, request: SaslAuthenticateRequest) -> None:
    _respond(
        ctx,
        error_code=ErrorCode.illegal_sasl_state,
        error_message="SaslAuthenticate request received after successful authentication",
    )
