"""DescribeGroups (API key 15), versions 0-6.

Behaviour      Returns classic groups, each as of the committed offset: state and members, with their metadata and
               assignment while the group is stable. An unknown group, or one of another type, is Dead.
Version notes  v3 authorized operations (KIP-430); v4 instance ids; v5 flexible; v6 an unknown group is
               GROUP_ID_NOT_FOUND, with a message (KIP-1043).
Source         core/.../server/KafkaApis.scala handleDescribeGroupsRequest; GroupCoordinatorService.java describeGroups;
               GroupMetadataManager.java describeGroups @ 4.2
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import GROUP, reads
from fakebroker.core.groups.classic.messages import DescribedGroup, DescribedMember
from fakebroker.core.groups.shard import GroupCoordinatorShard
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.core.security.authorized_operations import NOT_REQUESTED
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.describe_groups.v6.request import DescribeGroupsRequest

KEY = 15


def _respond(ctx: RequestContext, wants_operations: bool, groups: list[DescribedGroup]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "groups": Each(partial(_answer, ctx, wants_operations), groups)}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: DescribeGroupsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, False, [DescribedGroup(code, group_id) for group_id in request.groups])


@registry.api(
    KEY,
    0,
    6,
    error_response=error_response,
    authorization=in_handler("GROUP DESCRIBE GROUP_AUTHORIZATION_FAILED group"),
    errors=reads("group", f"{GROUP} GROUP_ID_NOT_FOUND", not_parts="members"),
)
def handle(ctx: RequestContext, request: DescribeGroupsRequest) -> Slices[None]:
    refused: list[DescribedGroup] = []
    groups: list[DescribedGroup] = []
    is_missing_told = ctx.api_version >= 6
    for group_id in request.groups:
        if not ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.GROUP, group_id):
            refused.append(DescribedGroup(ErrorCode.group_authorization_failed, group_id))
            yield
            continue
        results: list[DescribedGroup | KafkaError] = []
        ctx.groups.read(
            "describe-groups",
            group_id,
            partial(_describe, group_id, is_missing_told),
            results.append,
        )
        while not results:
            yield
        described = results[0]
        groups.append(DescribedGroup(described.code, group_id) if isinstance(described, KafkaError) else described)
        yield
    yield from _respond(ctx, getattr(request, "include_authorized_operations", False), refused + groups)


def _describe(group_id: str, is_missing_told: bool, shard: GroupCoordinatorShard, offset: int) -> DescribedGroup:
    return shard.classic.describe(group_id, offset, is_missing_told)


def _answer(ctx: RequestContext, wants_operations: bool, group: DescribedGroup) -> dict[str, Any]:
    operations = NOT_REQUESTED
    if wants_operations and group.error_code is ErrorCode.none:
        operations = ctx.authorized_operations(ResourceType.GROUP, group.group_id)
    return {
        "error_code": group.error_code,
        "error_message": group.error_message,
        "group_id": group.group_id,
        "group_state": group.state,
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol_data,
        "members": Each(_member, group.members),
        "authorized_operations": operations,
    }


def _member(member: DescribedMember) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "member_metadata": member.metadata,
        "member_assignment": member.assignment,
    }
