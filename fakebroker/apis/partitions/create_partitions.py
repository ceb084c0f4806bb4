"""CreatePartitions (API key 37), versions 0-3: add partitions to a topic.

Behaviour      Handles each topic independently: more partitions, or Kafka's error and message. `count` is the new
               total. Replicas are placed as by CreateTopics, or as `assignments` say, one for each new partition. The
               same name twice in one request: INVALID_REQUEST for it. More partitions than one request may create:
               POLICY_VIOLATION for all. Any broker accepts the request. Metadata has the new partitions at once. A
               timeout of 0 or less: REQUEST_TIMED_OUT for all.
Version notes  v2 flexible; v3 THROTTLING_QUOTA_EXCEEDED (KIP-599), below the client is muted.
Not done       A timeout above 0 (partitions are created at once).
Source         core/.../server/ControllerApis.scala createPartitions; metadata/.../ReplicationControlManager.java
               createPartitions, validateTotalNumberOfPartitions; clients/.../CreatePartitionsRequest.java @ 4.4
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CHANGED, KNOWN, TOPIC_ADMIN, UNANSWERED, because, changes
from fakebroker.apis.no_time import has_no_time
from fakebroker.core.controller.partition_creation import NewPartitions
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.create_partitions.v3.request import CreatePartitionsRequest

KEY = 37
_STRICT_SINCE: Final = 3
_TOPICS_OF_A_SLICE: Final = 256  # looked up


def _respond(ctx: RequestContext, results: Each[dict[str, Any]]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "results": results}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: CreatePartitionsRequest, code: ErrorCode) -> Slices[None]:
    return _failed(ctx, request, KafkaError(code, ""))


def _failed(ctx: RequestContext, request: CreatePartitionsRequest, error: KafkaError) -> Slices[None]:
    return _respond(ctx, Each(lambda topic: _result((topic.name, error)), request.topics))


@registry.api(
    KEY,
    0,
    3,
    error_response=error_response,
    authorization=in_handler("TOPIC ALTER TOPIC_AUTHORIZATION_FAILED topic"),
    errors=changes(
        "topic",
        before=f"{TOPIC_ADMIN} UNKNOWN_TOPIC_OR_PARTITION INVALID_PARTITIONS INVALID_REPLICA_ASSIGNMENT "
        "REASSIGNMENT_IN_PROGRESS INVALID_REPLICATION_FACTOR",
        after=CHANGED,
        unseen=because(
            REASSIGNMENT_IN_PROGRESS=KNOWN,
            INVALID_REPLICATION_FACTOR="needs all brokers fenced",
            INVALID_TOPIC_EXCEPTION=UNANSWERED,
        ),
    ),
)
def handle(ctx: RequestContext, request: CreatePartitionsRequest) -> Slices[None]:
    topics: dict[str, NewPartitions] = {}
    repeated: dict[str, None] = {}
    for number, topic in enumerate(request.topics, 1):
        if topic.name in topics:
            repeated[topic.name] = None
        assignments = topic.assignments
        topics[topic.name] = NewPartitions(
            topic.name, topic.count, None if assignments is None else [entry.broker_ids for entry in assignments]
        )
        if number % _TOPICS_OF_A_SLICE == 0:
            yield
    results: list[tuple[str, KafkaError | None]] = []
    for name in repeated:
        results.append((name, KafkaError(ErrorCode.invalid_request, "Duplicate topic name.")))
        del topics[name]
    refused: list[str] = []
    for number, name in enumerate(topics if ctx.broker.authorizer is not None else (), 1):
        if not ctx.is_authorized(AclOperation.ALTER, ResourceType.TOPIC, name):
            refused.append(name)
        if number % _TOPICS_OF_A_SLICE == 0:
            yield
    for number, name in enumerate(refused, 1):
        results.append((name, KafkaError(ErrorCode.topic_authorization_failed, "")))
        del topics[name]
        if number % _TOPICS_OF_A_SLICE == 0:
            yield
    if topics and has_no_time(request.timeout):
        yield from error_response(ctx, request, ErrorCode.request_timed_out)
        return
    quota = ctx.mutation_quota(_STRICT_SINCE)
    try:
        created = yield from ctx.controller.create_partitions(
            list(topics.values()), lambda: ctx.now, request.validate_only, quota
        )
    except KafkaError as error:
        yield from _failed(ctx, request, error)
        return
    ctx.throttle(at_least_ms=quota.throttle_time_ms(ctx.now_ms))
    yield from _respond(ctx, Each(_result, [*results, *zip(topics, created, strict=True)]))


def _result(item: tuple[str, KafkaError | None]) -> dict[str, Any]:
    name, error = item
    return {
        "name": name,
        "error_code": ErrorCode.none if error is None else error.code,
        "error_message": None if error is None else error.message or None,
    }
