"""OffsetCommit (API key 8), versions 2-10.

Behaviour      Unknown topics and partitions have their own errors. The rest goes to the group's coordinator, which
               accepts or refuses it as a whole: ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
               STALE_MEMBER_EPOCH, REBALANCE_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS. It is
               COORDINATOR_NOT_AVAILABLE if the replicas do not have it within offsets.commit.timeout.ms. Metadata that
               is too long is OFFSET_METADATA_TOO_LARGE for its partition. Without any known partition the coordinator
               is not asked.
               A client that is no member (generation -1) may commit for a group without members, which is created if
               needed.
Version notes  v2-v4 retention_time; v3 throttle_time; v5 without it, offsets are kept while the group has members
               (KIP-211); v6 leader epoch; v7 static members (KIP-345); v8 flexible; v9 KIP-848: GROUP_ID_NOT_FOUND in
               place of ILLEGAL_GENERATION, STALE_MEMBER_EPOCH; v10 topics by id: UNKNOWN_TOPIC_ID.
Not done       Nothing.
Source         core/.../server/KafkaApis.scala handleOffsetCommitRequest; topics_to_commit.py;
               GroupCoordinatorService.java commitOffsets @ 4.4 (read out of the released jars).
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import group, in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import GENERATION, PARTITION_BY_ID, appends
from fakebroker.apis.groups.topics_to_commit import (
    CommitErrors,
    all_failed,
    commit_answer,
    refused,
    topics_to_commit,
)
from fakebroker.apis.later import Later
from fakebroker.core.groups.offsets.messages import OffsetCommit, TopicErrors
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


def _answer(version: int, topics: Collection[TopicErrors]) -> ResponsePayload:
    return build_lazily(response_type(KEY, version), commit_answer(topics))


def error_response(ctx: RequestContext, request: OffsetCommitRequest, code: ErrorCode) -> Slices[None]:
    return ctx.respond_in_slices(_answer(ctx.api_version, refused(request.topics, code)))


@registry.api(
    KEY,
    2,
    10,
    error_response=error_response,
    authorization=group("READ").and_(in_handler("TOPIC READ TOPIC_AUTHORIZATION_FAILED partition")),
    errors=appends(
        f"group member {PARTITION_BY_ID}",
        before=f"{GENERATION} GROUP_ID_NOT_FOUND STALE_MEMBER_EPOCH FENCED_MEMBER_EPOCH REBALANCE_IN_PROGRESS "
        "OFFSET_METADATA_TOO_LARGE INVALID_COMMIT_OFFSET_SIZE UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID "
        "TOPIC_AUTHORIZATION_FAILED UNSUPPORTED_VERSION",
    ),
)
def handle(ctx: RequestContext, request: OffsetCommitRequest) -> Slices[None]:
    version = ctx.api_version
    by_id = version >= _TOPIC_IDS_SINCE
    errors = CommitErrors(by_id)
    known = yield from topics_to_commit(ctx, request.topics, by_id, errors)
    if not known:
        yield from ctx.respond_in_slices(_answer(version, errors.told(())))
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
        lambda committed: _answer(version, errors.told(committed)),
        lambda code: _answer(version, errors.told(all_failed(known, code))),
    )
    ctx.groups.write_in_slices("commit-offset", request.group_id, lambda shard: shard.offsets.commit(commit), later)
    yield from later.answer()
