"""DeleteAcls (API key 31), versions 1-3.

Behaviour      Deletes the bindings that match a filter, and returns them for each filter that they match. More than
               10,000: INVALID_REQUEST for each filter, and none is deleted. Without an authorizer: SECURITY_DISABLED
               for each. A filter with type 0 in any field closes the connection.
Version notes  v1 pattern types (KIP-290); v2 flexible; v3 user as resource type (KIP-373).
Source         core/.../server/AclApis.scala handleDeleteAcls; clients/.../requests/DeleteAclsRequest.java
               normalizeAndValidate
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler, require_cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import ACLS, CHANGED, changes
from fakebroker.apis.security.acl_fields import filter_of
from fakebroker.core.security.acl_binding import AclBinding, AclOperation
from fakebroker.core.security.acl_control import AclControl
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices, made_of

if TYPE_CHECKING:
    from kio.schema.delete_acls.v3.request import DeleteAclsRequest

KEY = 31


def _respond(ctx: RequestContext, results: Sequence[list[AclBinding] | KafkaError]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "filter_results": Each(_result, results)}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: DeleteAclsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, [KafkaError(code, ctx.refusal)] * len(request.filters))


@registry.api(
    KEY,
    1,
    3,
    error_response=error_response,
    authorization=in_handler("CLUSTER ALTER CLUSTER_AUTHORIZATION_FAILED request"),
    errors=changes("", before=ACLS, after=CHANGED),
)
def handle(ctx: RequestContext, request: DeleteAclsRequest) -> Slices[None] | None:
    for acl_filter in request.filters:
        if 0 in (
            acl_filter.resource_type_filter,
            acl_filter.pattern_type_filter,
            acl_filter.operation,
            acl_filter.permission_type,
        ):
            ctx.close("DeleteAcls: a filter contains UNKNOWN elements")
            return None
    return _delete(ctx, request)


def _delete(ctx: RequestContext, request: DeleteAclsRequest) -> Slices[None]:
    authorizer = ctx.broker.authorizer
    if authorizer is None:
        disabled = KafkaError(ErrorCode.security_disabled, "No Authorizer is configured.")
        yield from _respond(ctx, [disabled] * len(request.filters))
        return
    require_cluster(ctx, request, AclOperation.ALTER)
    filters = yield from made_of(request.filters, filter_of)
    results = yield from AclControl(authorizer).delete_acls(filters)
    yield from _respond(ctx, results)


def _result(bindings: list[AclBinding] | KafkaError) -> dict[str, Any]:
    if isinstance(bindings, KafkaError):
        return {"error_code": bindings.code, "error_message": bindings.message or None, "matching_acls": ()}
    return {"error_code": ErrorCode.none, "error_message": None, "matching_acls": Each(_matching, bindings)}


def _matching(binding: AclBinding) -> dict[str, Any]:
    return {"error_code": ErrorCode.none, "error_message": None, **binding._asdict()}
