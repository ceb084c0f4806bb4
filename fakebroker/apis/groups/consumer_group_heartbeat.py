"""ConsumerGroupHeartbeat (API key 68), versions 0-1.

Behaviour      A member of a consumer group (KIP-848) joins, sends a heartbeat, or leaves. Its epoch says which: 0, its
               own, -1, or -2 for a static member that will return. The response has its assignment, if that has changed
               or the member sent a full request. Errors of the request itself come first. The rest is done by the
               group's coordinator, and the response follows once its records are committed. A group of an earlier life
               of the cluster: UNKNOWN_MEMBER_ID until it is created again, so its members join again. A pattern
               matches only topics that the client may describe.
Version notes  v1: a pattern in RE2 syntax (KIP-848), and the client makes its own member id (KIP-1082).
Source         core/.../server/KafkaApis.scala handleConsumerGroupHeartbeat;
               group-coordinator/.../GroupCoordinatorService.java consumerGroupHeartbeat @ 4.4.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import GROUP, appends, because
from fakebroker.core.groups.consumer.heartbeats import validate_heartbeat
from fakebroker.core.groups.consumer.messages import ConsumerHeartbeatRequest, HeartbeatAnswer
from fakebroker.core.groups.consumer.state.member import ReportedPartitions
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.group_records.many_names import MANY, Names, names_in_slices
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.consumer_group_heartbeat.v1.request import ConsumerGroupHeartbeatRequest

KEY = 68

_OF_A_SLICE: Final = 256
_ZERO_ID: Final = UUID(int=0)
_MILLISECOND: Final = timedelta(milliseconds=1)

# Errors with the message of the code that raised them; errors of the coordinator itself have none.
_TOLD_WITH_TEXT: Final = frozenset(
    {
        ErrorCode.fenced_instance_id,
        ErrorCode.fenced_member_epoch,
        ErrorCode.group_id_not_found,
        ErrorCode.group_max_size_reached,
        ErrorCode.invalid_regular_expression,
        ErrorCode.invalid_request,
        ErrorCode.unknown_member_id,
        ErrorCode.unreleased_instance_id,
        ErrorCode.unsupported_assignor,
    }
)


def _respond(ctx: RequestContext, **values: Any) -> None:
    defaults: dict[str, Any] = {
        "throttle_time": timedelta(0),
        "error_code": ErrorCode.none,
        "error_message": None,
        "member_id": None,
        "member_epoch": 0,
        "heartbeat_interval": timedelta(0),
        "assignment": None,
    }
    ctx.respond(build(response_type(KEY, ctx.api_version), defaults | values))


def error_response(ctx: RequestContext, request: ConsumerGroupHeartbeatRequest, code: ErrorCode) -> None:
    _respond(ctx, error_code=code)


@registry.api(
    KEY,
    0,
    1,
    error_response=error_response,
    authorization=in_handler(
        "GROUP READ GROUP_AUTHORIZATION_FAILED request", "TOPIC DESCRIBE TOPIC_AUTHORIZATION_FAILED request"
    ),
    errors=appends(
        "group member",
        before=f"{GROUP} UNKNOWN_MEMBER_ID FENCED_MEMBER_EPOCH FENCED_INSTANCE_ID UNRELEASED_INSTANCE_ID "
        "INVALID_REQUEST UNSUPPORTED_ASSIGNOR GROUP_MAX_SIZE_REACHED INVALID_REGULAR_EXPRESSION "
        "TOPIC_AUTHORIZATION_FAILED UNSUPPORTED_VERSION GROUP_ID_NOT_FOUND",
        not_parts="topic_partitions",
        unseen=because(UNSUPPORTED_VERSION="needs the protocol switched off"),
    ),
)
def handle(ctx: RequestContext, request: ConsumerGroupHeartbeatRequest) -> Slices[None] | None:
    names, owned = request.subscribed_topic_names, request.topic_partitions
    if len(names or ()) > MANY or len(owned or ()) > MANY or ctx.broker.authorizer is not None:
        return _handle_in_slices(ctx, request)
    held = None if owned is None else list(map(_owned, owned))
    _handle(ctx, request, None if names is None else frozenset(names), held)
    return None


def _handle_in_slices(ctx: RequestContext, request: ConsumerGroupHeartbeatRequest) -> Slices[None]:
    _refuse_unserved(ctx)
    refusal = yield from _refusal(ctx, request)
    if refusal is not None:
        _respond(ctx, error_code=refusal)
        return
    names, owned = request.subscribed_topic_names, request.topic_partitions
    known = None if names is None else (yield from names_in_slices(names))
    held: list[ReportedPartitions] | None = None
    if owned is not None:
        held = []
        for topic in owned:
            held.append(_owned(topic))
            if len(held) % _OF_A_SLICE == 0:
                yield
    _handle(ctx, request, known, held)


def _refuse_unserved(ctx: RequestContext) -> None:
    if "consumer" not in ctx.controller.config.group_coordinator_rebalance_protocols:
        raise KafkaError(ErrorCode.unsupported_version, "Consumer groups are not served.")


def _refusal(ctx: RequestContext, request: ConsumerGroupHeartbeatRequest) -> Slices[ErrorCode | None]:
    """Return the error of a client that may not read the group, or not describe one of the topics."""
    if not ctx.is_authorized(AclOperation.READ, ResourceType.GROUP, request.group_id):
        return ErrorCode.group_authorization_failed
    if ctx.broker.authorizer is None:
        return None
    for number, name in enumerate(request.subscribed_topic_names or (), 1):
        if not ctx.is_authorized(AclOperation.DESCRIBE, ResourceType.TOPIC, name):
            return ErrorCode.topic_authorization_failed
        if number % _OF_A_SLICE == 0:
            yield
    return None


def _owned(topic: Any) -> ReportedPartitions:
    return ReportedPartitions(topic.topic_id or _ZERO_ID, topic.partitions)


def _handle(
    ctx: RequestContext,
    request: ConsumerGroupHeartbeatRequest,
    names: Names | None,
    owned: list[ReportedPartitions] | None,
) -> None:
    _refuse_unserved(ctx)
    heartbeat = _as_asked(ctx, request, names, owned)
    try:
        validate_heartbeat(heartbeat, ctx.controller.config.group_consumer_assignors)
    except KafkaError as error:
        _respond(ctx, error_code=error.code, error_message=error.message)
        return

    def answer(came: HeartbeatAnswer | KafkaError) -> None:
        if isinstance(came, KafkaError):
            text = came.message if came.code in _TOLD_WITH_TEXT else None
            _respond(ctx, error_code=came.code, error_message=text)
            return
        _respond(
            ctx,
            member_id=came.member_id,
            member_epoch=came.member_epoch,
            heartbeat_interval=came.heartbeat_interval_ms * _MILLISECOND,
            assignment=(
                None
                if came.assignment is None
                else {"topic_partitions": [topic._asdict() for topic in came.assignment]}
            ),
        )

    ctx.groups.write(
        "consumer-group-heartbeat",
        heartbeat.group_id,
        lambda shard: shard.consumer_groups.heartbeat(heartbeat),
        answer,
    )


def _as_asked(
    ctx: RequestContext,
    request: ConsumerGroupHeartbeatRequest,
    names: Names | None,
    owned: list[ReportedPartitions] | None,
) -> ConsumerHeartbeatRequest:
    return ConsumerHeartbeatRequest(
        version=ctx.api_version,
        group_id=request.group_id,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout // _MILLISECOND,
        topic_names=names,
        topic_regex=getattr(request, "subscribed_topic_regex", None),
        assignor=request.server_assignor,
        owned=owned,
        client_id=ctx.client_id,
        client_host=ctx.client_host,
        may_describe=ctx.later_check(AclOperation.DESCRIBE, ResourceType.TOPIC),
    )
