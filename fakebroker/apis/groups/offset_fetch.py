"""OffsetFetch (API key 9), versions 1-10.

Behaviour      Returns the committed offsets of some partitions, or all of a group (topics null). Partitions without a
               committed offset, and those of unknown groups or topics, have offset -1 and no error. Errors belong to
               the group: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH.
               With require_stable the response waits for commits that are not replicated yet, as long as a commit may
               take, then NOT_COORDINATOR. An offset of an open transaction: UNSTABLE_OFFSET_COMMIT. Without
               require_stable the older offset is returned.
Version notes  v1 the error is in each partition; v2 all topics, an error of the group; v3 throttle_time; v5 leader
               epoch; v6 flexible; v7 require_stable (KIP-447); v8 many groups (KIP-709); v9 member id and epoch
               (KIP-848); v10 topics by id: UNKNOWN_TOPIC_ID for a requested one; deleted topics are left out if all are
               requested.
Source         core/.../server/KafkaApis.scala handleOffsetFetchRequest, fetchAllOffsetsForGroup, fetchOffsetsForGroup;
               OffsetFetchResponse.java groupError @ 4.2; GroupCoordinatorService.java fetchOffsets,
               handleOffsetFetchException @ 4.4 (read out of the released jars).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import GROUP, PARTITION_BY_ID, UNANSWERED, because, reads
from fakebroker.apis.later import Later
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.coordinator.timeline import LATEST
from fakebroker.core.groups.offsets.messages import ZERO_ID, FetchedOffset, FetchedTopic, OffsetFetch, TopicToFetch
from fakebroker.core.groups.shard import GroupCoordinatorShard
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.offset_fetch.v10.request import OffsetFetchRequest
    from kio.static.protocol import ResponsePayload

KEY = 9
_GROUP_ERROR_SINCE: Final = 2
_GROUPS_SINCE: Final = 8
_TOPIC_IDS_SINCE: Final = 10
_GROUPS_OF_A_SLICE: Final = 16  # some 15 us each
_TOPICS_OF_A_SLICE: Final = 128


class _Group(NamedTuple):
    """The response for a group."""

    group_id: str
    topics: Collection[FetchedTopic]
    error: ErrorCode = ErrorCode.none


def _answer(version: int, groups: Collection[_Group]) -> ResponsePayload:
    values: dict[str, Any] = {"throttle_time": timedelta(0)}
    if version >= _GROUPS_SINCE:
        values["groups"] = Each(_group, groups)
    else:
        [group] = groups
        values |= {"error_code": group.error, "topics": Each(_topic, group.topics)}
    return build_lazily(response_type(KEY, version), values)


def _group(group: _Group) -> dict[str, Any]:
    return {"group_id": group.group_id, "error_code": group.error, "topics": Each(_topic, group.topics)}


def _topic(topic: FetchedTopic) -> dict[str, Any]:
    return {"name": topic.name, "topic_id": topic.topic_id, "partitions": Each(_partition, topic.partitions)}


def _partition(fetched: FetchedOffset) -> dict[str, Any]:
    return {
        "partition_index": fetched.partition,
        "committed_offset": fetched.offset,
        "committed_leader_epoch": fetched.leader_epoch,
        "metadata": fetched.metadata,
        "error_code": fetched.error,
    }


def _asked(version: int, request: OffsetFetchRequest) -> Sequence[Any]:
    """Return the groups of the request; before v8 it is one."""
    return request.groups if version >= _GROUPS_SINCE else [request]


def _topic_to_fetch(topic: Any) -> TopicToFetch:
    return TopicToFetch(
        getattr(topic, "name", ""), getattr(topic, "topic_id", None) or ZERO_ID, topic.partition_indexes
    )


def _failed(topic: TopicToFetch, code: ErrorCode) -> FetchedTopic:
    return FetchedTopic(
        topic.name, topic.topic_id, Each(lambda partition: FetchedOffset(partition, error=code), topic.partitions)
    )


def _group_error(version: int, group: Any, code: ErrorCode) -> _Group:
    """Return OffsetFetchResponse.groupError."""
    if version >= _GROUP_ERROR_SINCE:
        return _Group(group.group_id, (), code)
    return _Group(group.group_id, Each(lambda topic: _failed(_topic_to_fetch(topic), code), group.topics))


def error_response(ctx: RequestContext, request: OffsetFetchRequest, code: ErrorCode) -> Slices[None]:
    version = ctx.api_version
    groups = Each(lambda group: _group_error(version, group, code), _asked(version, request))
    return ctx.respond_in_slices(_answer(version, groups))


@registry.api(
    KEY,
    1,
    10,
    error_response=error_response,
    authorization=in_handler(
        "GROUP DESCRIBE GROUP_AUTHORIZATION_FAILED group", "TOPIC DESCRIBE TOPIC_AUTHORIZATION_FAILED partition"
    ),
    errors=reads(
        f"group {PARTITION_BY_ID}",
        f"{GROUP} GROUP_ID_NOT_FOUND UNKNOWN_MEMBER_ID STALE_MEMBER_EPOCH UNSTABLE_OFFSET_COMMIT "
        "UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID TOPIC_AUTHORIZATION_FAILED",
        unseen=because(UNKNOWN_TOPIC_OR_PARTITION=UNANSWERED),
    ),
)
def handle(ctx: RequestContext, request: OffsetFetchRequest) -> Slices[None]:
    version = ctx.api_version
    requested = _asked(version, request)
    groups: dict[int, _Group] = {}
    require_stable = getattr(request, "require_stable", False)
    later: Later[list[_Group]] = Later(
        ctx,
        lambda answers: _answer(version, answers),
        lambda code: _answer(version, Each(lambda group: _group_error(version, group, code), requested)),
    )

    def collect(place: int, group: _Group) -> None:
        groups[place] = group
        if len(groups) == len(requested):
            later([groups[index] for index in range(len(requested))])

    for place, group in enumerate(requested):
        yield from _fetch(ctx, group, require_stable, partial(collect, place))
        if place % _GROUPS_OF_A_SLICE == _GROUPS_OF_A_SLICE - 1:
            yield
    if not requested:
        later([])
    yield from later.answer()


def _fetch(ctx: RequestContext, group: Any, require_stable: bool, then: Callable[[_Group], None]) -> Slices[None]:
    version = ctx.api_version
    if not ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id):
        then(_group_error(version, group, ErrorCode.group_authorization_failed))
        return
    by_id = version >= _TOPIC_IDS_SINCE
    unknown: list[FetchedTopic] = []
    topics: list[TopicToFetch] | None = None
    if group.topics is not None:
        topics = []
        for number, requested_topic in enumerate(group.topics, 1):
            topic = _topic_to_fetch(requested_topic)
            existing = ctx.metadata.topic_by_id(topic.topic_id) if by_id else None
            if existing is not None:
                topic = topic._replace(name=existing.name)
            if by_id and existing is None:
                unknown.append(_failed(topic, ErrorCode.unknown_topic_id))
            elif not ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.TOPIC, topic.name):
                unknown.append(_failed(topic, ErrorCode.topic_authorization_failed))
            else:
                topics.append(topic)
            if number % _TOPICS_OF_A_SLICE == 0:
                yield
    offset_fetch = OffsetFetch(
        group.group_id, getattr(group, "member_id", None), getattr(group, "member_epoch", -1), topics
    )

    def fetch(shard: GroupCoordinatorShard, epoch: int) -> Slices[list[FetchedTopic]]:
        offsets = shard.offsets.fetch(offset_fetch, epoch)
        if topics is None and ctx.broker.authorizer is not None:
            offsets = _authorized(ctx, offsets)
        return _with_ids(ctx, offsets) if topics is None and by_id else offsets

    def fetch_stable(shard: GroupCoordinatorShard) -> Slices[CoordinatorResult[list[FetchedTopic]]]:
        return CoordinatorResult((), (yield from fetch(shard, LATEST)))

    def fetched(offsets: list[FetchedTopic] | KafkaError) -> None:
        if isinstance(offsets, KafkaError):
            code = offsets.code
            if require_stable and code is ErrorCode.coordinator_not_available:
                code = ErrorCode.not_coordinator
            then(_group_error(version, group, code))
        else:
            then(_Group(offset_fetch.group_id, offsets + unknown))

    if require_stable:
        ctx.groups.write_in_slices("fetch-offsets", offset_fetch.group_id, fetch_stable, fetched)
    else:
        ctx.groups.read_in_slices("fetch-offsets", offset_fetch.group_id, fetch, fetched)


def _authorized(ctx: RequestContext, topics: Slices[list[FetchedTopic]]) -> Slices[list[FetchedTopic]]:
    """Return the topics that the client may describe."""
    authorized: list[FetchedTopic] = []
    for number, topic in enumerate((yield from topics), 1):
        if ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.TOPIC, topic.name):
            authorized.append(topic)
        if number % _TOPICS_OF_A_SLICE == 0:
            yield
    return authorized


def _with_ids(ctx: RequestContext, topics: Slices[list[FetchedTopic]]) -> Slices[list[FetchedTopic]]:
    """Return the topics that still exist."""
    existing: list[FetchedTopic] = []
    for number, topic in enumerate((yield from topics), 1):
        known = ctx.metadata.topic(topic.name)
        if known is not None:
            existing.append(topic._replace(topic_id=known.topic_id))
        if number % _TOPICS_OF_A_SLICE == 0:
            yield
    return existing
