"""Metadata (API key 3), versions 0-13.

Behaviour      Returns the running brokers, and the requested topics or all (null; in v0: an empty list). If any topic
               is requested by id, names are ignored. An unknown topic is created if broker and request allow it, and
               gets UNKNOWN_TOPIC_OR_PARTITION this once, as in a KRaft cluster, whatever the outcome: the client
               retries. A topic that the client may not describe: TOPIC_AUTHORIZATION_FAILED; it is left out where all
               are requested. An invalid name: INVALID_TOPIC_EXCEPTION. The response has the unknown ids first, then the
               known topics, then the unknown names, each once, and refused ones last. A partition without a leader:
               LEADER_NOT_AVAILABLE, leader -1. Replicas and ISR include stopped brokers, except in v0. That has no list
               of offline replicas, so it leaves them out and sets REPLICA_NOT_AVAILABLE.
               The set of topics is fixed first, and each topic is encoded at its turn. One that is deleted in between
               is encoded as it last was. Kafka uses an immutable image.
Version notes  v1 rack, controller, internal flag, null for all topics; v2 cluster id; v4 the request may forbid
               creation (below, it is allowed); v5 offline replicas; v7 leader epoch; v8 authorized operations (of the
               cluster to v10 only); v9 flexible; v10 topic ids in responses; v12 topics by id; v13 top-level error
               (KIP-1102).
Not done       Internal topics are created with the brokers' defaults, not with their coordinators' settings.
Source         core/.../server/KafkaApis.scala handleTopicMetadataRequest, DefaultAutoTopicCreationManager.scala;
               KRaftMetadataCache.scala getPartitionMetadata; clients/.../requests/MetadataRequest.java getErrorResponse
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.authorized_cluster import cluster_operations
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import KNOWN, because, reads
from fakebroker.core.controller.auto_creation import creatable_topic
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.controller.topics import MAX_PARTITIONS_PER_BATCH, NewTopic, Topic
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.core.security.authorized_operations import NOT_REQUESTED
from fakebroker.protocol import topic_name
from fakebroker.protocol.answers.metadata_answer import MetadataAnswer
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.messages import decode_request, response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.metadata.v13.request import MetadataRequest
    from kio.static.protocol import RequestPayload

KEY = 3
_LISTENERS_SINCE = 6  # the version from which on a missing listener has an error of its own
_LOOKUPS_OF_A_SLICE = 512
_TOLD_IN_A_SLICE = 128  # topics and partitions
_REMEMBERED = 64  # decoded requests in the cache
_SMALL_BODY = 512  # bytes of a request that is worth caching


def error_response(ctx: RequestContext, request: MetadataRequest, code: ErrorCode) -> Slices[None]:
    values = {
        "throttle_time": timedelta(0),
        "brokers": (),
        "cluster_id": None,
        "controller_id": -1,
        "topics": Each(
            lambda topic: _without_partitions(topic.name or "", getattr(topic, "topic_id", None), code),
            request.topics or (),
        ),
        "error_code": code,
    }
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def read_metadata_request(version: int, frame: bytes | LargeFrame, offset: int) -> Any:
    """Decode a request, from a cache if possible: clients repeat requests, and many send the same."""
    whole = frame if isinstance(frame, bytes) else frame.join()
    body = whole[offset:]
    return _remembered(version, body) if len(body) <= _SMALL_BODY else decode_request(KEY, version, body, 0)


@lru_cache(maxsize=_REMEMBERED)
def _remembered(version: int, body: bytes) -> RequestPayload:
    return decode_request(KEY, version, body, 0)


@registry.api(
    KEY,
    0,
    13,
    error_response=error_response,
    decode=read_metadata_request,
    authorization=in_handler(
        "TOPIC DESCRIBE TOPIC_AUTHORIZATION_FAILED topic",
        "CLUSTER CREATE - topic",
        "TOPIC CREATE TOPIC_AUTHORIZATION_FAILED topic",
        "CLUSTER DESCRIBE - operations",
    ),
    errors=reads(
        "topic topic_id",
        "LEADER_NOT_AVAILABLE UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID INVALID_TOPIC_EXCEPTION "
        "TOPIC_AUTHORIZATION_FAILED LISTENER_NOT_FOUND INVALID_REPLICATION_FACTOR REBOOTSTRAP_REQUIRED "
        "REPLICA_NOT_AVAILABLE INVALID_REQUEST",
        not_parts="partitions",
        unseen=because(INVALID_REPLICATION_FACTOR=KNOWN, REBOOTSTRAP_REQUIRED="for proxies in front of Kafka"),
    ),
)
def handle(ctx: RequestContext, request: MetadataRequest) -> Slices[None]:
    ids, names = yield from _asked_for(ctx, request)
    unknown_ids: list[UUID] = []
    known: list[Topic] = []
    missing: list[str] = []
    refused: list[UUID | str] = []
    names_all = request.topics is None or (ctx.api_version == 0 and not request.topics)
    for id_ in ids:
        if (topic := ctx.metadata.topic_by_id(id_)) is None:
            unknown_ids.append(id_)
        elif ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.TOPIC, topic.name):
            known.append(topic)
        else:
            refused.append(id_)
        if (len(known) + len(unknown_ids) + len(refused)) % _LOOKUPS_OF_A_SLICE == 0:
            yield
    for number, name in enumerate(names, 1):
        if not ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.TOPIC, name):
            if not names_all:
                refused.append(name)
        elif (topic := ctx.metadata.topic(name)) is None:
            missing.append(name)
        else:
            known.append(topic)
        if number % _LOOKUPS_OF_A_SLICE == 0:
            yield
    not_creatable: list[str] = []
    if ctx.controller.config.auto_create_topics_enable and getattr(request, "allow_auto_topic_creation", True):
        missing, not_creatable = yield from _creatable(ctx, missing)
        yield from _create(ctx, missing)
    wants_cluster_operations = getattr(request, "include_cluster_authorized_operations", False)
    wants_topic_operations = getattr(request, "include_topic_authorized_operations", False)
    asked_for: list[UUID | Topic | str] = [*unknown_ids, *known, *missing]
    metadata = ctx.metadata
    is_registered = metadata.is_registered(ctx.listener)
    answer = MetadataAnswer(
        ctx.api_version,
        ctx.correlation_id,
        ctx.throttle(),
        metadata.alive_brokers(ctx.listener),
        metadata.cluster_id,
        metadata.controller_id,
        len(asked_for) + len(not_creatable) + len(refused),
    )
    entries = 0
    for topic_asked in asked_for:
        operations = _operations(ctx, topic_asked) if wants_topic_operations else NOT_REQUESTED
        partitions = _tell_topic(answer, topic_asked, operations)
        entries += 1
        if wants_topic_operations and ctx.broker.authorizer is not None:  # some 30 us each
            yield
        for partition in partitions:
            _tell_partition(answer, ctx.api_version, metadata, partition, is_registered)
            entries += 1
            if entries % _TOLD_IN_A_SLICE == 0:
                yield
        if entries % _TOLD_IN_A_SLICE == 0:
            yield
    _tell_refused(answer, not_creatable, refused)
    operations = cluster_operations(ctx) if wants_cluster_operations else NOT_REQUESTED
    ctx.respond_frame(answer.whole(operations))


def _asked_for(ctx: RequestContext, request: MetadataRequest) -> Slices[tuple[Iterable[UUID], Iterable[str]]]:
    """Return the ids, or else the names, to respond to, each once. For all topics the present names are fixed now, even
    if some topics are deleted meanwhile."""
    topics = request.topics
    if topics is None or (ctx.api_version == 0 and not topics):
        return (), ctx.metadata.topic_names()
    ids: dict[UUID, None] = {}
    names: dict[str, None] = {}
    is_one_without_name = False
    for number, topic in enumerate(topics, 1):
        if (id_ := getattr(topic, "topic_id", None)) is not None:
            ids[id_] = None
        if topic.name is None:
            is_one_without_name = True
        else:
            names[topic.name] = None
        if number % _LOOKUPS_OF_A_SLICE == 0:
            yield
    if ctx.api_version < 12 and (ids or is_one_without_name):
        # The schema has both from v10 on, but they may be used from v12 on only.
        raise KafkaError(ErrorCode.invalid_request, f"A topic is requested by name only in version {ctx.api_version}")
    if ids:
        return ids, ()
    if is_one_without_name:
        # Kafka fails here with a NullPointerException in Topic.validate.
        raise KafkaError(ErrorCode.unknown_server_error, "A topic is requested without name and id.")
    return (), names


def _creatable(ctx: RequestContext, names: list[str]) -> Slices[tuple[list[str], list[str]]]:
    """Return the names of topics that the client may create, and the others."""
    if ctx.broker.authorizer is None or ctx.is_authorized_for_cluster(AclOperation.CREATE):
        return names, []
    creatable: list[str] = []
    others: list[str] = []
    for number, name in enumerate(names, 1):
        is_creatable = ctx.is_authorized(AclOperation.CREATE, ResourceType.TOPIC, name)
        (creatable if is_creatable else others).append(name)
        if number % _LOOKUPS_OF_A_SLICE == 0:
            yield
    return creatable, others


def _operations(ctx: RequestContext, topic: UUID | Topic | str) -> int:
    if isinstance(topic, UUID):
        return NOT_REQUESTED
    return ctx.authorized_operations(ResourceType.TOPIC, topic.name if isinstance(topic, Topic) else topic)


def _create(ctx: RequestContext, names: Sequence[str]) -> Slices[None]:
    """Send one CreateTopics request to the controller. The outcome is ignored."""
    new: list[NewTopic] = []
    for number, name in enumerate(names, 1):
        if topic_name.is_valid(name):
            new.append(creatable_topic(name, ctx.controller.config))
            if len(new) > MAX_PARTITIONS_PER_BATCH:
                return  # the controller would refuse the whole request
        if number % _LOOKUPS_OF_A_SLICE == 0:
            yield
    with suppress(KafkaError):
        yield from ctx.controller.create_topics_in_slices(new, lambda: ctx.now)


def _tell_topic(answer: MetadataAnswer, topic: UUID | Topic | str, operations: int) -> Sequence[Partition]:
    """Add an unknown id, a topic, or an unknown name to the response. Return the partitions to add next."""
    if isinstance(topic, UUID):
        answer.topic(ErrorCode.unknown_topic_id, None, topic, False, 0, NOT_REQUESTED)
        return ()
    if isinstance(topic, Topic):
        partitions = tuple(topic.partitions)
        is_internal = topic_name.is_internal(topic.name)
        answer.topic(ErrorCode.none, topic.name, topic.topic_id, is_internal, len(partitions), operations)
        return partitions
    valid = topic_name.is_valid(topic)
    code = ErrorCode.unknown_topic_or_partition if valid else ErrorCode.invalid_topic_exception
    answer.topic(code, topic, None, topic_name.is_internal(topic), 0, operations)
    return ()


def _tell_refused(answer: MetadataAnswer, not_creatable: Sequence[str], refused: Sequence[UUID | str]) -> None:
    """Add the topics that the client may not create, then those that it may not see."""
    code = ErrorCode.topic_authorization_failed
    for name in not_creatable:
        answer.topic(code, name, None, topic_name.is_internal(name), 0, NOT_REQUESTED)
    for topic in refused:
        if isinstance(topic, UUID):
            answer.topic(code, None, topic, False, 0, NOT_REQUESTED)
        else:
            answer.topic(code, topic, None, False, 0, NOT_REQUESTED)


def _without_partitions(name: str | None, topic_id: UUID | None, code: ErrorCode) -> dict[str, Any]:
    return {"error_code": code, "name": name, "topic_id": topic_id, "is_internal": False, "partitions": []}


def _tell_partition(
    answer: MetadataAnswer, version: int, metadata: MetadataCache, partition: Partition, is_registered: bool
) -> None:
    """Add a partition. No broker has an address for clients of a listener that is not registered."""
    offline = metadata.offline_ids(partition) if is_registered else list(partition.replica_ids)
    code = ErrorCode.none
    replicas, isr = tuple(partition.replica_ids), metadata.isr_ids(partition)
    if version == 0 and offline:
        code = ErrorCode.replica_not_available
        replicas = tuple(id_ for id_ in replicas if id_ not in offline)
        isr = tuple(id_ for id_ in isr if id_ not in offline)
    leader_id = partition.leader_id
    if leader_id < 0:
        code = ErrorCode.leader_not_available
    elif not is_registered:
        code = ErrorCode.listener_not_found if version >= _LISTENERS_SINCE else ErrorCode.leader_not_available
        leader_id = NO_LEADER
    index = partition.topic_partition.partition
    answer.partition(code, index, leader_id, partition.leader_epoch, replicas, isr, tuple(offline))
