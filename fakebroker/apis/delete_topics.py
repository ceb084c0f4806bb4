"""DeleteTopics (API key 20), versions 1-6.

Behaviour      Each topic on its own. Who waits for a deleted topic is answered UNKNOWN_TOPIC_OR_PARTITION. An unknown
               name: UNKNOWN_TOPIC_OR_PARTITION, an unknown id: UNKNOWN_TOPIC_ID. The same topic twice, by name, by id
               or by both: INVALID_REQUEST once, and it is not deleted. Any broker may be asked.
Version notes  v4 flexible; v5 error message; v6 by name or by id.
Not done       The timeout (a topic is gone at once); delete.topic.enable.
Source         core/.../server/ControllerApis.scala deleteTopics; metadata/.../ReplicationControlManager.java
               deleteTopics
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.core.controller.topics import Topic
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.delete_topics.v6.request import DeleteTopicsRequest

KEY = 20

T = TypeVar("T", str, UUID)

_UNKNOWN_NAME = "This server does not host this topic-partition."
_UNKNOWN_ID = "This server does not host this topic ID."


def _respond(ctx: RequestContext, responses: list[dict[str, Any]]) -> None:
    values = {"throttle_time": timedelta(0), "responses": responses}
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: DeleteTopicsRequest, code: ErrorCode) -> None:
    _respond(ctx, [_result(name, topic_id, code, None) for name, topic_id in _asked(request)])


def _asked(request: DeleteTopicsRequest) -> list[tuple[str | None, UUID | None]]:
    """(name, id) of each topic; one of them is None, if the client does as it should."""
    if hasattr(request, "topic_names"):
        return [(name, None) for name in request.topic_names]
    return [(topic.name, topic.topic_id) for topic in request.topics]


@registry.api(KEY, 1, 6, error_response=error_response)
def handle(ctx: RequestContext, request: DeleteTopicsRequest) -> None:
    responses: list[dict[str, Any]] = []

    def refuse(name: str | None, topic_id: UUID | None, message: str) -> None:
        responses.append(_result(name, topic_id, ErrorCode.invalid_request, message))

    names: list[str] = []
    ids: list[UUID] = []
    for name, topic_id in _asked(request):
        if name is not None and topic_id is not None:
            refuse(name, topic_id, "You may not specify both topic name and topic id.")
        elif name is not None:
            names.append(name)
        elif topic_id is not None:
            ids.append(topic_id)
        else:
            refuse(None, None, "Neither topic name nor id were specified.")
    for name in _repeated(names):
        refuse(name, None, "Duplicate topic name.")
    for repeated_id in _repeated(ids):
        refuse(None, repeated_id, "Duplicate topic id.")

    found: dict[UUID, Topic] = {}
    given_ids = set(ids)
    for known_id in _once(ids):
        topic = ctx.metadata.topic_by_id(known_id)
        if topic is None:
            responses.append(_result(None, known_id, ErrorCode.unknown_topic_id, _UNKNOWN_ID))
        else:
            found[known_id] = topic
    for name in _once(names):
        topic = ctx.metadata.topic(name)
        if topic is None:
            responses.append(_result(name, None, ErrorCode.unknown_topic_or_partition, _UNKNOWN_NAME))
        elif topic.topic_id in given_ids:
            found.pop(topic.topic_id, None)
            refuse(name, topic.topic_id, "The provided topic name maps to an ID that was already supplied.")
        else:
            found[topic.topic_id] = topic
    responses += [_delete(ctx, topic) for topic in found.values()]
    _respond(ctx, responses)


def _delete(ctx: RequestContext, topic: Topic) -> dict[str, Any]:
    try:
        ctx.controller.delete_topic(topic.name)
    except KafkaError as error:
        return _result(topic.name, topic.topic_id, error.code, error.message)
    return _result(topic.name, topic.topic_id, ErrorCode.none, None)


def _repeated(items: list[T]) -> list[T]:
    return [item for item, times in Counter(items).items() if times > 1]


def _once(items: list[T]) -> list[T]:
    return [item for item, times in Counter(items).items() if times == 1]


def _result(name: str | None, topic_id: UUID | None, code: ErrorCode, message: str | None) -> dict[str, Any]:
    return {"name": name, "topic_id": topic_id, "error_code": code, "error_message": message}
