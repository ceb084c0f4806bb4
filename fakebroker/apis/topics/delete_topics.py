"""DeleteTopics (API key 20), versions 1-6.

Behaviour      Handles each topic independently. Requests parked for a deleted topic get UNKNOWN_TOPIC_OR_PARTITION. An
               unknown name: UNKNOWN_TOPIC_OR_PARTITION, an unknown id: UNKNOWN_TOPIC_ID. The same topic twice, by name,
               by id or by both: INVALID_REQUEST once, and it is not deleted. Any broker accepts the request. A timeout
               of 0 or less: REQUEST_TIMED_OUT for all, unless there is nothing to look up.
Version notes  v4 flexible; v5 error message, THROTTLING_QUOTA_EXCEEDED (KIP-599), below the client is muted; v6 by name
               or by id.
Not done       A timeout above 0 (a topic is deleted at once); delete.topic.enable.
Source         core/.../server/ControllerApis.scala deleteTopics; metadata/.../ReplicationControlManager.java
               deleteTopics
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CHANGED, TOPIC_ADMIN, UNANSWERED, because, changes
from fakebroker.apis.no_time import has_no_time
from fakebroker.core.controller.topics import Topic
from fakebroker.core.quota.controller_mutation import ControllerMutationQuota
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.core.security.error_texts import ERROR_TEXTS
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.delete_topics.v6.request import DeleteTopicsRequest

KEY = 20
_STRICT_SINCE = 5
_UNAUTHORIZED = ErrorCode.topic_authorization_failed
_TOPICS_OF_A_SLICE = 256  # looked up; each deletion is a slice

T = TypeVar("T", str, UUID)

_UNKNOWN_NAME = "This server does not host this topic-partition."
_UNKNOWN_ID = "This server does not host this topic ID."


def _respond(ctx: RequestContext, responses: list[dict[str, Any]] | Each[dict[str, Any]]) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "responses": responses}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: DeleteTopicsRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, Each(lambda name_and_id: _result(*name_and_id, code, None), list(_asked(request))))


def _asked(request: DeleteTopicsRequest) -> Iterator[tuple[str | None, UUID | None]]:
    """Return (name, id) of each topic; a valid request has exactly one of the two."""
    if hasattr(request, "topic_names"):
        return ((name, None) for name in request.topic_names)
    return ((topic.name, topic.topic_id) for topic in request.topics)


@registry.api(
    KEY,
    1,
    6,
    error_response=error_response,
    authorization=in_handler(
        "CLUSTER DELETE - topic",
        "TOPIC DESCRIBE TOPIC_AUTHORIZATION_FAILED topic",
        "TOPIC DELETE TOPIC_AUTHORIZATION_FAILED topic",
    ),
    errors=changes(
        "topic topic_id",
        before=f"{TOPIC_ADMIN} TOPIC_DELETION_DISABLED UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID",
        after=CHANGED,
        unseen=because(
            POLICY_VIOLATION=UNANSWERED,
            INVALID_TOPIC_EXCEPTION=UNANSWERED,
            TOPIC_DELETION_DISABLED="needs delete.topic.enable=false",
        ),
    ),
)
def handle(ctx: RequestContext, request: DeleteTopicsRequest) -> Slices[None]:
    responses: list[dict[str, Any]] = []

    def refuse(name: str | None, topic_id: UUID | None, message: str) -> None:
        responses.append(_result(name, topic_id, ErrorCode.invalid_request, message))

    names: dict[str, int] = {}  # count of each name
    ids: dict[UUID, int] = {}
    for number, (name, topic_id) in enumerate(_asked(request), 1):
        if name is not None and topic_id is not None:
            refuse(name, topic_id, "You may not specify both topic name and topic id.")
        elif name is not None:
            names[name] = names.get(name, 0) + 1
        elif topic_id is not None:
            ids[topic_id] = ids.get(topic_id, 0) + 1
        else:
            refuse(None, None, "Neither topic name nor id were specified.")
        if number % _TOPICS_OF_A_SLICE == 0:
            yield
    for number, name in enumerate(_repeated(names), 1):
        refuse(name, None, "Duplicate topic name.")
        if number % _TOPICS_OF_A_SLICE == 0:
            yield
    for number, repeated_id in enumerate(_repeated(ids), 1):
        refuse(None, repeated_id, "Duplicate topic id.")
        if number % _TOPICS_OF_A_SLICE == 0:
            yield

    if has_no_time(request.timeout) and (any(True for _ in _once(names)) or any(True for _ in _once(ids))):
        yield from error_response(ctx, request, ErrorCode.request_timed_out)
        return
    to_delete: dict[UUID, Topic] = {}
    has_cluster = ctx.broker.authorizer is None or ctx.is_authorized_for_cluster(AclOperation.DELETE)
    for number, known_id in enumerate(_once(ids), 1):
        topic = ctx.metadata.topic_by_id(known_id)
        if topic is None:
            responses.append(_result(None, known_id, ErrorCode.unknown_topic_id, _UNKNOWN_ID))
        elif not has_cluster and not _may(ctx, AclOperation.DELETE, topic.name):
            visible_name = topic.name if _may(ctx, AclOperation.DESCRIBE, topic.name) else None
            responses.append(_result(visible_name, known_id, _UNAUTHORIZED, ERROR_TEXTS[_UNAUTHORIZED]))
        else:
            to_delete[known_id] = topic
        if number % _TOPICS_OF_A_SLICE == 0:
            yield
    for number, name in enumerate(_once(names), 1):
        topic = ctx.metadata.topic(name)
        if not has_cluster and not _may(ctx, AclOperation.DESCRIBE, name):
            responses.append(_result(name, None, _UNAUTHORIZED, ERROR_TEXTS[_UNAUTHORIZED]))
        elif topic is None:
            responses.append(_result(name, None, ErrorCode.unknown_topic_or_partition, _UNKNOWN_NAME))
        elif not has_cluster and not _may(ctx, AclOperation.DELETE, name):
            responses.append(_result(name, None, _UNAUTHORIZED, ERROR_TEXTS[_UNAUTHORIZED]))
        elif topic.topic_id in ids:
            to_delete.pop(topic.topic_id, None)
            refuse(name, topic.topic_id, "The provided topic name maps to an ID that was already supplied.")
        else:
            to_delete[topic.topic_id] = topic
        if number % _TOPICS_OF_A_SLICE == 0:
            yield
    quota = ctx.mutation_quota(_STRICT_SINCE)
    for topic in to_delete.values():
        responses.append((yield from _delete(ctx, topic, quota)))
        yield
    ctx.throttle(at_least_ms=quota.throttle_time_ms(ctx.now_ms))
    yield from _respond(ctx, responses)


def _may(ctx: RequestContext, operation: AclOperation, name: str) -> bool:
    return ctx.is_authorized(operation, ResourceType.TOPIC, name)


def _delete(ctx: RequestContext, topic: Topic, quota: ControllerMutationQuota) -> Slices[dict[str, Any]]:
    try:
        if ctx.metadata.topic_by_id(topic.topic_id) is None:  # deleted meanwhile by another request
            raise KafkaError(ErrorCode.unknown_topic_id, _UNKNOWN_ID)
        quota.record(len(topic.partitions), ctx.now_ms)
        yield from ctx.controller.delete_topic_in_slices(topic.name)
    except KafkaError as error:
        return _result(topic.name, topic.topic_id, error.code, error.message or None)
    return _result(topic.name, topic.topic_id, ErrorCode.none, None)


def _repeated(counts: dict[T, int]) -> Iterator[T]:
    return (item for item, times in counts.items() if times > 1)


def _once(counts: dict[T, int]) -> Iterator[T]:
    return (item for item, times in counts.items() if times == 1)


def _result(name: str | None, topic_id: UUID | None, code: ErrorCode, message: str | None) -> dict[str, Any]:
    return {"name": name, "topic_id": topic_id, "error_code": code, "error_message": message}
