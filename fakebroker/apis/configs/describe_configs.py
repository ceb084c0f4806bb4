"""DescribeConfigs (API key 32), versions 1-4.

Behaviour      Returns for each resource, in the order of the request, all settings or the named ones, with their value
               at this broker. A broker describes itself only, and, without a name, the cluster-wide defaults. An
               unknown group or subscription has the defaults. An unknown topic: UNKNOWN_TOPIC_OR_PARTITION. An unknown
               type of resource: INVALID_REQUEST for all.
Version notes  v1 synonyms and sources (KIP-226); v3 types and documentation (KIP-569); v4 flexible.
Not done       Kafka's own documentation: ours has a few words for each setting. Settings are sorted by name; Kafka has
               the order of a hash table. The levels of loggers other than `root`. Authorization.
Source         core/.../server/ConfigHelper.scala; clients/.../requests/DescribeConfigsRequest.java @ 4.4
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CONFIGS, UNANSWERED, because, reads
from fakebroker.core.config.config_helper import (
    BrokerConfigs,
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
    RESOURCE_TYPES,
    TOPIC,
    int_of,
)
from fakebroker.core.config.listener_endpoints import Endpoint
from fakebroker.protocol import topic_name
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.describe_configs.v4.request import DescribeConfigsRequest, DescribeConfigsResource

KEY = 32
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
    errors=reads("resource", CONFIGS, unseen=because(INVALID_CONFIG=UNANSWERED, POLICY_VIOLATION=UNANSWERED)),
)
def handle(ctx: RequestContext, request: DescribeConfigsRequest) -> Slices[None]:
    if any(resource.resource_type not in RESOURCE_TYPES for resource in request.resources):
        raise KafkaError(ErrorCode.invalid_request, "Unexpected resource type")
    yield from _respond(ctx, Each(partial(_described, ctx, request), request.resources))


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


def _brokers(ctx: RequestContext) -> BrokerConfigs:
    """Return this broker's settings."""
    broker_id, configs = ctx.broker.broker_id, ctx.controller.broker_configs
    broker = ctx.controller.registry[broker_id]
    bound, advertised = [], []
    for listener in broker.listeners:
        bound.append(Endpoint(listener.name, *broker.bound_to(listener)))
        # The client may have dialled an address of its own.
        told = broker.endpoint(ctx.listener if ctx.listener.name == listener.name else listener)
        advertised.append(Endpoint(listener.name, told.host, told.port))
    identity = identity_of(broker_id, bound, advertised, broker.rack)
    return BrokerConfigs(configs.of(broker_id), configs.texts(broker_id), configs.texts(None), identity)


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
