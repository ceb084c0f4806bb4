"""DeleteAcls (API key 31), versions 1-3.

Behaviour      No authorizer is configured: SECURITY_DISABLED, for each filter. A filter with type 0 in any field closes
               the connection.
Version notes  v1 pattern types (KIP-290); v2 flexible; v3 user as resource type (KIP-373).
Not done       Authorizers.
Source         core/.../server/AclApis.scala handleDeleteAcls; clients/.../requests/DeleteAclsRequest.java
               normalizeAndValidate
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
    from kio.schema.delete_acls.v3.request import DeleteAclsRequest

KEY = 31
_UNKNOWN = 0


def _respond(ctx: RequestContext, number: int, code: ErrorCode, message: str | None) -> Slices[None]:
    result = {"error_code": code, "error_message": message, "matching_acls": ()}
    values = {"throttle_time": timedelta(0), "filter_results": Each(lambda _: result, range(number))}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: DeleteAclsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, len(request.filters), code, None)


@registry.api(
    KEY,
    1,
    3,
    error_response=error_response,
    errors=changes("", before=ACLS, after=CHANGED, unseen=because(INVALID_REQUEST=AUTHORIZER)),
)
def handle(ctx: RequestContext, request: DeleteAclsRequest) -> Slices[None] | None:
    for each in request.filters:
        if _UNKNOWN in (each.resource_type_filter, each.pattern_type_filter, each.operation, each.permission_type):
            ctx.close("DeleteAcls: a filter contains UNKNOWN elements")
            return None
    return _respond(ctx, len(request.filters), ErrorCode.security_disabled, "No Authorizer is configured.")
