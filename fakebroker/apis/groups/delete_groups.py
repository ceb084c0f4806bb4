"""DeleteGroups (API key 42), versions 0-3.

Behaviour      Deletes empty groups of any type with all their offsets. A group with members: NON_EMPTY_GROUP, an
               unknown one: GROUP_ID_NOT_FOUND. A group that is named twice has one result. Groups of one partition of
               __consumer_offsets are deleted together. Kafka first checks for share groups by an empty write, which
               waits for all earlier writes. If that fails, nothing is deleted.
Version notes  v2 flexible; v3 error message, which is null for all groups that are served here.
Source         core/.../server/KafkaApis.scala handleDeleteGroupsRequest; GroupCoordinatorService.java deleteGroups,
               deleteShareGroups; GroupCoordinatorShard.java deleteGroups @ 4.4
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import GROUP, appends
from fakebroker.apis.later import Later
from fakebroker.core.groups.deletion import DeletedGroup, delete_groups, share_groups_deleted
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.static.protocol import ResponsePayload

    from fakebroker.protocol.newer.delete_groups_v3 import DeleteGroupsRequest

KEY = 42
_GROUPS_OF_A_SLICE = 256


def _message(version: int, results: list[DeletedGroup]) -> ResponsePayload:
    values = {"throttle_time": timedelta(0), "results": Each(_answer, results)}
    return build_lazily(response_type(KEY, version), values)


def error_response(ctx: RequestContext, request: DeleteGroupsRequest, code: ErrorCode) -> Slices[None]:
    results = [DeletedGroup(group_id, code) for group_id in request.groups_names]
    return ctx.respond_in_slices(_message(ctx.api_version, results))


@registry.api(
    KEY,
    0,
    3,
    error_response=error_response,
    authorization=in_handler("GROUP DELETE GROUP_AUTHORIZATION_FAILED group"),
    errors=appends("group", before=f"{GROUP} GROUP_ID_NOT_FOUND NON_EMPTY_GROUP"),
)
def handle(ctx: RequestContext, request: DeleteGroupsRequest) -> Slices[None]:
    by_partition: dict[int, list[str]] = {}
    refused: list[DeletedGroup] = []
    for number, group_id in enumerate(dict.fromkeys(request.groups_names), 1):
        if ctx.is_authorized(AclOperation.DELETE, ResourceType.GROUP, group_id):
            by_partition.setdefault(ctx.groups.partition_for(group_id), []).append(group_id)
        else:
            refused.append(DeletedGroup(group_id, ErrorCode.group_authorization_failed))
        if number % _GROUPS_OF_A_SLICE == 0:
            yield
    waiting = len(by_partition)
    results: list[DeletedGroup] = []

    def then(group_ids: list[str], response: list[DeletedGroup] | KafkaError) -> None:
        nonlocal waiting, results
        waiting -= 1
        if isinstance(response, KafkaError):
            response = [DeletedGroup(group_id, response.code) for group_id in group_ids]
        results += response
        if waiting == 0:
            later(results + refused)

    def after_share_groups(group_ids: list[str], response: KafkaError | None) -> None:
        if isinstance(response, KafkaError):
            then(group_ids, response)
        else:
            operation = partial(delete_groups, group_ids)
            ctx.groups.write_in_slices("delete-groups", group_ids[0], operation, partial(then, group_ids))

    # Each operation has errors for its own groups, so there is none for all.
    later: Later[list[DeletedGroup]] = Later(
        ctx, partial(_message, ctx.api_version), lambda code: _message(ctx.api_version, [])
    )
    if not by_partition:
        later(refused)
    for group_ids in by_partition.values():
        ctx.groups.write(
            "delete-share-groups", group_ids[0], share_groups_deleted, partial(after_share_groups, group_ids)
        )
        yield
    yield from later.answer()


def _answer(result: DeletedGroup) -> dict[str, Any]:
    return {"group_id": result.group_id, "error_code": result.error_code}
