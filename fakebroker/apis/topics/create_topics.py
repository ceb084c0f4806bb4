"""CreateTopics (API key 19), versions 2-7.

Behaviour      Handles each topic independently: created, or Kafka's error and message. Too many partitions in one
               request fail all topics, and so do more records in the metadata log than one operation may write:
               POLICY_VIOLATION. -1 partitions or replicas take the broker's default. The same name twice in one
               request: INVALID_REQUEST for it. Any broker accepts the request. The results of duplicates and of
               `__cluster_metadata` come last. A timeout of 0 or less: REQUEST_TIMED_OUT for all, unless there is
               nothing to create.
Version notes  v4 broker defaults by -1; v5 flexible, the response has partitions, replicas and all settings (KIP-525);
               v6 THROTTLING_QUOTA_EXCEEDED (KIP-599), below the client is muted; v7 topic id.
Not done       A timeout above 0 (a topic is created at once); policies.
Source         metadata/.../controller/ReplicationControlManager.java createTopics; ControllerApis.scala createTopics
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CHANGED, KNOWN, TOPIC_ADMIN, because, changes
from fakebroker.apis.no_time import has_no_time
from fakebroker.core.controller.topics import NewTopic, Topic
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_name import CLUSTER_METADATA_TOPIC_NAME

if TYPE_CHECKING:
    from kio.schema.create_topics.v7.request import CreatableTopic, CreateTopicsRequest

KEY = 19
_STRICT_SINCE = 6
_UNAUTHORIZED = KafkaError(ErrorCode.topic_authorization_failed, "Authorization failed.")
_TOPICS_OF_A_SLICE = 64  # topics of a request
_ENTRIES_OF_A_SLICE = 512  # entries of a list of a topic
_MESSAGE_CHARS = 1000  # messages may quote the request; a string before v5 ends at 32,767 bytes


def _respond(ctx: RequestContext, topics: Each[dict[str, Any]]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "topics": topics}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: CreateTopicsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, Each(lambda topic: _failed(topic.name, code, None), request.topics))


@registry.api(
    KEY,
    2,
    7,
    error_response=error_response,
    authorization=in_handler(
        "CLUSTER CREATE - topic",
        "TOPIC CREATE TOPIC_AUTHORIZATION_FAILED topic",
        "TOPIC DESCRIBE_CONFIGS TOPIC_AUTHORIZATION_FAILED configs",
    ),
    errors=changes(
        "topic",
        before=f"{TOPIC_ADMIN} TOPIC_ALREADY_EXISTS INVALID_PARTITIONS INVALID_REPLICATION_FACTOR INVALID_CONFIG "
        "INVALID_REPLICA_ASSIGNMENT UNSUPPORTED_VERSION",
        after=CHANGED,
        unseen=because(UNSUPPORTED_VERSION=KNOWN),
    ),
)
def handle(ctx: RequestContext, request: CreateTopicsRequest) -> Slices[None]:
    times: dict[str, int] = {}
    for number, topic in enumerate(request.topics, 1):
        times[topic.name] = times.get(topic.name, 0) + 1
        if number % _ENTRIES_OF_A_SLICE == 0:
            yield
    refused: set[str] = set()
    if ctx.broker.authorizer is not None and not ctx.is_authorized_for_cluster(AclOperation.CREATE):
        for number, name in enumerate(times, 1):
            if not ctx.is_authorized(AclOperation.CREATE, ResourceType.TOPIC, name):
                refused.add(name)
            if number % _ENTRIES_OF_A_SLICE == 0:
                yield
    if has_no_time(request.timeout) and any(
        count == 1 and name != CLUSTER_METADATA_TOPIC_NAME and name not in refused for name, count in times.items()
    ):
        yield from error_response(ctx, request, ErrorCode.request_timed_out)
        return
    new_topics: list[NewTopic] = []
    for topic in request.topics:
        is_tried = topic.name not in refused or topic.name == CLUSTER_METADATA_TOPIC_NAME
        if times[topic.name] == 1 and is_tried:
            new = yield from _new_topic(topic)
            new_topics.append(new)
        if len(new_topics) % _TOPICS_OF_A_SLICE == 0:
            yield
    quota = ctx.mutation_quota(_STRICT_SINCE)
    try:
        results = yield from ctx.controller.create_topics_in_slices(
            new_topics, lambda: ctx.now, request.validate_only, quota
        )
    except KafkaError as error:
        code, message = error.code, error.message
        yield from _respond(ctx, Each(lambda topic: _failed(topic.name, code, message), request.topics))
        return
    # Created or failed topics; duplicate names; refused ones and `__cluster_metadata`, which is never created.
    answers: list[tuple[str, Topic | KafkaError | None]] = []
    last: list[tuple[str, Topic | KafkaError | None]] = []
    for new, result in zip(new_topics, results, strict=True):
        (last if new.name == CLUSTER_METADATA_TOPIC_NAME else answers).append((new.name, result))
        if len(answers) % _ENTRIES_OF_A_SLICE == 0:
            yield
    for number, (name, count) in enumerate(times.items(), 1):
        if count > 1:
            (last if name == CLUSTER_METADATA_TOPIC_NAME else answers).append((name, None))
        elif name in refused and name != CLUSTER_METADATA_TOPIC_NAME:
            last.append((name, _UNAUTHORIZED))
        if number % _ENTRIES_OF_A_SLICE == 0:
            yield
    ctx.throttle(at_least_ms=quota.throttle_time_ms(ctx.now_ms))
    yield from _respond(ctx, Each(partial(_answer, ctx), answers + last))


def _new_topic(creatable: CreatableTopic) -> Slices[NewTopic]:
    assignments: list[tuple[int, tuple[int, ...]]] = []
    for entry in creatable.assignments:
        assignments.append((entry.partition_index, tuple(entry.broker_ids)))
        if len(assignments) % _ENTRIES_OF_A_SLICE == 0:
            yield
    configs: dict[str, str | None] = {}
    for number, config in enumerate(creatable.configs, 1):
        # The last value of a name counts, but Kafka keeps a null.
        if configs.get(config.name, "") is not None:
            configs[config.name] = config.value
        if number % _ENTRIES_OF_A_SLICE == 0:
            yield
    return NewTopic(creatable.name, creatable.num_partitions, creatable.replication_factor, assignments, configs)


def _answer(ctx: RequestContext, named: tuple[str, Topic | KafkaError | None]) -> dict[str, Any]:
    name, result = named
    if result is None:
        return _failed(name, ErrorCode.invalid_request, "Duplicate topic name.")
    if isinstance(result, KafkaError):
        return _failed(name, result.code, result.message)
    if not ctx.is_authorized(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, name):
        return _failed(name, ErrorCode.none, None) | {
            "topic_id": result.topic_id,
            "topic_config_error_code": ErrorCode.topic_authorization_failed,
        }
    return {
        "name": name,
        "topic_id": result.topic_id,
        "error_code": ErrorCode.none,
        "error_message": None,
        "topic_config_error_code": 0,
        "num_partitions": len(result.partitions),
        "replication_factor": len(result.partitions[0].replica_ids),
        "configs": [
            {
                "name": config.name,
                "value": config.value,
                "read_only": False,
                "config_source": config.source,
                "is_sensitive": False,
            }
            for config in result.effective_configs
        ],
    }


def _failed(name: str, code: ErrorCode, message: str | None) -> dict[str, Any]:
    return {
        "name": name,
        "topic_id": None,
        "error_code": code,
        "error_message": _shortened(message) if message else None,
        "topic_config_error_code": 0,
        "num_partitions": -1,
        "replication_factor": -1,
        "configs": (),
    }


def _shortened(message: str) -> str:
    """Return the message with its middle left out if it is too long."""
    half = _MESSAGE_CHARS // 2
    return message if len(message) <= _MESSAGE_CHARS else f"{message[:half]}...{message[-half:]}"
