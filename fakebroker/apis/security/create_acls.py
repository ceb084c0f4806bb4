"""CreateAcls (API key 30), versions 1-3.

Behaviour      No authorizer is configured: SECURITY_DISABLED, for each. An entry with type 0 in any field closes the
               connection.
Version notes  v1 pattern types (KIP-290); v2 flexible; v3 user as resource type (KIP-373).
Not done       Authorizers.
Source         core/.../server/AclApis.scala handleCreateAcls; clients/.../requests/CreateAclsRequest.java validate
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import ACLS, AUTHORIZER, CHANGED, because, changes
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.create_acls.v3.request import CreateAclsRequest

KEY = 30
_UNKNOWN = 0


def _respond(ctx: RequestContext, number: int, code: ErrorCode, message: str | None) -> Slices[None]:
    result = {"error_code": code, "error_message": message}
    values = {"throttle_time": timedelta(0), "results": Each(lambda _: result, range(number))}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: CreateAclsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, len(request.creations), code, None)


@registry.api(
    KEY,
    1,
    3,
    error_response=error_response,
    errors=changes("", before=ACLS, after=CHANGED, unseen=because(INVALID_REQUEST=AUTHORIZER)),
)
def handle(ctx: RequestContext, request: CreateAclsRequest) -> Slices[None] | None:
    for acl in request.creations:
        if _UNKNOWN in (acl.resource_type, acl.resource_pattern_type, acl.operation, acl.permission_type):
            ctx.close("CreateAcls: an entry contains UNKNOWN elements")
            return None
    return _respond(ctx, len(request.creations), ErrorCode.security_disabled, "No Authorizer is configured.")
