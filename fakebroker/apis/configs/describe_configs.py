"""DescribeConfigs (API key 32), versions 1-4.

Behaviour      Returns for each resource, in the order of the request, all settings or the named ones, with their value
               at this broker. A broker describes itself only, and, without a name, the cluster-wide defaults. An
               unknown group or subscription has the defaults. An unknown topic: UNKNOWN_TOPIC_OR_PARTITION. An unknown
               type of resource: INVALID_REQUEST for all.
Version notes  v1 synonyms and sources (KIP-226); v3 types and documentation (KIP-569); v4 flexible.
Not done       Kafka's own documentation: ours has a few words for each setting. Settings are sorted by name; Kafka has
               the order of a hash table. The levels of loggers other than `root`.
Source         core/.../server/ConfigHelper.scala; clients/.../requests/DescribeConfigsRequest.java @ 4.4
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CONFIGS, UNANSWERED, because, reads
from fakebroker.core.config.config_helper import (
    BrokerConfigLayers,
    DescribedConfig,
    describe_client_metrics,
    describe_group,
    describe_loggers,
    describe_topic,
    identity_of,
)
from fakebroker.core.config.config_resource import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    RESOURCE_TYPES,
    TOPIC,
    int_of,
)
from fakebroker.core.config.listener_endpoints import Endpoint
from fakebroker.core.controller.configuration_control import unauthorized
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.core.security.error_texts import ERROR_TEXTS
from fakebroker.protocol import topic_name
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.describe_configs.v4.request import DescribeConfigsRequest, DescribeConfigsResource

KEY = 32
_RESOURCES_OF_A_SLICE = 128
_MESSAGES = {
    ErrorCode.invalid_request: (
        "This most likely occurs because of a request being malformed by the client library or the message was sent to "
        "an incompatible broker. See the broker logs for more details."
    ),
    ErrorCode.unknown_server_error: "The server experienced an unexpected error when processing the request.",
}


def _respond(ctx: RequestContext, results: Each[dict[str, Any]]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "results": results}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: DescribeConfigsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, Each(lambda resource: _result(resource, (), code, _MESSAGES.get(code)), request.resources))


@registry.api(
    KEY,
    1,
    4,
    error_response=error_response,
    authorization=in_handler(
        "CLUSTER DESCRIBE_CONFIGS CLUSTER_AUTHORIZATION_FAILED resource",
        "TOPIC DESCRIBE_CONFIGS TOPIC_AUTHORIZATION_FAILED resource",
        "GROUP DESCRIBE_CONFIGS GROUP_AUTHORIZATION_FAILED resource",
    ),
    errors=reads("resource", CONFIGS, unseen=because(INVALID_CONFIG=UNANSWERED, POLICY_VIOLATION=UNANSWERED)),
)
def handle(ctx: RequestContext, request: DescribeConfigsRequest) -> Slices[None]:
    if any(resource.resource_type not in RESOURCE_TYPES for resource in request.resources):
        raise KafkaError(ErrorCode.invalid_request, "Unexpected resource type")
    described = partial(_described, ctx, request)
    if ctx.broker.authorizer is None:
        yield from _respond(ctx, Each(described, request.resources))
        return
    authorized: list[DescribeConfigsResource] = []
    refused: list[DescribeConfigsResource] = []
    for number, resource in enumerate(request.resources, 1):
        (authorized if _is_authorized(ctx, resource) else refused).append(resource)
        if number % _RESOURCES_OF_A_SLICE == 0:
            yield
    results = [partial(described, resource) for resource in authorized]
    results += [partial(_refused, resource) for resource in refused]
    yield from _respond(ctx, Each(lambda result: result(), results))


def _is_authorized(ctx: RequestContext, resource: DescribeConfigsResource) -> bool:
    if resource.resource_type == TOPIC:
        return ctx.is_authorized(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, resource.resource_name)
    if resource.resource_type == GROUP:
        return ctx.is_authorized(AclOperation.DESCRIBE_CONFIGS, ResourceType.GROUP, resource.resource_name)
    return ctx.is_authorized_for_cluster(AclOperation.DESCRIBE_CONFIGS)


def _refused(resource: DescribeConfigsResource) -> dict[str, Any]:
    code = unauthorized(resource.resource_type)
    return _result(resource, (), code, ERROR_TEXTS[code])


def _described(
    ctx: RequestContext, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> dict[str, Any]:
    with_documentation = ctx.api_version >= 3 and request.include_documentation
    wanted = frozenset(resource.configuration_keys or ())
    try:
        configs = [
            _entry(config, request.include_synonyms, with_documentation or resource.resource_type == BROKER_LOGGER)
            for config in _configs(ctx, resource.resource_type, resource.resource_name)
            if not wanted or config.name in wanted
        ]
    except KafkaError as error:
        # An unknown topic has no message.
        return _result(resource, (), error.code, error.message)
    return _result(resource, configs, ErrorCode.none, "")


def _configs(ctx: RequestContext, kind: int, name: str) -> Iterator[DescribedConfig]:
    """Return the settings of a resource at this broker. Raises KafkaError."""
    controller = ctx.controller
    if kind == TOPIC:
        topic_name.validate(name)
        topic = controller.metadata.topic(name)
        if topic is None:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, "")
        return describe_topic(topic.configs, _brokers(ctx))
    if kind == BROKER:
        if not name:
            return _brokers(ctx).describe_default()
        _refuse_other(ctx, name, " or empty string, but received ")
        return _brokers(ctx).describe()
    if kind == BROKER_LOGGER:
        if not name:
            raise KafkaError(ErrorCode.invalid_request, "Broker id must not be empty")
        _refuse_other(ctx, name, " but received ")
        return describe_loggers(ctx.broker.loggers.levels)
    if not name:
        what = "Client metrics subscription" if kind == CLIENT_METRICS else "Group"
        raise KafkaError(ErrorCode.invalid_request, f"{what} name must not be empty")
    if kind == CLIENT_METRICS:
        return describe_client_metrics(controller.client_metrics.own(name))
    return describe_group(controller.group_configs.own(name), _brokers(ctx))


def _brokers(ctx: RequestContext) -> BrokerConfigLayers:
    """Return this broker's settings."""
    broker_id, configs = ctx.broker.broker_id, ctx.controller.broker_configs
    broker = ctx.controller.registry[broker_id]
    bound, advertised = [], []
    for listener in broker.listeners:
        bound.append(Endpoint(listener.name, *broker.bound_to(listener)))
        # The client may have dialled an address of its own.
        endpoint = broker.endpoint(ctx.listener if ctx.listener.name == listener.name else listener)
        advertised.append(Endpoint(listener.name, endpoint.host, endpoint.port))
    identity = identity_of(broker_id, bound, advertised, broker.rack)
    return BrokerConfigLayers(configs.of(broker_id), configs.texts(broker_id), configs.texts(None), identity)


def _refuse_other(ctx: RequestContext, name: str, but: str) -> None:
    named = int_of(name)
    if named is None:
        raise KafkaError(ErrorCode.invalid_request, f"Broker id must be an integer, but it is: {name}")
    if named != ctx.broker.broker_id:
        raise KafkaError(ErrorCode.invalid_request, f"Unexpected broker id, expected {ctx.broker.broker_id}{but}{name}")


def _entry(config: DescribedConfig, with_synonyms: bool, with_documentation: bool) -> dict[str, Any]:
    return {
        "name": config.name,
        "value": config.value,
        "read_only": config.read_only,
        "config_source": config.source,
        "is_sensitive": config.is_sensitive,
        "synonyms": [
            {"name": name, "value": value, "source": source} for name, value, source in config.synonyms if with_synonyms
        ],
        "config_type": config.type,
        "documentation": config.documentation if with_documentation else None,
    }


def _result(resource: DescribeConfigsResource, configs: Any, code: ErrorCode, message: str | None) -> dict[str, Any]:
    return {
        "error_code": code,
        "error_message": message,
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
        "configs": configs,
    }
