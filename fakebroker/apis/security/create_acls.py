"""CreateAcls (API key 30), versions 1-3.

Behaviour      Creates the valid bindings, and has the error of each other one. A binding that exists is created again
               without an error. More than 10,000 new ones: POLICY_VIOLATION for each. Without an authorizer:
               SECURITY_DISABLED for each. An entry with type 0 in any field closes the connection.
Version notes  v1 pattern types (KIP-290); v2 flexible; v3 user as resource type (KIP-373).
Source         core/.../server/AclApis.scala handleCreateAcls; clients/.../requests/CreateAclsRequest.java validate;
               the checks of a binding: core/security/acl_control.py
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler, require_cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import ACLS, CHANGED, changes
from fakebroker.apis.security.acl_fields import binding_of
from fakebroker.core.security.acl_binding import AclOperation
from fakebroker.core.security.acl_control import AclControl
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices, made_of

if TYPE_CHECKING:
    from kio.schema.create_acls.v3.request import CreateAclsRequest

KEY = 30


def _respond(ctx: RequestContext, results: Sequence[KafkaError | None]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "results": Each(_result, results)}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: CreateAclsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, [KafkaError(code, ctx.refusal)] * len(request.creations))


@registry.api(
    KEY,
    1,
    3,
    error_response=error_response,
    authorization=in_handler("CLUSTER ALTER CLUSTER_AUTHORIZATION_FAILED request"),
    errors=changes("", before=ACLS, after=CHANGED),
)
def handle(ctx: RequestContext, request: CreateAclsRequest) -> Slices[None] | None:
    for acl in request.creations:
        if 0 in (acl.resource_type, acl.resource_pattern_type, acl.operation, acl.permission_type):
            ctx.close("CreateAcls: an entry contains UNKNOWN elements")
            return None
    return _create(ctx, request)


def _create(ctx: RequestContext, request: CreateAclsRequest) -> Slices[None]:
    authorizer = ctx.broker.authorizer
    if authorizer is None:
        disabled = KafkaError(ErrorCode.security_disabled, "No Authorizer is configured.")
        yield from _respond(ctx, [disabled] * len(request.creations))
        return
    require_cluster(ctx, request, AclOperation.ALTER)
    bindings = yield from made_of(request.creations, binding_of)
    errors = yield from AclControl(authorizer).create_acls(bindings)
    yield from _respond(ctx, errors)


def _result(error: KafkaError | None) -> dict[str, Any]:
    if error is None:
        return {"error_code": ErrorCode.none, "error_message": ""}
    return {"error_code": error.code, "error_message": error.message or None}
