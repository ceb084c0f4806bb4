"""DescribeAcls (API key 29), versions 1-3.

Behaviour      No authorizer is configured: SECURITY_DISABLED. A filter with type 0 in any field closes the connection.
Version notes  v1 pattern types (KIP-290); v2 flexible; v3 user as resource type (KIP-373).
Not done       Authorizers.
Source         core/.../server/AclApis.scala handleDescribeAcls; clients/.../requests/DescribeAclsRequest.java
               normalizeAndValidate
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import AUTHORIZER, because, reads
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.describe_acls.v3.request import DescribeAclsRequest

KEY = 29
_UNKNOWN = 0


def _respond(ctx: RequestContext, **values: Any) -> None:
    defaults: dict[str, Any] = {"throttle_time": timedelta(0), "error_message": None, "resources": ()}
    ctx.respond(build(response_type(KEY, ctx.api_version), defaults | values))


def error_response(ctx: RequestContext, request: DescribeAclsRequest, code: ErrorCode) -> None:
    _respond(ctx, error_code=code)


@registry.api(
    KEY,
    1,
    3,
    error_response=error_response,
    errors=reads(
        "", "CLUSTER_AUTHORIZATION_FAILED SECURITY_DISABLED INVALID_REQUEST", unseen=because(INVALID_REQUEST=AUTHORIZER)
    ),
)
def handle(ctx: RequestContext, request: DescribeAclsRequest) -> None:
    kinds = (
        request.resource_type_filter,
        request.pattern_type_filter,
        request.operation,
        request.permission_type,
    )
    if _UNKNOWN in kinds:
        ctx.close("DescribeAcls: the filter contains UNKNOWN elements")
        return
    _respond(ctx, error_code=ErrorCode.security_disabled, error_message="No Authorizer is configured on the broker")
