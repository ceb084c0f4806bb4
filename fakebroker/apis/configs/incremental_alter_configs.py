"""IncrementalAlterConfigs (API key 44), versions 0-1.

Behaviour      Sets, resets, or (for lists) extends and shortens some settings of each resource. Each resource is
               altered independently, completely or not at all with an error. Settings of one broker, and levels of its
               loggers, are altered only by that broker. `validate_only` changes nothing.
Version notes  v1 flexible.
Not done       Policies.
Source         core/.../server/KafkaApis.scala handleIncrementalAlterConfigsRequest; the rest in
               core/controller/configuration_control.py
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CHANGED, CONFIGS, changes
from fakebroker.core.config.config_resource import Alteration, ConfigResource
from fakebroker.core.controller.configuration_control import ConfigurationControl
from fakebroker.core.security.acl_binding import AclOperation
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices, made_of

if TYPE_CHECKING:
    from kio.schema.incremental_alter_configs.v1.request import AlterConfigsResource, IncrementalAlterConfigsRequest

KEY = 44
_RESOURCES_OF_A_SLICE = 64


def _respond(ctx: RequestContext, responses: Each[dict[str, Any]]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "responses": responses}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: IncrementalAlterConfigsRequest, code: ErrorCode) -> Slices[None]:
    error = KafkaError(code, "")
    return _respond(ctx, Each(_answer, [(resource, error) for resource in request.resources]))


@registry.api(
    KEY,
    0,
    1,
    error_response=error_response,
    authorization=in_handler(
        "CLUSTER ALTER_CONFIGS CLUSTER_AUTHORIZATION_FAILED resource",
        "TOPIC ALTER_CONFIGS TOPIC_AUTHORIZATION_FAILED resource",
        "GROUP ALTER_CONFIGS GROUP_AUTHORIZATION_FAILED resource",
    ),
    errors=changes("resource", before=CONFIGS, after=CHANGED),
)
def handle(ctx: RequestContext, request: IncrementalAlterConfigsRequest) -> Slices[None]:
    control = ConfigurationControl(
        ctx.controller,
        ctx.broker.broker_id,
        ctx.broker.loggers,
        request.validate_only,
        partial(ctx.is_authorized, AclOperation.ALTER_CONFIGS),
    )
    changes: list[tuple[ConfigResource, list[Alteration]]] = []
    for resource in request.resources:
        alterations = yield from made_of(
            resource.configs, lambda config: Alteration(config.name, config.config_operation, config.value)
        )
        changes.append((ConfigResource(resource.resource_type, resource.resource_name), alterations))
        if len(changes) % _RESOURCES_OF_A_SLICE == 0:
            yield
    results = yield from control.incremental_alter_configs(changes)
    yield from _respond(ctx, Each(_answer, list(zip(request.resources, results, strict=True))))


def _answer(named: tuple[AlterConfigsResource, KafkaError | None]) -> dict[str, Any]:
    resource, error = named
    return {
        "error_code": ErrorCode.none if error is None else error.code,
        "error_message": None if error is None else error.message or None,
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
    }
