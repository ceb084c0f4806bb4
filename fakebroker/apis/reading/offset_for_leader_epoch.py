"""OffsetForLeaderEpoch (API key 23), versions 2-4: the end of an epoch in the leader's log.

Behaviour      Returns the largest epoch up to the requested one, and the offset at which the next one starts, or the
               log end. Both are -1 if the requested epoch is higher than any. A client with records of that epoch
               beyond that offset has records that the leader does not have. An older leader epoch of the client:
               FENCED_LEADER_EPOCH, a newer one: UNKNOWN_LEADER_EPOCH.
Version notes  v2 the client's leader epoch, throttle time; v3 replica id; v4 flexible.
Source         core/.../server/KafkaApis.scala handleOffsetForLeaderEpochRequest; ReplicaManager.scala
               lastOffsetForLeaderEpoch @ 4.0 (KIP-101, KIP-320)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import EPOCH, LEADER, PARTITION, reads
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.offset_for_leader_epoch.v4.request import (
        OffsetForLeaderEpochRequest,
        OffsetForLeaderPartition,
        OffsetForLeaderTopic,
    )

KEY = 23
_TOPICS_OF_A_SLICE = 128


def _respond(
    ctx: RequestContext,
    topics: Sequence[OffsetForLeaderTopic],
    answer: Callable[[RequestContext, str, OffsetForLeaderPartition], dict[str, Any]],
) -> Slices[None]:
    """Respond with the result of `answer` for each partition."""

    def of_topic(topic: OffsetForLeaderTopic) -> dict[str, Any]:
        return {"topic": topic.topic, "partitions": Each(partial(answer, ctx, topic.topic), topic.partitions)}

    values = {"throttle_time": timedelta(0), "topics": Each(of_topic, topics)}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: OffsetForLeaderEpochRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, request.topics, lambda ctx, topic, requested: _partition(requested.partition, code))


@registry.api(
    KEY,
    2,
    4,
    error_response=error_response,
    authorization=in_handler("CLUSTER CLUSTER_ACTION - request", "TOPIC DESCRIBE TOPIC_AUTHORIZATION_FAILED partition"),
    errors=reads(PARTITION, f"{LEADER} {EPOCH}"),
)
def handle(ctx: RequestContext, request: OffsetForLeaderEpochRequest) -> Slices[None]:
    if ctx.broker.authorizer is None or ctx.is_authorized_for_cluster(AclOperation.CLUSTER_ACTION):
        return _respond(ctx, request.topics, _answer)
    return _handle_in_part(ctx, request)


def _handle_in_part(ctx: RequestContext, request: OffsetForLeaderEpochRequest) -> Slices[None]:
    """Respond for the topics that the client may describe, and with an error for the others, which come last."""
    authorized: list[OffsetForLeaderTopic] = []
    refused: dict[str, OffsetForLeaderTopic] = {}
    for number, topic in enumerate(request.topics, 1):
        if ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.TOPIC, topic.topic):
            authorized.append(topic)
        else:
            refused[topic.topic] = topic
        if number % _TOPICS_OF_A_SLICE == 0:
            yield

    def answer(ctx: RequestContext, topic: str, requested: OffsetForLeaderPartition) -> dict[str, Any]:
        if topic in refused:
            return _partition(requested.partition, ErrorCode.topic_authorization_failed)
        return _answer(ctx, topic, requested)

    yield from _respond(ctx, [*authorized, *refused.values()], answer)


def _answer(ctx: RequestContext, topic: str, requested: OffsetForLeaderPartition) -> dict[str, Any]:
    partition = ctx.metadata.find_partition(topic, requested.partition)
    if partition is None:
        return _partition(requested.partition, ErrorCode.unknown_topic_or_partition)
    try:
        epoch_and_offset = ctx.replicas.last_offset_for_leader_epoch(
            partition, requested.current_leader_epoch, requested.leader_epoch
        )
    except KafkaError as error:
        return _partition(requested.partition, error.code)
    return _partition(requested.partition, ErrorCode.none, *epoch_and_offset)


def _partition(index: int, code: ErrorCode, leader_epoch: int = -1, end_offset: int = -1) -> dict[str, Any]:
    return {"error_code": code, "partition": index, "leader_epoch": leader_epoch, "end_offset": end_offset}
