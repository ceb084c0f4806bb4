"""PushTelemetry (API key 72), version 0: a client's own metrics (KIP-714).

Behaviour      Another subscription than the last one sent to the client: UNKNOWN_SUBSCRIPTION_ID. A push that is too
               early: THROTTLING_QUOTA_EXCEEDED, unless the client terminates. Any push after that one: INVALID_REQUEST.
               More than telemetry.max.bytes: TELEMETRY_TOO_LARGE. A failed decompression: INVALID_RECORD. The content
               is not checked further. The API is served but not advertised, and the metrics are dropped, as by a Kafka
               without a metrics reporter.
Not done       A push of more than 100 MiB uncompressed is refused as well: Kafka has no such limit.
Source         core/.../server/KafkaApis.scala handlePushTelemetryRequest; server/.../ClientMetricsManager.java @ 4.2
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from fakebroker.apis import registry
from fakebroker.apis.authorization import nothing
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import because, changes
from fakebroker.apis.telemetry_clients import client_metadata
from fakebroker.core.log.records.record_source import MAX_DECOMPRESSED_BYTES
from fakebroker.protocol.build import build
from fakebroker.protocol.compression import DecompressedTooLargeError, DecompressionError, decompress_pieces
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.push_telemetry.v0.request import PushTelemetryRequest

KEY = 72


def error_response(ctx: RequestContext, request: PushTelemetryRequest, code: ErrorCode) -> None:
    ctx.respond(build(response_type(KEY, ctx.api_version), {"throttle_time": timedelta(0), "error_code": code}))


@registry.api(
    KEY,
    0,
    0,
    error_response=error_response,
    is_advertised=False,
    authorization=nothing("Each client may push its own metrics."),
    errors=changes(
        "",
        before="INVALID_REQUEST INVALID_RECORD UNKNOWN_SUBSCRIPTION_ID TELEMETRY_TOO_LARGE "
        "UNSUPPORTED_COMPRESSION_TYPE THROTTLING_QUOTA_EXCEEDED UNSUPPORTED_VERSION",
        unseen=because(UNSUPPORTED_VERSION="needs a broker without a receiver of metrics"),
    ),
)
def handle(ctx: RequestContext, request: PushTelemetryRequest) -> Slices[None]:
    codec, metrics = request.compression_type, request.metrics
    instance = yield from ctx.broker.client_metrics.push(
        request.client_instance_id,
        client_metadata(ctx),
        request.subscription_id,
        request.terminating,
        codec,
        len(metrics),
        ctx.client_ms,
    )
    if codec and metrics:
        try:
            for _ in decompress_pieces(codec, metrics, MAX_DECOMPRESSED_BYTES):
                yield
        except (DecompressionError, DecompressedTooLargeError):
            instance.last_error = ErrorCode.invalid_record
            raise KafkaError(ErrorCode.invalid_record, "metrics that cannot be decompressed") from None
    error_response(ctx, request, ErrorCode.none)
