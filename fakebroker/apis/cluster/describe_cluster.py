"""DescribeCluster (API key 60), versions 0-2.

Behaviour      Returns the cluster, its controller and the running brokers, as seen by the listener of the request. Only
               brokers listen here. A request for controllers gets MISMATCHED_ENDPOINT_TYPE, one for another type
               UNSUPPORTED_ENDPOINT_TYPE; nothing else is filled in then.
Version notes  v1 request endpoint_type, response endpoint_type (KIP-919: controllers serve it too); v2 request
               include_fenced_brokers, response brokers.is_fenced (KIP-1073): brokers that are registered and stopped.
Source         core/.../server/KafkaApis.scala handleDescribeCluster; AuthHelper.scala computeDescribeClusterResponse;
               clients/.../admin/EndpointType.java
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.authorized_cluster import cluster_operations
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import UNANSWERED, because, reads
from fakebroker.core.security.authorized_operations import NOT_REQUESTED
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.describe_cluster.v2.request import DescribeClusterRequest

KEY = 60

_BROKERS, _CONTROLLERS = 1, 2
_NO_BROKER = -1


def _respond(ctx: RequestContext, **values: Any) -> None:
    defaults = {
        "throttle_time": timedelta(0),
        "error_code": ErrorCode.none,
        "error_message": None,
        "endpoint_type": _BROKERS,
        "cluster_id": "",
        "controller_id": _NO_BROKER,
        "brokers": (),
        "cluster_authorized_operations": NOT_REQUESTED,
    }
    ctx.respond(build(response_type(KEY, ctx.api_version), defaults | values))


def error_response(ctx: RequestContext, request: DescribeClusterRequest, code: ErrorCode) -> None:
    _respond(ctx, error_code=code)


@registry.api(
    KEY,
    0,
    2,
    error_response=error_response,
    authorization=in_handler("CLUSTER DESCRIBE - operations"),
    errors=reads(
        "",
        "CLUSTER_AUTHORIZATION_FAILED MISMATCHED_ENDPOINT_TYPE UNSUPPORTED_ENDPOINT_TYPE INVALID_REQUEST",
        unseen=because(INVALID_REQUEST=UNANSWERED),
    ),
)
def handle(ctx: RequestContext, request: DescribeClusterRequest) -> None:
    endpoint_type = request.endpoint_type if ctx.api_version >= 1 else _BROKERS
    if endpoint_type == _CONTROLLERS:
        _respond(
            ctx,
            error_code=ErrorCode.mismatched_endpoint_type,
            error_message=(
                "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
            ),
        )
    elif endpoint_type != _BROKERS:
        _respond(
            ctx,
            error_code=ErrorCode.unsupported_endpoint_type,
            error_message=f"Unsupported endpoint type {endpoint_type}",
        )
    else:
        brokers = _brokers(ctx, ctx.api_version >= 2 and request.include_fenced_brokers)
        _respond(
            ctx,
            cluster_id=ctx.metadata.cluster_id,
            controller_id=ctx.metadata.controller_id if brokers else _NO_BROKER,
            brokers=brokers,
            cluster_authorized_operations=(
                cluster_operations(ctx) if request.include_cluster_authorized_operations else NOT_REQUESTED
            ),
        )


def _brokers(ctx: RequestContext, include_fenced: bool) -> list[dict[str, Any]]:
    if not ctx.metadata.is_registered(ctx.listener):
        return []
    brokers, alive = ctx.controller.registry, ctx.metadata.alive_ids
    asked_for = brokers.broker_ids if include_fenced else alive
    endpoints = [brokers[broker_id].endpoint(ctx.listener) for broker_id in asked_for]
    return [
        {"broker_id": id_, "host": host, "port": port, "rack": rack, "is_fenced": id_ not in alive}
        for id_, host, port, rack in endpoints
    ]
