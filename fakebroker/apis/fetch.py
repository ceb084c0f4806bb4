"""Fetch (API key 1), versions 4-18, the consumer's side.

Behaviour      Whole batches below the high watermark, so a record that an acks=all produce waits for, or timed out on,
               is not seen before it is replicated. Waits in the fetch purgatory up to MaxWaitMs for MinBytes.
Version notes  v5 log start offset; v7 sessions (KIP-227): none is ever made, which is allowed; v9 leader epoch;
               v10 zstd; v12 flexible; v13 topic ids; v15 replica state (KIP-903); v16 node endpoints (KIP-951).
Not done       A follower over the wire (a replica id is answered NOT_LEADER_OR_FOLLOWER); epochs; transactions.
Source         core/.../server/KafkaApis.scala handleFetchRequest @ 4.0
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from fakebroker.apis import registry
from fakebroker.apis.context import FetchPartition, FetchResult, Message, RequestContext
from fakebroker.protocol.build import build, with_throttle_time
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.topic_partition import TopicPartition

KEY = 1
_MILLISECOND = timedelta(milliseconds=1)


def _respond(ctx: RequestContext, topics: list[dict[str, Any]], code: ErrorCode = ErrorCode.none) -> None:
    values = {"throttle_time": timedelta(0), "error_code": code, "session_id": 0, "responses": topics}
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: Message, code: ErrorCode) -> None:
    if ctx.api_version >= 7:
        _respond(ctx, [], code)
    else:
        _respond(ctx, _all_failed(request, code))


def throttled(response: Message, throttle_time_ms: int) -> Message:
    """FetchContext.getThrottledResponse: nothing is read for a client that is throttled."""
    return with_throttle_time(response, throttle_time_ms, responses=())


@registry.api(KEY, 4, 18, error_response=error_response, throttled=throttled)
def handle(ctx: RequestContext, request: Message) -> None:
    if getattr(request, "session_id", 0) != 0:
        _respond(ctx, [], ErrorCode.fetch_session_id_not_found)
        return
    if _replica_id(request) >= 0:
        _respond(ctx, _all_failed(request, ErrorCode.not_leader_or_follower))
        return
    wanted: list[FetchPartition] = []
    unknown: list[dict[str, Any]] = []
    for topic in request.topics:
        name = topic.topic if ctx.api_version < 13 else _name_of(ctx, topic)
        if name is None:
            unknown.append(_topic_failed(topic, ErrorCode.unknown_topic_id))
            continue
        wanted += (
            FetchPartition(TopicPartition(name, p.partition), p.fetch_offset, p.partition_max_bytes)
            for p in topic.partitions
        )

    def complete(results: Sequence[FetchResult]) -> None:
        _respond(ctx, unknown + _by_topic(ctx, results))

    max_wait_ms = 0 if unknown else request.max_wait // _MILLISECOND
    ctx.fetch_messages(max_wait_ms, request.min_bytes, request.max_bytes, wanted, complete)


def _replica_id(request: Message) -> int:
    state = getattr(request, "replica_state", None)
    return int(request.replica_id if state is None else state.replica_id)


def _name_of(ctx: RequestContext, topic: Message) -> str | None:
    known = None if topic.topic_id is None else ctx.cluster.topic_by_id(topic.topic_id)
    return known.name if known else None


def _by_topic(ctx: RequestContext, results: Sequence[FetchResult]) -> list[dict[str, Any]]:
    topics: dict[str, list[dict[str, Any]]] = {}
    for tp, code, high_watermark, log_start_offset, records in results:
        topics.setdefault(tp.topic, []).append(
            _partition(tp.partition, code, high_watermark, log_start_offset, records)
        )
    answers = []
    for name, partitions in topics.items():
        topic = ctx.cluster.topic(name)
        answers.append({"topic": name, "topic_id": topic.topic_id if topic else None, "partitions": partitions})
    return answers


def _all_failed(request: Message, code: ErrorCode) -> list[dict[str, Any]]:
    return [_topic_failed(topic, code) for topic in request.topics]


def _topic_failed(topic: Message, code: ErrorCode) -> dict[str, Any]:
    return {
        "topic": getattr(topic, "topic", None),
        "topic_id": getattr(topic, "topic_id", None),
        "partitions": [_partition(p.partition, code, -1, -1, b"") for p in topic.partitions],
    }


def _partition(
    index: int, code: ErrorCode, high_watermark: int, log_start_offset: int, records: bytes
) -> dict[str, Any]:
    return {
        "partition_index": index,
        "error_code": code,
        "high_watermark": high_watermark,
        "last_stable_offset": high_watermark,
        "log_start_offset": log_start_offset,
        "aborted_transactions": None,
        "preferred_read_replica": -1,
        "records": records,
    }
