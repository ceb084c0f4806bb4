"""ListOffsets (API key 2), versions 1-11.

Behaviour      The latest offset is the high watermark for a consumer, the log end for a follower. A timestamp gives the
               first record at or after it, if a consumer may read that far. Not found: offset -1 and no error. A
               partition named twice: INVALID_REQUEST. A special timestamp newer than the request's version:
               UNSUPPORTED_VERSION. After an election a consumer's request for the end gets OFFSET_NOT_AVAILABLE, until
               the high watermark has reached the first offset of the new leader epoch.
Version notes  v2 isolation level; v4 leader epochs; v5 OFFSET_NOT_AVAILABLE (below it, LEADER_NOT_AVAILABLE); v6
               flexible; v7 offset of the maximum timestamp (-3); v8 earliest local (-4); v9 last tiered (-5); v10
               timeout; v11 earliest pending upload (-6). Nothing is tiered, so -5 and -6 are never found.
Not done       v0; tiered storage.
Source         core/.../server/KafkaApis.scala handleListOffsetRequestV1AndAbove; ReplicaManager.scala fetchOffset @ 4.0
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import EPOCH, LEADER, PARTITION, because, reads
from fakebroker.core.replication.fetch import OffsetQuery, TimestampAndOffset
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices, begin

if TYPE_CHECKING:
    from kio.schema.list_offsets.v11.request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

KEY = 2
_ISOLATION_LEVELS = (0, 1)  # read uncommitted, read committed
_PARTITIONS_OF_A_SLICE = 32
_COUNTED_IN_A_SLICE = 1_024

# Special timestamps are negative; each has a first version.
_MIN_VERSION_OF_TIMESTAMP = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}


def _respond(ctx: RequestContext, topics: Each[dict[str, Any]]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "topics": topics}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: ListOffsetsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, Each(lambda topic: _failed(topic, code), request.topics))


def _failed(topic: ListOffsetsTopic, code: ErrorCode) -> dict[str, Any]:
    return {"name": topic.name, "partitions": Each(lambda p: _partition(p.partition_index, code), topic.partitions)}


@registry.api(
    KEY,
    1,
    11,
    error_response=error_response,
    authorization=in_handler("TOPIC DESCRIBE TOPIC_AUTHORIZATION_FAILED partition"),
    errors=reads(
        PARTITION,
        f"{LEADER} {EPOCH} OFFSET_NOT_AVAILABLE LEADER_NOT_AVAILABLE UNSUPPORTED_FOR_MESSAGE_FORMAT "
        "UNSUPPORTED_VERSION INVALID_REQUEST REQUEST_TIMED_OUT",
        unseen=because(REQUEST_TIMED_OUT="needs tiered storage"),
    ),
)
def handle(ctx: RequestContext, request: ListOffsetsRequest) -> Slices[None] | None:
    return begin(_handle(ctx, request))


def _handle(ctx: RequestContext, request: ListOffsetsRequest) -> Slices[None]:
    isolation_level = getattr(request, "isolation_level", 0)
    if request.topics and isolation_level not in _ISOLATION_LEVELS:
        raise KafkaError(ErrorCode.unknown_server_error, f"Unknown isolation level {isolation_level}")
    seen = 0
    times: Counter[tuple[str, int]] = Counter()
    for topic in request.topics:
        seen += 1
        if seen % _COUNTED_IN_A_SLICE == 0:
            yield
        for p in topic.partitions:
            times[topic.name, p.partition_index] += 1
            seen += 1
            if seen % _COUNTED_IN_A_SLICE == 0:
                yield
    topics: dict[str, dict[int, dict[str, Any]]] = {}
    refused: list[dict[str, Any]] = []
    for topic in request.topics:
        seen += 1
        if seen % _PARTITIONS_OF_A_SLICE == 0:
            yield
        if not ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.TOPIC, topic.name):
            refused.append(_failed(topic, ErrorCode.topic_authorization_failed))
            continue
        partitions = topics.setdefault(topic.name, {})
        for p in topic.partitions:
            if times[topic.name, p.partition_index] > 1:
                partitions[p.partition_index] = _partition(p.partition_index, ErrorCode.invalid_request)
            else:
                partitions[p.partition_index] = yield from _answer(ctx, request, topic.name, p)
            seen += 1
            if seen % _PARTITIONS_OF_A_SLICE == 0:
                yield
    answers = Each(_topic, topics.items())
    yield from _respond(ctx, Each(dict, [*answers, *refused]) if refused else answers)


def _topic(answered: tuple[str, dict[int, dict[str, Any]]]) -> dict[str, Any]:
    name, partitions = answered
    return {"name": name, "partitions": partitions.values()}


def _answer(
    ctx: RequestContext, request: ListOffsetsRequest, topic: str, requested: ListOffsetsPartition
) -> Slices[dict[str, Any]]:
    if requested.timestamp < 0 and ctx.api_version < _MIN_VERSION_OF_TIMESTAMP.get(requested.timestamp, 1 << 15):
        return _partition(requested.partition_index, ErrorCode.unsupported_version)
    partition = ctx.metadata.find_partition(topic, requested.partition_index)
    if partition is None:
        return _partition(requested.partition_index, ErrorCode.unknown_topic_or_partition)
    query = OffsetQuery(
        partition,
        requested.timestamp,
        getattr(requested, "current_leader_epoch", -1),
        int(request.replica_id),
        getattr(request, "isolation_level", 0) == 1,
    )
    try:
        timestamp_and_offset = yield from ctx.replicas.fetch_offset(query)
        return _partition(requested.partition_index, ErrorCode.none, timestamp_and_offset)
    except KafkaError as error:
        if error.code is ErrorCode.offset_not_available and ctx.api_version < 5:
            return _partition(requested.partition_index, ErrorCode.leader_not_available)
        return _partition(requested.partition_index, error.code)


def _partition(index: int, code: ErrorCode, timestamp_and_offset: TimestampAndOffset | None = None) -> dict[str, Any]:
    timestamp_and_offset = timestamp_and_offset or TimestampAndOffset()
    return {
        "partition_index": index,
        "error_code": code,
        "timestamp": timestamp_and_offset.timestamp_ms,
        "offset": timestamp_and_offset.offset,
        "leader_epoch": timestamp_and_offset.leader_epoch,
    }
