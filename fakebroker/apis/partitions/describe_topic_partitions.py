"""DescribeTopicPartitions (API key 75), version 0: topics with their partitions, page by page (KIP-966).

Behaviour      Returns the requested topics, or all (an empty list), sorted by name. Request and
               max.request.partition.size.limit limit the total of partitions, but at least one is returned. If there
               are more, the cursor names the next one; the next request sends it back, and topics before it are left
               out. A cursor with a topic that is not requested, or a negative partition: INVALID_REQUEST. An unknown
               name: UNKNOWN_TOPIC_OR_PARTITION, an invalid one: INVALID_TOPIC_EXCEPTION; they do not count as
               partitions.
Source         core/.../server/handlers/DescribeTopicPartitionsRequestHandler.java; KRaftMetadataCache.scala
               describeTopicResponse; clients/.../DescribeTopicPartitionsRequest.java getErrorResponse @ 4.0
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import reads
from fakebroker.core.controller.topics import Topic
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.core.security.authorized_operations import NOT_REQUESTED
from fakebroker.protocol import topic_name
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.describe_topic_partitions.v0.request import DescribeTopicPartitionsRequest

KEY = 75
_NAMES_OF_A_SLICE = 512
_NEVER_INTERNAL = (ErrorCode.invalid_request, ErrorCode.topic_authorization_failed)


def _respond(ctx: RequestContext, topics: list[dict[str, Any]], next_cursor: dict[str, Any] | None) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "topics": topics, "next_cursor": next_cursor}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: DescribeTopicPartitionsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, [_without_partitions(topic.name, code, NOT_REQUESTED) for topic in request.topics], None)


@registry.api(
    KEY,
    0,
    0,
    error_response=error_response,
    authorization=in_handler("TOPIC DESCRIBE TOPIC_AUTHORIZATION_FAILED topic"),
    errors=reads(
        "topic",
        "UNKNOWN_TOPIC_OR_PARTITION TOPIC_AUTHORIZATION_FAILED INVALID_TOPIC_EXCEPTION INVALID_REQUEST",
        not_parts="partitions",
    ),
)
def handle(ctx: RequestContext, request: DescribeTopicPartitionsRequest) -> Slices[None]:
    cursor = request.cursor
    first_name = "" if cursor is None else cursor.topic_name
    names: set[str] = set()
    wants_all = not request.topics
    requested = ctx.metadata.topic_names() if wants_all else [topic.name for topic in request.topics]
    for number, name in enumerate(requested, 1):
        if name >= first_name:
            names.add(name)
        if number % _NAMES_OF_A_SLICE == 0:
            yield
    if cursor is not None and not wants_all and first_name not in names:
        raise KafkaError(ErrorCode.invalid_request, f"The list of topics lacks that of the cursor, {first_name}.")
    if cursor is not None and cursor.partition_index < 0:
        raise KafkaError(ErrorCode.invalid_request, f"No partition is {cursor.partition_index}, as the cursor says.")
    if "" in names:  # Kafka fails while it looks up the operations on such a topic
        raise KafkaError(ErrorCode.unknown_server_error, "A topic is requested without a name.")
    remaining = max(min(ctx.controller.config.max_request_partition_size_limit, request.response_partition_limit), 1)
    answers: list[dict[str, Any]] = []
    next_cursor: dict[str, Any] | None = None
    refused: list[dict[str, Any]] = []
    for number, name in enumerate(sorted(names), 1):
        if not ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.TOPIC, name):
            if not wants_all:
                refused.append(_without_partitions(name, ErrorCode.topic_authorization_failed, NOT_REQUESTED))
            if number % _NAMES_OF_A_SLICE == 0:
                yield
            continue
        if remaining == 0:
            next_cursor = {"topic_name": name, "partition_index": 0}
            break
        topic = ctx.metadata.topic(name)
        if topic is not None:
            start = cursor.partition_index if cursor is not None and name == first_name else 0
            end = min(len(topic.partitions), start + remaining)
            answers.append(_known(ctx, topic, topic.partitions[start:end]))
            if end < len(topic.partitions):
                next_cursor = {"topic_name": name, "partition_index": end}
                break
            remaining -= max(end - start, 0)
        elif not wants_all:
            is_valid = topic_name.is_valid(name)
            code = ErrorCode.unknown_topic_or_partition if is_valid else ErrorCode.invalid_topic_exception
            operations = ctx.authorized_operations(ResourceType.TOPIC, name)
            answers.append(_without_partitions(name, code, operations))
        if number % _NAMES_OF_A_SLICE == 0:
            yield
    yield from _respond(ctx, answers + refused, next_cursor)


def _known(ctx: RequestContext, topic: Topic, partitions: list[Partition]) -> dict[str, Any]:
    return {
        "error_code": ErrorCode.none,
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic_name.is_internal(topic.name),
        "partitions": Each(partial(_partition, ctx), partitions),
        "topic_authorized_operations": ctx.authorized_operations(ResourceType.TOPIC, topic.name),
    }


def _partition(ctx: RequestContext, partition: Partition) -> dict[str, Any]:
    in_sync, is_registered = ctx.metadata.in_sync(partition), ctx.metadata.is_registered(ctx.listener)
    offline = ctx.metadata.offline_ids(partition) if is_registered else partition.replica_ids
    return {
        "error_code": ErrorCode.none,
        "partition_index": partition.topic_partition.partition,
        "leader_id": partition.leader_id if is_registered else NO_LEADER,
        "leader_epoch": partition.leader_epoch,
        "replica_nodes": tuple(partition.replica_ids),
        "isr_nodes": in_sync.isr,
        "eligible_leader_replicas": in_sync.elr,
        "last_known_elr": in_sync.last_known_elr,
        "offline_replicas": tuple(offline),
    }


def _without_partitions(name: str, code: ErrorCode, operations: int) -> dict[str, Any]:
    return {
        "error_code": code,
        "name": name,
        "topic_id": None,
        "is_internal": topic_name.is_internal(name) and code not in _NEVER_INTERNAL,
        "partitions": (),
        "topic_authorized_operations": operations,
    }
