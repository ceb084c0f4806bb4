"""ApiVersions (API key 18), versions 0-5.

Behaviour      Lists the registry. A version that is not served gets UNSUPPORTED_VERSION in the v0 layout, with the
               range of ApiVersions alone (KIP-511). Its body is not read. The dispatcher calls
               `respond_unsupported_version` for it. A malformed software name or version: INVALID_REQUEST. A cluster id
               or node id of another broker: REBOOTSTRAP_REQUIRED, and the connection goes on. Only one of the two ids:
               INVALID_REQUEST. The cluster id of before a reset is accepted.
Version notes  v1 throttle time; v3 flexible, client software name and version (KIP-511), features (KIP-584); v4
               features with minimum 0 may be listed (KAFKA-17492); v5 the cluster id and node id that the client
               expects (KIP-1242).
               The epoch of features grows with each change of them; in Kafka it is an offset of its metadata.
Not done       Features of APIs that are not served are not listed (apis/features.py).
Source         core/.../server/KafkaApis.scala handleApiVersionsRequest; clients/.../requests/ApiVersionsRequest.java,
               ApiVersionsResponse.java
"""

from __future__ import annotations

import re
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import nothing
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import reads
from fakebroker.apis.features import supported_features
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import encode_response, response_type

if TYPE_CHECKING:
    from fakebroker.protocol.newer.api_versions_v5 import ApiVersionsRequest

KEY = 18
_MEANT_SINCE = 5
_FEATURES_SINCE = 3
_NO_NODE = -1
_LENGTH = 4  # of a frame's length prefix, and of the correlation id behind it
_REMEMBERED = 64
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def _respond(ctx: RequestContext, version: int, code: ErrorCode, keys: list[dict[str, int]], **features: Any) -> None:
    values = {"error_code": code, "api_keys": keys, "throttle_time": timedelta(0)}
    ctx.respond(build(response_type(KEY, version), values | features))


def error_response(ctx: RequestContext, request: ApiVersionsRequest, code: ErrorCode) -> None:
    _respond(ctx, ctx.api_version, code, [])


@registry.api(
    KEY,
    0,
    5,
    error_response=error_response,
    authorization=nothing("Any client may ask, before it is authenticated."),
    errors=reads("", "UNSUPPORTED_VERSION INVALID_REQUEST REBOOTSTRAP_REQUIRED CLUSTER_AUTHORIZATION_FAILED"),
)
def handle(ctx: RequestContext, request: ApiVersionsRequest) -> None:
    if not is_valid(ctx.api_version, request):
        error_response(ctx, request, ErrorCode.invalid_request)
        return
    _tell_software(ctx, request)
    if ctx.api_version >= _MEANT_SINCE and not _is_meant(ctx, request):
        error_response(ctx, request, ErrorCode.rebootstrap_required)
        return
    _respond_whole(ctx)


def respond_before_authentication(ctx: RequestContext, request: ApiVersionsRequest | None) -> None:
    """Respond to a client that has yet to authenticate by SASL: whatever cluster and node it expects. `request` is None
    if its version is not served."""
    if request is None:
        respond_unsupported_version(ctx)
    elif not is_valid(ctx.api_version, request):
        error_response(ctx, request, ErrorCode.invalid_request)
    else:
        _tell_software(ctx, request)
        _respond_whole(ctx)


def _tell_software(ctx: RequestContext, request: ApiVersionsRequest) -> None:
    if ctx.api_version >= 3:
        ctx.tell_software(request.client_software_name, request.client_software_version)
    else:
        ctx.tell_software("", "")  # and the earlier values are dropped


def _respond_whole(ctx: RequestContext) -> None:
    control, throttle_time_ms = ctx.controller.features, ctx.throttle()
    finalized = tuple(control.finalized(supported_features()).items())
    frame = _whole_answer(ctx.api_version, throttle_time_ms, control.epoch, finalized)
    ctx.respond_frame(frame[:_LENGTH] + ctx.correlation_id.to_bytes(_LENGTH, "big", signed=True) + frame[2 * _LENGTH :])


def is_valid(version: int, request: ApiVersionsRequest) -> bool:
    """Return True if the fields of a request fit each other."""
    if version >= _MEANT_SINCE and (request.cluster_id is None) != (request.node_id == _NO_NODE):
        return False
    return version < 3 or all(
        _SOFTWARE.fullmatch(text) for text in (request.client_software_name, request.client_software_version)
    )


def _is_meant(ctx: RequestContext, request: ApiVersionsRequest) -> bool:
    if request.cluster_id is None:
        return True
    return request.node_id == ctx.broker.broker_id and (
        request.cluster_id == ctx.metadata.cluster_id or request.cluster_id in ctx.controller.earlier_cluster_ids
    )


@lru_cache(maxsize=_REMEMBERED)
def _whole_answer(version: int, throttle_time_ms: int, epoch: int, finalized: tuple[tuple[str, int], ...]) -> bytes:
    """Return the response to correlation id 0. It is the same for all clients, which request it on each connection."""
    values: dict[str, Any] = {
        "error_code": ErrorCode.none,
        "api_keys": [_range(api) for api in registry.load().values() if api.is_advertised],
        "throttle_time": timedelta(milliseconds=throttle_time_ms),
    }
    if version >= _FEATURES_SINCE:
        values |= _features(version, epoch, finalized)
    return encode_response(build(response_type(KEY, version), values), 0)


def _features(version: int, epoch: int, finalized: tuple[tuple[str, int], ...]) -> dict[str, Any]:
    return {
        "supported_features": [
            {"name": name, "min_version": lowest, "max_version": highest}
            for name, (lowest, highest) in supported_features().items()
            if lowest > 0 or version >= 4
        ],
        "finalized_features_epoch": epoch,
        "finalized_features": [
            {"name": name, "max_version_level": level, "min_version_level": level} for name, level in finalized
        ],
    }


def respond_unsupported_version(ctx: RequestContext) -> None:
    """Respond to a version that is not served, in a layout that every client can read."""
    _respond(ctx, 0, ErrorCode.unsupported_version, [_range(registry.load()[KEY])])


def _range(api: registry.Api) -> dict[str, int]:
    return {"api_key": api.key, "min_version": api.advertised_min_version, "max_version": api.max_version}
