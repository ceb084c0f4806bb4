"""DescribeAcls (API key 29), versions 1-3.

Behaviour      Returns the bindings that match the filter, by pattern; none for a filter with an unknown code. Without
               an authorizer: SECURITY_DISABLED. A filter with type 0 in any field closes the connection.
Version notes  v1 pattern types (KIP-290); v2 flexible; v3 user as resource type (KIP-373).
Source         core/.../server/AclApis.scala handleDescribeAcls; clients/.../requests/DescribeAclsRequest.java
               normalizeAndValidate
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler, require_cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import UNANSWERED, because, reads
from fakebroker.apis.security.acl_fields import filter_of
from fakebroker.core.security.acl_binding import AclBinding, AclOperation, PatternType, ResourceType
from fakebroker.core.security.acl_control import matching
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.describe_acls.v3.request import DescribeAclsRequest

KEY = 29
_PATTERNS_OF_A_SLICE = 256

# Bindings by pattern: type of the resource, its name, type of the pattern.
_Patterns = dict[tuple[ResourceType, str, PatternType], list[AclBinding]]


def _respond(ctx: RequestContext, **values: Any) -> Slices[None]:
    defaults: dict[str, Any] = {"throttle_time": timedelta(0), "error_message": None, "resources": ()}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), defaults | values))


def error_response(ctx: RequestContext, request: DescribeAclsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, error_code=code, error_message=ctx.refusal or None)


@registry.api(
    KEY,
    1,
    3,
    error_response=error_response,
    authorization=in_handler("CLUSTER DESCRIBE CLUSTER_AUTHORIZATION_FAILED request"),
    errors=reads(
        "", "CLUSTER_AUTHORIZATION_FAILED SECURITY_DISABLED INVALID_REQUEST", unseen=because(INVALID_REQUEST=UNANSWERED)
    ),
)
def handle(ctx: RequestContext, request: DescribeAclsRequest) -> Slices[None] | None:
    types = request.resource_type_filter, request.pattern_type_filter
    if 0 in (*types, request.operation, request.permission_type):
        ctx.close("DescribeAcls: the filter contains UNKNOWN elements")
        return None
    return _describe(ctx, request)


def _describe(ctx: RequestContext, request: DescribeAclsRequest) -> Slices[None]:
    authorizer = ctx.broker.authorizer
    if authorizer is None:
        message = "No Authorizer is configured on the broker"
        yield from _respond(ctx, error_code=ErrorCode.security_disabled, error_message=message)
        return
    require_cluster(ctx, request, AclOperation.DESCRIBE)
    bindings = yield from matching(authorizer, filter_of(request))
    patterns: _Patterns = {}
    for number, binding in enumerate(bindings, 1):
        pattern = binding.resource_type, binding.resource_name, binding.pattern_type
        patterns.setdefault(pattern, []).append(binding)
        if number % _PATTERNS_OF_A_SLICE == 0:
            yield
    yield from _respond(
        ctx, error_code=ErrorCode.none, error_message="", resources=Each(_resource, list(patterns.values()))
    )


def _resource(bindings: list[AclBinding]) -> dict[str, Any]:
    first = bindings[0]
    return {
        "resource_type": first.resource_type,
        "resource_name": first.resource_name,
        "pattern_type": first.pattern_type,
        "acls": Each(AclBinding._asdict, bindings),
    }
