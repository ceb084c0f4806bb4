"""Metadata (API key 3), versions 0-13.

Behaviour      The brokers that run; the topics asked for, or all (null; in v0: an empty list). An unknown topic is made
               if broker and request allow it, and is answered UNKNOWN_TOPIC_OR_PARTITION this once, as a KRaft cluster
               does: the client asks again and finds it. A name that cannot be one: INVALID_TOPIC_EXCEPTION. A
               partition that nobody leads: LEADER_NOT_AVAILABLE, leader -1. Replicas and ISR are told whether or not
               their brokers run (in v0 too: KRaft knows the address of a broker that is fenced).
Version notes  v1 rack, controller, internal flag, null for all topics; v2 cluster id; v4 the request may forbid
               creation (below, it is allowed); v5 offline replicas; v7 leader epoch; v8-v10 authorized operations;
               v9 flexible; v10 topic ids in answers; v12 topics by id; v13 top-level error (KIP-1102).
Not done       Authorized operations are not computed (no authorizer): the "not requested" value is sent.
Source         core/.../server/KafkaApis.scala handleTopicMetadataRequest, DefaultAutoTopicCreationManager.scala,
               KRaftMetadataCache.scala getPartitionMetadata
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from fakebroker.apis import registry
from fakebroker.apis.context import Message, NewTopic, RequestContext, TopicView
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type

KEY = 3


def _respond(ctx: RequestContext, topics: list[dict[str, Any]]) -> None:
    values = {
        "throttle_time": timedelta(0),
        "brokers": [broker._asdict() for broker in ctx.cluster.brokers()],
        "cluster_id": ctx.cluster.cluster_id,
        "controller_id": ctx.cluster.controller_id,
        "topics": topics,
        "error_code": ErrorCode.none,
    }
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: Message, code: ErrorCode) -> None:
    _respond(ctx, [_unknown(topic.name or "", code) for topic in request.topics or ()])


@registry.api(KEY, 0, 13, error_response=error_response)
def handle(ctx: RequestContext, request: Message) -> None:
    wants_all = not request.topics if ctx.api_version == 0 else request.topics is None
    if wants_all:
        names = ctx.cluster.topic_names()
        _respond(ctx, [_known(topic) for name in names if (topic := ctx.cluster.topic(name)) is not None])
        return
    if 10 <= ctx.api_version < 12 and any(topic.topic_id is not None or topic.name is None for topic in request.topics):
        # Kafka: topic ids are in the schema from v10 but may be used from v12 only.
        _respond(ctx, [_unknown(topic.name or "", ErrorCode.invalid_request) for topic in request.topics])
        return
    may_create = ctx.cluster.auto_create_topics_enable and (
        ctx.api_version < 4 or bool(request.allow_auto_topic_creation)
    )
    answers = []
    for asked in request.topics:
        topic_id = getattr(asked, "topic_id", None)
        if asked.name is None and topic_id is None:
            answers.append(_unknown("", ErrorCode.invalid_request))
        elif asked.name is None:
            topic = ctx.cluster.topic_by_id(cast(UUID, topic_id))
            answers.append(
                _known(topic) if topic else _unknown(None, ErrorCode.unknown_topic_id) | {"topic_id": topic_id}
            )
        else:
            topic = ctx.cluster.topic(asked.name)
            answers.append(_known(topic) if topic else _unknown(asked.name, _missing(ctx, asked.name, may_create)))
    _respond(ctx, answers)


def _missing(ctx: RequestContext, name: str, may_create: bool) -> ErrorCode:
    try:
        ctx.create_topic(NewTopic(name), validate_only=not may_create)
    except KafkaError as error:
        return error.code
    return ErrorCode.unknown_topic_or_partition


def _unknown(name: str | None, code: ErrorCode) -> dict[str, Any]:
    return {"error_code": code, "name": name, "topic_id": None, "is_internal": False, "partitions": []}


def _known(topic: TopicView) -> dict[str, Any]:
    return {
        "error_code": ErrorCode.none,
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": False,
        "partitions": [
            {
                "error_code": ErrorCode.none if partition.leader_id >= 0 else ErrorCode.leader_not_available,
                "partition_index": index,
                "leader_id": partition.leader_id,
                "leader_epoch": partition.leader_epoch,
                "replica_nodes": tuple(partition.replica_ids),
                "isr_nodes": tuple(partition.isr_ids),
                "offline_replicas": tuple(partition.offline_ids),
            }
            for index, partition in enumerate(topic.partitions)
        ],
    }
