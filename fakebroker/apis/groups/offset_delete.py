"""OffsetDelete (API key 47), version 0.

Behaviour      Unknown topics and partitions have their own errors. The rest goes to the group's coordinator:
               GROUP_SUBSCRIBED_TO_TOPIC for topics that a member subscribes to. An error of the whole group
               (GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, INVALID_GROUP_ID) replaces all others. Deleting an offset that does
               not exist is no error.
Not done       Nothing.
Source         core/.../server/KafkaApis.scala handleOffsetDeleteRequest; OffsetDeleteResponse.java Builder @ 4.2;
               GroupCoordinatorService.java deleteOffsets @ 4.4 (read out of the released jars).
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import group, in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import GROUP, PARTITION, appends
from fakebroker.apis.groups.topics_to_commit import CommitErrors, partition_answer
from fakebroker.apis.later import Later
from fakebroker.core.groups.offsets.messages import ZERO_ID, TopicErrors, TopicPartitions
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.offset_delete.v0.request import OffsetDeleteRequest
    from kio.static.protocol import ResponsePayload

KEY = 47
_PARTITIONS_OF_A_SLICE: Final = 256


def _answer(version: int, topics: Collection[TopicErrors], code: ErrorCode = ErrorCode.none) -> ResponsePayload:
    values: dict[str, Any] = {"error_code": code, "throttle_time": timedelta(0), "topics": Each(_topic, topics)}
    return build_lazily(response_type(KEY, version), values)


def _topic(topic: TopicErrors) -> dict[str, Any]:
    return {"name": topic.name, "partitions": Each(partition_answer, topic.partitions)}


def error_response(ctx: RequestContext, request: OffsetDeleteRequest, code: ErrorCode) -> None:
    ctx.respond(_answer(ctx.api_version, [], code))


@registry.api(
    KEY,
    0,
    0,
    error_response=error_response,
    authorization=group("DELETE").and_(in_handler("TOPIC READ TOPIC_AUTHORIZATION_FAILED partition")),
    errors=appends(
        f"group {PARTITION}",
        before=f"{GROUP} GROUP_ID_NOT_FOUND NON_EMPTY_GROUP GROUP_SUBSCRIBED_TO_TOPIC UNKNOWN_TOPIC_OR_PARTITION "
        "TOPIC_AUTHORIZATION_FAILED",
    ),
)
def handle(ctx: RequestContext, request: OffsetDeleteRequest) -> Slices[None]:
    version = ctx.api_version
    errors = CommitErrors(by_id=False)
    known: list[TopicPartitions] = []
    looked_at = 0
    for topic in request.topics:
        looked_at += 1
        if looked_at % _PARTITIONS_OF_A_SLICE == 0:
            yield
        there: list[int] = []
        is_known = ctx.metadata.topic(topic.name) is not None
        is_authorized = ctx.is_authorized(AclOperation.READ, ResourceType.TOPIC, topic.name)
        for partition in topic.partitions:
            if not is_authorized:
                code = ErrorCode.topic_authorization_failed
                errors.of(topic.name, ZERO_ID).partitions.append((partition.partition_index, code))
            elif ctx.metadata.find_partition(topic.name, partition.partition_index) is not None:
                there.append(partition.partition_index)
            else:
                errors.of(topic.name, ZERO_ID).partitions.append(
                    (partition.partition_index, ErrorCode.unknown_topic_or_partition)
                )
            looked_at += 1
            if looked_at % _PARTITIONS_OF_A_SLICE == 0:
                yield
        if there:
            known.append(TopicPartitions(topic.name, there))
        elif not is_known or not is_authorized:
            errors.of(topic.name, ZERO_ID)
    yield from errors.merge(known)
    if not request.group_id:
        raise KafkaError(ErrorCode.invalid_group_id, "The configured groupId is invalid.")

    later: Later[list[TopicErrors]] = Later(
        ctx,
        lambda deleted: _answer(version, errors.told(deleted)),
        lambda code: _answer(version, [], code),
    )
    group_id = request.group_id
    ctx.groups.write_in_slices("delete-offsets", group_id, lambda shard: shard.offsets.delete(group_id, known), later)
    yield from later.answer()
