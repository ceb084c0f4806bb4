"""Fetch (API key 1), versions 4-18, for consumers and for followers over the wire.

Behaviour      A consumer reads below the high watermark, so a record that acks=all waits for, or timed out on,
               is not seen before it is replicated. The last batch is cut where the limit is. A replica id makes it the
               fetch of a follower: it reads up to the leader's log end and tells the leader how far it has come, which
               moves the watermark. Waits in the fetch purgatory up to MaxWaitMs for MinBytes. A partition that nobody
               knows is told so in the answer, which waits for the others all the same.
Version notes  v5 log start offset; v7 sessions (KIP-227): none is ever made, which is allowed, and one that the client
               believes in is FETCH_SESSION_ID_NOT_FOUND; v9 leader epoch; v10 zstd; v11 a consumer may ask a follower
               (KIP-392) and reads up to the watermark that it knows; v12 flexible, last fetched and diverging epochs
               (KIP-595); v13 topic ids; v15 replica state (KIP-903); v16 node endpoints (KIP-951).
Not done       Preferred read replicas; transactions.
Source         core/.../server/KafkaApis.scala handleFetchRequest, FetchSession.scala newContext @ 4.0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.core.replication.fetch import FetchParams, FetchPartition, FetchResult
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.build import build, with_throttle_time
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kio.schema.fetch.v18.request import FetchPartition as RequestedPartition
    from kio.schema.fetch.v18.request import FetchRequest, FetchTopic
    from kio.static.protocol import ResponsePayload

KEY = 1
_MILLISECOND = timedelta(milliseconds=1)


_FULL_FETCH_EPOCHS = (0, -1)  # make a session; make none
_ISOLATION_LEVELS = (0, 1)  # read uncommitted, read committed
_LEADER_IS_ELSEWHERE = (ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch)


def _respond(
    ctx: RequestContext, topics: list[dict[str, Any]], code: ErrorCode = ErrorCode.none, *, from_follower: bool = False
) -> None:
    values = {
        "throttle_time": timedelta(0),
        "error_code": code,
        "session_id": 0,
        "responses": topics,
        "node_endpoints": _leader_endpoints(ctx, topics),
    }
    response = build(response_type(KEY, ctx.api_version), values)
    if from_follower:
        ctx.respond(response, exempt=True)
    else:
        ctx.respond(response)


def error_response(ctx: RequestContext, request: FetchRequest, code: ErrorCode) -> None:
    """FetchRequest.getErrorResponse: up to v12 each partition tells it, and from v7 on the code of the whole."""
    _respond(ctx, [_topic_failed(topic, code) for topic in request.topics] if ctx.api_version < 13 else [], code)


def throttled(response: ResponsePayload, throttle_time_ms: int) -> ResponsePayload:
    """FetchContext.getThrottledResponse: nothing is read for a client that is throttled."""
    muted: ResponsePayload = with_throttle_time(response, throttle_time_ms, responses=())
    return muted


@registry.api(KEY, 4, 18, error_response=error_response, throttled=throttled)
def handle(ctx: RequestContext, request: FetchRequest) -> None:
    if getattr(request, "session_epoch", -1) not in _FULL_FETCH_EPOCHS:
        _respond(ctx, [], ErrorCode.fetch_session_id_not_found)
        return
    wanted: dict[Partition, FetchPartition] = {}  # of one that is named twice the last counts
    unknown: list[dict[str, Any]] = []
    ids: dict[str, UUID] = {}  # by which the request named them: a topic may be deleted while the request waits
    for topic in request.topics:
        name = getattr(topic, "topic", None) if ctx.api_version < 13 else _name_of(ctx, topic)
        if name is None:
            asked = {p.partition: p for p in topic.partitions}
            unknown.append(_topic_failed(topic, ErrorCode.unknown_topic_id, tuple(asked.values())))
            continue
        if ctx.api_version >= 13 and topic.topic_id is not None:
            ids[name] = topic.topic_id
        missing: dict[int, RequestedPartition] = {}
        for p in topic.partitions:
            partition = ctx.metadata.find_partition(name, p.partition)
            if partition is None:
                missing[p.partition] = p
            else:
                wanted[partition] = FetchPartition(
                    partition,
                    p.fetch_offset,
                    p.partition_max_bytes,
                    max(getattr(p, "current_leader_epoch", -1), -1),  # every negative epoch is none
                    max(getattr(p, "last_fetched_epoch", -1), -1),
                )
        if missing:
            unknown.append(_topic_failed(topic, ErrorCode.unknown_topic_or_partition, tuple(missing.values())))
    if wanted and request.isolation_level not in _ISOLATION_LEVELS:
        raise KafkaError(ErrorCode.unknown_server_error, f"Unknown isolation level {request.isolation_level}")

    params = _params(ctx, request)

    def complete(results: Sequence[FetchResult]) -> None:
        read = [_partition(ctx, result, ids, params.read_committed) for result in results]
        if _is_tripped_over(ctx, read + unknown):
            error_response(ctx, request, ErrorCode.unknown_server_error)
            return
        _respond(ctx, _grouped(ctx, read + unknown), from_follower=params.is_from_follower)

    ctx.replicas.fetch_messages(params, tuple(wanted.values()), complete, ctx.now)


def _params(ctx: RequestContext, request: FetchRequest) -> FetchParams:
    replica_id, replica_epoch = getattr(request, "replica_id", None), -1
    if replica_id is None:
        replica_id, replica_epoch = request.replica_state.replica_id, request.replica_state.replica_epoch
    return FetchParams(
        max_wait_ms=request.max_wait // _MILLISECOND,
        min_bytes=request.min_bytes,
        max_bytes=request.max_bytes,
        replica_id=int(replica_id),
        replica_epoch=replica_epoch,
        read_committed=request.isolation_level == 1,
        has_client_metadata=ctx.api_version >= 11,
    )


def _name_of(ctx: RequestContext, topic: FetchTopic) -> str | None:
    known = None if topic.topic_id is None else ctx.metadata.topic_by_id(topic.topic_id)
    return known.name if known else None


def _is_tripped_over(ctx: RequestContext, topics: Sequence[dict[str, Any]]) -> bool:
    """FetchResponse.matchingTopic: whether what comes behind an id of zeros belongs to it is looked up by name, and
    such a topic has none. NullPointerException."""
    if ctx.api_version < 13:
        return False
    return any(t["topic_id"] is None for t in topics[:-1]) or any(
        t["topic_id"] is None and len(t["partitions"]) > 1 for t in topics
    )


def _grouped(ctx: RequestContext, topics: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry for each row of neighbours that name the same topic, as in FetchResponse.toMessage."""
    key = "topic" if ctx.api_version < 13 else "topic_id"
    grouped: list[dict[str, Any]] = []
    for topic in topics:
        if grouped and grouped[-1][key] == topic[key]:
            grouped[-1]["partitions"] += topic["partitions"]
        else:
            grouped.append(topic)
    return grouped


def _topic_failed(
    topic: FetchTopic, code: ErrorCode, partitions: Sequence[RequestedPartition] | None = None
) -> dict[str, Any]:
    return {
        "topic": getattr(topic, "topic", None),
        "topic_id": getattr(topic, "topic_id", None),
        "partitions": [
            # Nobody looked: an empty list, where what was read has null (FetchResponse.partitionResponse).
            _partition_values(FetchResult(TopicPartition("", p.partition), code)) | {"aborted_transactions": ()}
            for p in (topic.partitions if partitions is None else partitions)
        ],
    }


def _partition(
    ctx: RequestContext, result: FetchResult, ids: Mapping[str, UUID], read_committed: bool
) -> dict[str, Any]:
    """The entry of a topic with this partition alone."""
    name, index = result.topic_partition
    values = _partition_values(result)
    if not read_committed or result.error_code != ErrorCode.none or result.diverging_epoch is not None:
        values["aborted_transactions"] = None  # nobody looked for any
    if result.diverging_epoch is not None:
        epoch, end_offset = result.diverging_epoch
        values["diverging_epoch"] = {"epoch": epoch, "end_offset": end_offset}
    if ctx.api_version >= 16 and result.error_code in _LEADER_IS_ELSEWHERE:
        leader = ctx.metadata.find_partition(name, index)
        if leader is not None:
            values["current_leader"] = {"leader_id": leader.leader_id, "leader_epoch": leader.leader_epoch}
    return {"topic": name, "topic_id": ids.get(name), "partitions": [values]}


def _partition_values(result: FetchResult) -> dict[str, Any]:
    return {
        "partition_index": result.topic_partition.partition,
        "error_code": result.error_code,
        "high_watermark": result.high_watermark,
        "last_stable_offset": result.last_stable_offset,
        "log_start_offset": result.log_start_offset,
        "aborted_transactions": (),
        "preferred_read_replica": -1,
        "records": result.records.join(),
    }


def _leader_endpoints(ctx: RequestContext, topics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The addresses of the leaders that the answer names."""
    leaders = {p["current_leader"]["leader_id"] for t in topics for p in t["partitions"] if "current_leader" in p}
    if not leaders:
        return []
    return [broker._asdict() for broker in ctx.metadata.alive_brokers(ctx.listener) if broker.node_id in leaders]
