"""OffsetCommit (API key 8), versions 2-10.

Behaviour      Topics and partitions that are not there are answered one by one; what is left goes to the group's
               coordinator, which takes it or refuses it as a whole: ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID,
               FENCED_INSTANCE_ID, STALE_MEMBER_EPOCH, REBALANCE_IN_PROGRESS, NOT_COORDINATOR,
               COORDINATOR_LOAD_IN_PROGRESS, and COORDINATOR_NOT_AVAILABLE if the replicas do not have it within
               offsets.commit.timeout.ms. Metadata that is too long is OFFSET_METADATA_TOO_LARGE for its partition.
               Without any partition that is there, the coordinator is not asked.
               Who is no member (generation -1) may commit for a group without members, which is made for it.
Version notes  v2-v4 retention_time; v3 throttle_time; v5 without it, offsets are kept while the group has members
               (KIP-211); v6 leader epoch; v7 static members (KIP-345); v8 flexible; v9 KIP-848: GROUP_ID_NOT_FOUND
               where it was ILLEGAL_GENERATION, STALE_MEMBER_EPOCH; v10 topics by id: UNKNOWN_TOPIC_ID.
Not done       Nothing.
Source         core/.../server/KafkaApis.scala handleOffsetCommitRequest; OffsetCommitResponse.java Builder @ 4.2;
               GroupCoordinatorService.java commitOffsets @ 4.4 (read out of the released jars).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.apis.later import Later
from fakebroker.core.groups.offsets.messages import (
    ZERO_ID,
    OffsetCommit,
    OffsetToCommit,
    TopicErrors,
    TopicToCommit,
)
from fakebroker.protocol.build import build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.offset_commit.v10.request import OffsetCommitRequest
    from kio.static.protocol import ResponsePayload

KEY = 8
_TOPIC_IDS_SINCE: Final = 10
_NO_RETENTION: Final = timedelta(milliseconds=-1)
_PARTITIONS_OF_A_SLICE: Final = 256


def _answer(version: int, topics: list[TopicErrors]) -> ResponsePayload:
    values: dict[str, Any] = {
        "throttle_time": timedelta(0),
        "topics": [
            {
                "name": topic.name,
                "topic_id": topic.topic_id,
                "partitions": [{"partition_index": index, "error_code": code} for index, code in topic.partitions],
            }
            for topic in topics
        ],
    }
    return build_lazily(response_type(KEY, version), values)


def _refused(request: OffsetCommitRequest, code: ErrorCode) -> list[TopicErrors]:
    return [
        TopicErrors(
            getattr(topic, "name", ""),
            getattr(topic, "topic_id", None) or ZERO_ID,
            [(partition.partition_index, code) for partition in topic.partitions],
        )
        for topic in request.topics
    ]


def error_response(ctx: RequestContext, request: OffsetCommitRequest, code: ErrorCode) -> Slices[None]:
    return ctx.respond_in_slices(_answer(ctx.api_version, _refused(request, code)))


@registry.api(KEY, 2, 10, error_response=error_response)
def handle(ctx: RequestContext, request: OffsetCommitRequest) -> Slices[None]:
    version = ctx.api_version
    errors = _Answer(by_id=version >= _TOPIC_IDS_SINCE)
    known: list[TopicToCommit] = []
    looked_at = 0
    for topic in request.topics:
        topic_id, name = getattr(topic, "topic_id", None) or ZERO_ID, getattr(topic, "name", "")
        if version >= _TOPIC_IDS_SINCE:
            found = ctx.metadata.topic_by_id(topic_id)
            if found is None:
                errors.add(
                    name, topic_id, [(each.partition_index, ErrorCode.unknown_topic_id) for each in topic.partitions]
                )
                continue
            name = found.name
        else:
            found = ctx.metadata.topic(name)
            topic_id = ZERO_ID if found is None else found.topic_id  # the record has it, whoever commits
        there: list[OffsetToCommit] = []
        for each in topic.partitions:
            if ctx.metadata.find_partition(name, each.partition_index) is None:
                errors.add(name, topic_id, [(each.partition_index, ErrorCode.unknown_topic_or_partition)])
            else:
                there.append(
                    OffsetToCommit(
                        each.partition_index,
                        each.committed_offset,
                        getattr(each, "committed_leader_epoch", -1),
                        each.committed_metadata,
                    )
                )
            looked_at += 1
            if looked_at % _PARTITIONS_OF_A_SLICE == 0:
                yield
        if there:
            known.append(TopicToCommit(name, topic_id, there))
        elif not topic.partitions and found is None:
            errors.add(name, topic_id, [])
    if not known:
        yield from ctx.respond_in_slices(_answer(version, errors.topics))
        return
    commit = OffsetCommit(
        request.group_id,
        request.member_id,
        getattr(request, "group_instance_id", None),
        request.generation_id_or_member_epoch,
        getattr(request, "retention_time", _NO_RETENTION) // timedelta(milliseconds=1),
        version,
        known,
    )
    later: Later[list[TopicErrors]] = Later(
        ctx,
        lambda committed: _answer(version, errors.merge(committed)),
        lambda code: _answer(version, errors.merge(_all(known, code))),
    )
    ctx.groups.write("commit-offset", request.group_id, lambda shard: shard.offsets.commit(commit), later)
    yield from later.answer()


def _all(topics: list[TopicToCommit], code: ErrorCode) -> list[TopicErrors]:
    return [
        TopicErrors(topic.name, topic.topic_id, [(each.partition, code) for each in topic.partitions])
        for topic in topics
    ]


class _Answer:
    """OffsetCommitResponse.Builder: what is known of the same topic goes together, first come, first told."""

    def __init__(self, by_id: bool) -> None:
        self.topics: list[TopicErrors] = []
        self._by_id = by_id
        self._places: dict[str | UUID, TopicErrors] = {}

    def add(self, name: str, topic_id: UUID, partitions: list[tuple[int, ErrorCode]]) -> None:
        key = topic_id if self._by_id else name
        topic = self._places.get(key)
        if topic is None:
            topic = self._places[key] = TopicErrors(name, topic_id, [])
            self.topics.append(topic)
        topic.partitions.extend(partitions)

    def merge(self, committed: list[TopicErrors]) -> list[TopicErrors]:
        """With what the coordinator says; if there is nothing else, as it says it."""
        if not self.topics:
            return committed
        for topic in committed:
            self.add(topic.name, topic.topic_id, topic.partitions)
        return self.topics
