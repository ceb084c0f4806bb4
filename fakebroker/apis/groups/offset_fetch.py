"""OffsetFetch (API key 9), versions 1-10.

Behaviour      The committed offsets of some partitions, or of all that a group has (topics null). What is not
               committed, and the partitions of a group or topic that is not there, have offset -1 and no error. An
               error is the group's: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, UNKNOWN_MEMBER_ID,
               STALE_MEMBER_EPOCH.
               With require_stable what is not committed to the replicas is waited for, instead of being told as of
               before: as long as a commit waits, then NOT_COORDINATOR; and where a transaction has written an offset
               and is not over, it is UNSTABLE_OFFSET_COMMIT.
Version notes  v1 the error stands in each partition; v2 all topics, an error of the group; v3 throttle_time; v5 leader
               epoch; v6 flexible; v7 require_stable (KIP-447); v8 many groups (KIP-709); v9 member id and epoch
               (KIP-848); v10 topics by id, UNKNOWN_TOPIC_ID for one by one, and topics that are gone are left out where
               all are asked for.
Source         core/.../server/KafkaApis.scala handleOffsetFetchRequest, fetchAllOffsetsForGroup,
               fetchOffsetsForGroup; OffsetFetchResponse.java groupError @ 4.2; GroupCoordinatorService.java
               fetchOffsets, handleOffsetFetchException @ 4.4 (read out of the released jars).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.apis.later import Later
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.coordinator.timeline import LATEST
from fakebroker.core.groups.offsets.messages import ZERO_ID, FetchedOffset, FetchedTopic, OffsetFetch, TopicToFetch
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
_TOPICS_OF_A_SLICE: Final = 128


class _Group(NamedTuple):
    """What is told of one."""

    group_id: str
    topics: list[FetchedTopic]
    error: ErrorCode = ErrorCode.none


def _answer(version: int, groups: list[_Group]) -> ResponsePayload:
    values: dict[str, Any] = {"throttle_time": timedelta(0)}
    if version >= _GROUPS_SINCE:
        values["groups"] = [
            {"group_id": group.group_id, "error_code": group.error, "topics": _topics(group)} for group in groups
        ]
    else:
        [group] = groups
        values |= {"error_code": group.error, "topics": _topics(group)}
    return build_lazily(response_type(KEY, version), values)


def _topics(group: _Group) -> Each[dict[str, Any]]:
    return Each(_topic, group.topics)


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


def _asked(version: int, request: OffsetFetchRequest) -> list[OffsetFetch]:
    """By group; before v8 there is one."""
    groups: Any = request.groups if version >= _GROUPS_SINCE else [request]
    return [
        OffsetFetch(
            group.group_id,
            getattr(group, "member_id", None),
            getattr(group, "member_epoch", -1),
            None
            if group.topics is None
            else [
                TopicToFetch(
                    getattr(topic, "name", ""), getattr(topic, "topic_id", None) or ZERO_ID, topic.partition_indexes
                )
                for topic in group.topics
            ],
        )
        for group in groups
    ]


def _group_error(version: int, asked: OffsetFetch, code: ErrorCode) -> _Group:
    """OffsetFetchResponse.groupError."""
    if version >= _GROUP_ERROR_SINCE:
        return _Group(asked.group_id, [], code)
    return _Group(
        asked.group_id,
        [
            FetchedTopic(topic.name, ZERO_ID, [FetchedOffset(partition, error=code) for partition in topic.partitions])
            for topic in asked.topics or ()
        ],
    )


def error_response(ctx: RequestContext, request: OffsetFetchRequest, code: ErrorCode) -> Slices[None]:
    version = ctx.api_version
    groups = [_group_error(version, asked, code) for asked in _asked(version, request)]
    return ctx.respond_in_slices(_answer(version, groups))


@registry.api(KEY, 1, 10, error_response=error_response)
def handle(ctx: RequestContext, request: OffsetFetchRequest) -> Slices[None]:
    version = ctx.api_version
    asked = _asked(version, request)
    groups: list[_Group | None] = [None] * len(asked)
    require_stable = getattr(request, "require_stable", False)
    later: Later[list[_Group]] = Later(
        ctx,
        lambda answers: _answer(version, answers),
        lambda code: _answer(version, [_group_error(version, of, code) for of in asked]),
    )
    left = len(asked)

    def collect(place: int, group: _Group) -> None:
        nonlocal left
        groups[place] = group
        left -= 1
        if not left:
            later([each for each in groups if each is not None])

    for place, fetch in enumerate(asked):
        yield from _fetch(ctx, fetch, require_stable, _collector(collect, place))
    if not asked:
        later([])
    yield from later.answer()


def _collector(collect: Callable[[int, _Group], None], place: int) -> Callable[[_Group], None]:
    return lambda group: collect(place, group)


def _fetch(
    ctx: RequestContext, asked: OffsetFetch, require_stable: bool, then: Callable[[_Group], None]
) -> Slices[None]:
    version = ctx.api_version
    by_id = version >= _TOPIC_IDS_SINCE
    unknown: list[FetchedTopic] = []
    wanted = asked
    if asked.topics is not None and by_id:
        known: list[TopicToFetch] = []
        for number, topic in enumerate(asked.topics, 1):
            found = ctx.metadata.topic_by_id(topic.topic_id)
            if found is None:
                errors = [FetchedOffset(each, error=ErrorCode.unknown_topic_id) for each in topic.partitions]
                unknown.append(FetchedTopic("", topic.topic_id, errors))
            else:
                known.append(topic._replace(name=found.name))
            if number % _TOPICS_OF_A_SLICE == 0:
                yield
        wanted = asked._replace(topics=known)

    def fetched(topics: list[FetchedTopic] | KafkaError) -> None:
        if isinstance(topics, KafkaError):
            code = topics.code
            if require_stable and code is ErrorCode.coordinator_not_available:
                code = ErrorCode.not_coordinator
            then(_group_error(version, asked, code))
        elif asked.topics is None and by_id:
            then(_Group(asked.group_id, _with_ids(ctx, topics)))
        else:
            then(_Group(asked.group_id, topics + unknown))

    if require_stable:
        ctx.groups.write(
            "fetch-offsets",
            asked.group_id,
            lambda shard: CoordinatorResult((), shard.offsets.fetch(wanted, LATEST)),
            fetched,
        )
    else:
        ctx.groups.read(
            "fetch-offsets", asked.group_id, lambda shard, committed: shard.offsets.fetch(wanted, committed), fetched
        )


def _with_ids(ctx: RequestContext, topics: list[FetchedTopic]) -> list[FetchedTopic]:
    """Those that are still there."""
    found: list[FetchedTopic] = []
    for topic in topics:
        known = ctx.metadata.topic(topic.name)
        if known is not None:
            found.append(topic._replace(topic_id=known.topic_id))
    return found
