"""SaslAuthenticate (API key 36), versions 0-2.

Behaviour      The listener does not use SASL, so no client has to authenticate: ILLEGAL_SASL_STATE. The connection goes
               on.
Version notes  v1 how long a session lasts (KIP-368); v2 flexible.
Not done       SASL.
Source         core/.../server/KafkaApis.scala handleSaslAuthenticateRequest
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import nothing
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import SASL, because, changes
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest

KEY = 36


def _respond(ctx: RequestContext, **values: Any) -> None:
    defaults: dict[str, Any] = {"error_message": None, "auth_bytes": b"", "session_lifetime": timedelta(0)}
    ctx.respond(build(response_type(KEY, ctx.api_version), defaults | values))


def error_response(ctx: RequestContext, request: SaslAuthenticateRequest, code: ErrorCode) -> None:
    _respond(ctx, error_code=code)


@registry.api(
    KEY,
    0,
    2,
    error_response=error_response,
    authorization=nothing("A client is not authenticated yet."),
    errors=changes(
        "", before="SASL_AUTHENTICATION_FAILED ILLEGAL_SASL_STATE", unseen=because(SASL_AUTHENTICATION_FAILED=SASL)
    ),
)
def handle(ctx: RequestContext, request: SaslAuthenticateRequest) -> None:
    _respond(
        ctx,
        error_code=ErrorCode.illegal_sasl_state,
        error_message="SaslAuthenticate request received after successful authentication",
    )
