"""ListGroups (API key 16), versions 0-5.

Behaviour      Returns the groups of all types that this broker coordinates, as of the committed offset. Filters ignore
               case. While some of its partitions load, the whole response has that error.
Version notes  v3 flexible; v4 states, and a filter by them (KIP-518); v5 types, and a filter by them (KIP-848).
Not done       Authorization.
Source         core/.../server/KafkaApis.scala handleListGroupsRequest; GroupCoordinatorService.java listGroups;
               GroupMetadataManager.java listGroups @ 4.2
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import COORDINATOR, reads
from fakebroker.core.groups.coordinator import operation_error
from fakebroker.core.groups.group import ListedGroup
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.list_groups.v5.request import ListGroupsRequest

KEY = 16
_GROUPS_OF_A_SLICE = 128


def _respond(ctx: RequestContext, code: ErrorCode, groups: list[ListedGroup]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "error_code": code, "groups": Each(_answer, groups)}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: ListGroupsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, code, [])


@registry.api(
    KEY,
    0,
    5,
    error_response=error_response,
    authorization=in_handler("CLUSTER DESCRIBE - group", "GROUP DESCRIBE - group"),
    errors=reads("", f"{COORDINATOR} CLUSTER_AUTHORIZATION_FAILED"),
)
def handle(ctx: RequestContext, request: ListGroupsRequest) -> Slices[None]:
    is_all_allowed = ctx.broker.authorizer is None or ctx.is_authorized_for_cluster(AclOperation.DESCRIBE)
    states = getattr(request, "states_filter", ())
    types = getattr(request, "types_filter", ())
    listings: list[list[ListedGroup] | KafkaError] = []
    is_told = False

    def then(listed: list[list[ListedGroup] | KafkaError]) -> None:
        nonlocal is_told
        is_told = True
        listings.extend(listed)

    ctx.groups.read_all("list-groups", lambda shard, offset: shard.groups.list_groups(states, types, offset), then)
    while not is_told:
        yield
    groups: list[ListedGroup] = []
    for listing in listings:
        if not isinstance(listing, KafkaError):
            groups += listing
        elif listing.code is not ErrorCode.not_coordinator:
            yield from _respond(ctx, operation_error(listing).code, [])
            return
        yield
    if not is_all_allowed:
        groups = yield from _authorized(ctx, groups)
    yield from _respond(ctx, ErrorCode.none, groups)


def _authorized(ctx: RequestContext, groups: list[ListedGroup]) -> Slices[list[ListedGroup]]:
    """Return the groups that the client may describe."""
    authorized: list[ListedGroup] = []
    for number, group in enumerate(groups, 1):
        if ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id):
            authorized.append(group)
        if number % _GROUPS_OF_A_SLICE == 0:
            yield
    return authorized


def _answer(group: ListedGroup) -> dict[str, Any]:
    return {
        "group_id": group.group_id,
        "protocol_type": group.protocol_type,
        "group_state": group.state,
        "group_type": group.type,
    }
