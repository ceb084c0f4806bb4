"""GetTelemetrySubscriptions (API key 71), version 0: the metrics of its own that a client has to push (KIP-714).

Behaviour      Returns the union of all matching subscriptions, at the shortest of their intervals; without one no
               metrics, every five minutes. A client without an id gets one. A client that asks again too early gets
               THROTTLING_QUOTA_EXCEEDED. The API is served but not advertised, as by a Kafka without a metrics
               reporter.
Source         core/.../server/KafkaApis.scala handleGetTelemetrySubscriptionsRequest;
               server/.../ClientMetricsManager.java @ 4.2
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import nothing
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import UNANSWERED, because, changes
from fakebroker.apis.telemetry_clients import client_metadata
from fakebroker.core.broker.client_metrics_manager import ACCEPTED_COMPRESSION_TYPES
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.get_telemetry_subscriptions.v0.request import GetTelemetrySubscriptionsRequest

KEY = 71


def _respond(ctx: RequestContext, **values: Any) -> None:
    defaults: dict[str, Any] = {
        "throttle_time": timedelta(0),
        "error_code": ErrorCode.none,
        "client_instance_id": None,
        "subscription_id": 0,
        "accepted_compression_types": (),
        "push_interval": timedelta(0),
        "telemetry_max_bytes": 0,
        "delta_temporality": False,
        "requested_metrics": (),
    }
    ctx.respond(build(response_type(KEY, ctx.api_version), defaults | values))


def error_response(ctx: RequestContext, request: GetTelemetrySubscriptionsRequest, code: ErrorCode) -> None:
    _respond(ctx, error_code=code)


@registry.api(
    KEY,
    0,
    0,
    error_response=error_response,
    is_advertised=False,
    authorization=nothing("Each client may push its own metrics."),
    errors=changes(
        "",
        before="INVALID_REQUEST UNSUPPORTED_VERSION THROTTLING_QUOTA_EXCEEDED",
        unseen=because(INVALID_REQUEST=UNANSWERED, UNSUPPORTED_VERSION="needs a broker without a receiver of metrics"),
    ),
)
def handle(ctx: RequestContext, request: GetTelemetrySubscriptionsRequest) -> Slices[None]:
    manager = ctx.broker.client_metrics
    instance_id, instance = yield from manager.get_subscription(
        request.client_instance_id, client_metadata(ctx), ctx.client_ms
    )
    _respond(
        ctx,
        client_instance_id=instance_id,
        subscription_id=instance.subscription_id,
        accepted_compression_types=ACCEPTED_COMPRESSION_TYPES,
        push_interval=timedelta(milliseconds=instance.push_interval_ms),
        telemetry_max_bytes=manager.telemetry_max_bytes,
        delta_temporality=True,
        requested_metrics=tuple(instance.metrics),
    )
