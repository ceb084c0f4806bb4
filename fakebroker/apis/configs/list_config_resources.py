"""ListConfigResources (API key 74), versions 0-1. In v0 it was called ListClientMetricsResources.

Behaviour      v0: the subscriptions to clients' metrics. v1: resources of the requested types, or of all types: groups
               and subscriptions with settings, running brokers, topics. An unknown type: UNSUPPORTED_VERSION, and
               nothing else.
Version notes  v1 types of resources (KIP-1142).
Source         core/.../server/KafkaApis.scala handleListConfigResources @ 4.4
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import reads
from fakebroker.core.config.config_resource import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    RESOURCE_TYPES,
    TOPIC,
)
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest

KEY = 74


def _respond(ctx: RequestContext, code: ErrorCode, resources: list[tuple[int, str]]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "error_code": code, "config_resources": Each(_resource, resources)}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: ListConfigResourcesRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, code, [])


@registry.api(
    KEY,
    0,
    1,
    error_response=error_response,
    authorization=cluster("DESCRIBE_CONFIGS"),
    errors=reads("", "CLUSTER_AUTHORIZATION_FAILED UNSUPPORTED_VERSION"),
)
def handle(ctx: RequestContext, request: ListConfigResourcesRequest) -> Slices[None]:
    kinds = set(request.resource_types or RESOURCE_TYPES) if ctx.api_version >= 1 else {CLIENT_METRICS}
    if not kinds <= set(RESOURCE_TYPES):
        yield from _respond(ctx, ErrorCode.unsupported_version, [])
        return
    controller = ctx.controller
    brokers = [str(broker_id) for broker_id in controller.registry.alive(controller.registry.broker_ids)]
    names = {
        GROUP: controller.group_configs.group_ids(),
        CLIENT_METRICS: controller.client_metrics.names(),
        BROKER_LOGGER: brokers,
        BROKER: brokers,
        TOPIC: sorted(controller.metadata.names) if TOPIC in kinds else [],
    }
    yield from _respond(
        ctx,
        ErrorCode.none,
        [(kind, name) for kind, names_of_kind in names.items() if kind in kinds for name in names_of_kind],
    )


def _resource(named: tuple[int, str]) -> dict[str, Any]:
    kind, name = named
    return {"resource_type": kind, "resource_name": name}
