"""SaslHandshake (API key 17), versions 0-1.

Behaviour      Before a client of a listener with SASL is authenticated, cluster/sasl/authenticator.py responds. Any
               other such request gets ILLEGAL_SASL_STATE, whatever the mechanism, and the connection goes on.
Version notes  v1: SaslAuthenticate follows, not bare tokens (KIP-152).
Source         core/.../server/KafkaApis.scala handleSaslHandshakeRequest; SaslServerAuthenticator.java
               handleHandshakeRequest
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fakebroker.apis import registry
from fakebroker.apis.authorization import nothing
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import changes
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest

KEY = 17


def _respond(ctx: RequestContext, code: ErrorCode) -> None:
    respond(ctx, code, ())


def respond(ctx: RequestContext, code: ErrorCode, mechanisms: Sequence[str]) -> None:
    """Respond with the mechanisms that the listener offers."""
    ctx.respond(build(response_type(KEY, ctx.api_version), {"error_code": code, "mechanisms": tuple(mechanisms)}))


def error_response(ctx: RequestContext, request: SaslHandshakeRequest, code: ErrorCode) -> None:
    _respond(ctx, code)


@registry.api(
    KEY,
    0,
    1,
    error_response=error_response,
    authorization=nothing("A client is not authenticated yet."),
    errors=changes("", before="UNSUPPORTED_SASL_MECHANISM ILLEGAL_SASL_STATE"),
)
def handle(ctx: RequestContext, request: SaslHandshakeRequest) -> None:
    _respond(ctx, ErrorCode.illegal_sasl_state)
