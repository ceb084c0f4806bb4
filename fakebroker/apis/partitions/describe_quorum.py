"""DescribeQuorum (API key 55), versions 0-2: the quorum for metadata (KIP-595).

Behaviour      Responds as a cluster with one combined node: the running broker with the lowest id is the only voter,
               and leads. The other running brokers are observers without lag. A request for anything but partition 0 of
               __cluster_metadata, once: UNKNOWN_TOPIC_OR_PARTITION for each partition. Any broker accepts the request.
Version notes  v1 when each last fetched (KIP-836); v2 directory ids, messages, and listeners of voters (KIP-853).
Not done       There is no metadata log: its end is the number of changes so far, and its epoch that of the first
               election. Voters have the listeners for clients. No directory ids.
Source         raft/.../KafkaRaftClient.java handleDescribeQuorumRequest, hasValidTopicPartition;
               clients/.../DescribeQuorumRequest.java getErrorResponse, getPartitionLevelErrorResponse @ 4.0
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import PARTITION, PASSED_ON, because, reads
from fakebroker.core.security.error_texts import ERROR_TEXTS
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_name import CLUSTER_METADATA_TOPIC_NAME

if TYPE_CHECKING:
    from kio.schema.describe_quorum.v2.request import DescribeQuorumRequest, TopicData

KEY = 55
_UNKNOWN: Final = "This server does not host this topic-partition."
_LISTENER: Final = "CONTROLLER"


def _respond(
    ctx: RequestContext,
    code: ErrorCode,
    topics: Iterable[dict[str, Any]] = (),
    nodes: Iterable[dict[str, Any]] = (),
) -> Slices[None]:
    values = {
        "error_code": code,
        "error_message": ERROR_TEXTS.get(code, ""),
        "topics": topics,
        "nodes": nodes,
    }
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: DescribeQuorumRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, code)


@registry.api(
    KEY,
    0,
    2,
    error_response=error_response,
    authorization=cluster("DESCRIBE"),
    errors=reads(
        PARTITION,
        "CLUSTER_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER BROKER_NOT_AVAILABLE",
        unseen=because(NOT_LEADER_OR_FOLLOWER=PASSED_ON),
    ),
)
def handle(ctx: RequestContext, request: DescribeQuorumRequest) -> Slices[None]:
    if not _is_valid(request):
        return _respond(ctx, ErrorCode.none, Each(_unknown, request.topics))
    leader_id = ctx.metadata.controller_id
    alive = ctx.controller.registry.alive(ctx.controller.registry.broker_ids)
    broker = ctx.controller.registry[leader_id]
    endpoint = broker.endpoint(ctx.listener if ctx.metadata.is_registered(ctx.listener) else broker.first_listener)
    partition = _partition(0, ErrorCode.none, "") | {
        "leader_id": leader_id,
        "leader_epoch": 1,
        "high_watermark": ctx.metadata.decisions,
        "current_voters": [_replica(ctx, leader_id)],
        "observers": [_replica(ctx, broker_id) for broker_id in alive if broker_id != leader_id],
    }
    listener = {"name": _LISTENER, "host": endpoint.host, "port": endpoint.port}
    return _respond(
        ctx,
        ErrorCode.none,
        [{"topic_name": CLUSTER_METADATA_TOPIC_NAME, "partitions": [partition]}],
        [{"node_id": leader_id, "listeners": [listener]}],
    )


def _is_valid(request: DescribeQuorumRequest) -> bool:
    return (
        len(request.topics) == 1
        and request.topics[0].topic_name == CLUSTER_METADATA_TOPIC_NAME
        and [partition.partition_index for partition in request.topics[0].partitions] == [0]
    )


def _unknown(topic: TopicData) -> dict[str, Any]:
    def failed(index: int) -> dict[str, Any]:
        return _partition(index, ErrorCode.unknown_topic_or_partition, _UNKNOWN)

    indexes = [partition.partition_index for partition in topic.partitions]
    return {"topic_name": topic.topic_name, "partitions": Each(failed, indexes)}


def _partition(index: int, code: ErrorCode, message: str) -> dict[str, Any]:
    return {
        "partition_index": index,
        "error_code": code,
        "error_message": message,
        "leader_id": 0,
        "leader_epoch": 0,
        "high_watermark": 0,
        "current_voters": (),
        "observers": (),
    }


def _replica(ctx: RequestContext, broker_id: int) -> dict[str, Any]:
    return {
        "replica_id": broker_id,
        "replica_directory_id": None,
        "log_end_offset": ctx.metadata.decisions,
        "last_fetch_timestamp": ctx.now.wall_ms,
        "last_caught_up_timestamp": ctx.now.wall_ms,
    }
