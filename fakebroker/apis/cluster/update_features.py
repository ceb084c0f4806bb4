"""UpdateFeatures (API key 57), versions 0-2.

Behaviour      Sets levels of features, all or none: an error of one fails the whole request. `validate_only` changes
               nothing.
Version notes  v1 upgrade type instead of allow_downgrade, validate_only (KIP-778); v2 no results of single features.
Not done       A level has no effect: it is stored, and ApiVersions returns it.
Source         metadata/.../controller/FeatureControlManager.java; clients/.../requests/UpdateFeaturesResponse.java
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CONTROLLER, KNOWN, UNANSWERED, because, changes
from fakebroker.apis.features import supported_features
from fakebroker.core.controller.features import SAFE_DOWNGRADE, UPGRADE, FeatureUpdate
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices, made_of

if TYPE_CHECKING:
    from kio.schema.update_features.v2.request import UpdateFeaturesRequest

KEY = 57


def _respond(ctx: RequestContext, **values: Any) -> None:
    defaults: dict[str, Any] = {
        "throttle_time": timedelta(0),
        "error_code": ErrorCode.none,
        "error_message": None,
        "results": (),
    }
    ctx.respond(build(response_type(KEY, ctx.api_version), defaults | values))


def error_response(ctx: RequestContext, request: UpdateFeaturesRequest, code: ErrorCode) -> None:
    _respond(ctx, error_code=code, error_message=ctx.refusal or None)


@registry.api(
    KEY,
    0,
    2,
    error_response=error_response,
    authorization=cluster("ALTER"),
    errors=changes(
        "",
        before=f"{CONTROLLER} FEATURE_UPDATE_FAILED INVALID_UPDATE_VERSION INVALID_REQUEST",
        unseen=because(INVALID_REQUEST=UNANSWERED, FEATURE_UPDATE_FAILED=KNOWN),
    ),
)
def handle(ctx: RequestContext, request: UpdateFeaturesRequest) -> Slices[None]:
    updates = yield from made_of(
        request.feature_updates,
        lambda update: FeatureUpdate(update.feature, update.max_version_level, _upgrade_type(ctx.api_version, update)),
    )
    validate_only = ctx.api_version >= 1 and request.validate_only
    features = ctx.controller.features
    try:
        features.update(updates, supported_features(), ctx.metadata.controller_id, validate_only)
    except KafkaError as error:
        _respond(ctx, error_code=error.code, error_message=error.message)
        return
    done = dict.fromkeys(update.feature for update in updates)
    _respond(
        ctx,
        results=[{"feature": name, "error_code": ErrorCode.none, "error_message": "NONE"} for name in done],
    )


def _upgrade_type(version: int, update: Any) -> int:
    if version >= 1:
        return int(update.upgrade_type)
    return SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
