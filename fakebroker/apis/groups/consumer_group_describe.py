"""ConsumerGroupDescribe (API key 69), versions 0-1.

Behaviour      Returns of each group its state, its epochs and its members with their current and target assignment, as
               of the committed records. An unknown group, or one of another type: GROUP_ID_NOT_FOUND. Groups that
               the client may not describe come first in the response, then empty ids, then the groups of each partition
               of __consumer_offsets. A group with an assigned topic that the client may not describe:
               TOPIC_AUTHORIZATION_FAILED.
Version notes  v1: of each member whether it uses the classic protocol (KIP-1099).
Source         core/.../server/KafkaApis.scala handleConsumerGroupDescribe;
               group-coordinator/.../GroupCoordinatorService.java consumerGroupDescribe @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import GROUP, UNANSWERED, because, reads
from fakebroker.core.groups.consumer.messages import DescribedConsumerGroup, DescribedConsumerMember, NamedPartitions
from fakebroker.core.groups.shard import GroupCoordinatorShard
from fakebroker.core.hash_order import partition_order
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.core.security.authorized_operations import NOT_REQUESTED
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_name import GROUP_METADATA_TOPIC_NAME

if TYPE_CHECKING:
    from kio.schema.consumer_group_describe.v1.request import ConsumerGroupDescribeRequest

KEY = 69

_GROUPS_OF_A_SLICE: Final = 32

# The id of a requested group, and its description or error.
_Found = tuple[str, "DescribedConsumerGroup | KafkaError"]


def _respond(ctx: RequestContext, groups: Sequence[_Found], wants_operations: bool) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "groups": Each(partial(_group, ctx, wants_operations), groups)}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: ConsumerGroupDescribeRequest, code: ErrorCode) -> Slices[None]:
    """Respond with the same error for each group."""
    error = KafkaError(code, "")
    return _respond(ctx, [(group_id, error) for group_id in request.group_ids], False)


@registry.api(
    KEY,
    0,
    1,
    error_response=error_response,
    authorization=in_handler(
        "GROUP DESCRIBE GROUP_AUTHORIZATION_FAILED group", "TOPIC DESCRIBE TOPIC_AUTHORIZATION_FAILED group"
    ),
    errors=reads(
        "group",
        f"{GROUP} GROUP_ID_NOT_FOUND INVALID_REQUEST UNSUPPORTED_VERSION TOPIC_AUTHORIZATION_FAILED",
        not_parts="members",
        unseen=because(UNSUPPORTED_VERSION="needs the protocol switched off", INVALID_REQUEST=UNANSWERED),
    ),
)
def handle(ctx: RequestContext, request: ConsumerGroupDescribeRequest) -> Slices[None]:
    if "consumer" not in ctx.controller.config.group_coordinator_rebalance_protocols:
        raise KafkaError(ErrorCode.unsupported_version, "Consumer groups are not served.")
    refused: list[_Found] = []
    groups: list[_Found] = []
    by_partition: dict[int, list[str]] = {}
    group_ids: tuple[str, ...] = request.group_ids
    for number, group_id in enumerate(group_ids, 1):
        if not ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.GROUP, group_id):
            refused.append((group_id, KafkaError(ErrorCode.group_authorization_failed, "")))
        elif group_id:
            by_partition.setdefault(ctx.groups.partition_for(group_id), []).append(group_id)
        else:
            groups.append((group_id, KafkaError(ErrorCode.invalid_group_id, "")))
        if number % _GROUPS_OF_A_SLICE == 0:
            yield
    for index in partition_order(GROUP_METADATA_TOPIC_NAME, by_partition):
        for group_id in by_partition[index]:
            ctx.groups.read(
                "consumer-group-describe",
                group_id,
                partial(_describe, group_id),
                _noted(groups, group_id),
            )
            if len(groups) % _GROUPS_OF_A_SLICE == 0:
                yield
    if ctx.broker.authorizer is not None:
        groups = yield from _with_topics_authorized(ctx, groups)
    yield from _respond(ctx, refused + groups, request.include_authorized_operations)


def _with_topics_authorized(ctx: RequestContext, groups: list[_Found]) -> Slices[list[_Found]]:
    """Replace the groups with an assigned topic that the client may not describe by an error."""
    error = KafkaError(
        ErrorCode.topic_authorization_failed,
        "The group has described topic(s) that the client is not authorized to describe.",
    )
    decisions: dict[str, bool] = {}
    checked: list[_Found] = []
    for number, (group_id, group) in enumerate(groups, 1):
        if number % _GROUPS_OF_A_SLICE == 0:
            yield
        is_authorized = True
        for member in () if isinstance(group, KafkaError) else group.members:
            for topic in (*member.assignment, *member.target):
                name = topic.topic_name
                if name not in decisions:
                    decisions[name] = ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.TOPIC, name)
                is_authorized = is_authorized and decisions[name]
            yield
        checked.append((group_id, group if is_authorized else error))
    return checked


def _describe(group_id: str, shard: GroupCoordinatorShard, committed_offset: int) -> DescribedConsumerGroup:
    return shard.consumer_groups.describe(group_id, committed_offset)


def _noted(groups: list[_Found], group_id: str) -> Callable[[DescribedConsumerGroup | KafkaError], None]:
    """Return a callback that stores the description of a group. Reads complete at once."""

    def note(came: DescribedConsumerGroup | KafkaError) -> None:
        groups.append((group_id, came))

    return note


def _group(ctx: RequestContext, wants_operations: bool, group: _Found) -> dict[str, Any]:
    group_id, described = group
    if isinstance(described, KafkaError):
        is_told_why = described.code in (ErrorCode.group_id_not_found, ErrorCode.topic_authorization_failed)
        return {
            "error_code": described.code,
            "error_message": described.message if is_told_why else None,
            "group_id": group_id,
            "group_state": "",
            "group_epoch": 0,
            "assignment_epoch": 0,
            "assignor_name": "",
            "members": (),
            "authorized_operations": NOT_REQUESTED,
        }
    return {
        "error_code": ErrorCode.none,
        "error_message": None,
        "group_id": group_id,
        "group_state": described.state,
        "group_epoch": described.epoch,
        "assignment_epoch": described.assignment_epoch,
        "assignor_name": described.assignor,
        "members": Each(_member, described.members),
        "authorized_operations": (
            ctx.authorized_operations(ResourceType.GROUP, group_id) if wants_operations else NOT_REQUESTED
        ),
    }


def _member(member: DescribedConsumerMember) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "member_epoch": member.member_epoch,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": tuple(member.topic_names),
        "subscribed_topic_regex": member.topic_regex,
        "assignment": {"topic_partitions": Each(_partitions, member.assignment)},
        "target_assignment": {"topic_partitions": Each(_partitions, member.target)},
        "member_type": 0 if member.is_classic else 1,
    }


def _partitions(topic: NamedPartitions) -> dict[str, Any]:
    return {"topic_id": topic.topic_id, "topic_name": topic.topic_name, "partitions": tuple(topic.partitions)}
