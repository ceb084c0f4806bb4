"""CreateTopics (API key 19), versions 2-7.

Behaviour      Each topic on its own: made, or Kafka's error and message. -1 partitions or replicas take the broker's
               default. The same name twice in one request: INVALID_REQUEST for it. Any broker may be asked.
Version notes  v4 broker defaults by -1; v5 flexible, the answer tells partitions, replicas and configs (KIP-525);
               v7 topic id.
Not done       The timeout (a topic is there at once); policies; configs are told as they were given, without defaults.
Source         metadata/.../controller/ReplicationControlManager.java createTopics; ControllerApis.scala
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

from fakebroker.apis import registry
from fakebroker.apis.context import Message, NewTopic, RequestContext
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type

KEY = 19
_DYNAMIC_TOPIC_CONFIG = 1
_MESSAGE_CHARS = 1000  # a message may quote what the client sent; a string before v5 ends at 32,767 bytes


def _respond(ctx: RequestContext, topics: list[dict[str, Any]]) -> None:
    values = {"throttle_time": timedelta(0), "topics": topics}
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: Message, code: ErrorCode) -> None:
    _respond(ctx, [_failed(topic.name, code, None) for topic in request.topics])


@registry.api(KEY, 2, 7, error_response=error_response)
def handle(ctx: RequestContext, request: Message) -> None:
    times = Counter(topic.name for topic in request.topics)
    answers = []
    for asked in {topic.name: topic for topic in request.topics}.values():
        if times[asked.name] > 1:
            answers.append(_failed(asked.name, ErrorCode.invalid_request, "Duplicate topic name."))
            continue
        try:
            answers.append(_create(ctx, asked, request.validate_only))
        except KafkaError as error:
            answers.append(_failed(asked.name, error.code, error.message))
    _respond(ctx, answers)


def _create(ctx: RequestContext, asked: Message, validate_only: bool) -> dict[str, Any]:
    assignments = {entry.partition_index: tuple(entry.broker_ids) for entry in asked.assignments}
    if len(assignments) != len(asked.assignments):
        raise KafkaError(ErrorCode.invalid_replica_assignment, "The manual assignment names a partition twice.")
    configs = {config.name: config.value for config in asked.configs}
    topic = ctx.create_topic(
        NewTopic(asked.name, asked.num_partitions, asked.replication_factor, assignments, configs), validate_only
    )
    return {
        "name": topic.name,
        "topic_id": None if validate_only else topic.topic_id,
        "error_code": ErrorCode.none,
        "error_message": None,
        "topic_config_error_code": 0,
        "num_partitions": len(topic.partitions),
        "replication_factor": len(topic.partitions[0].replica_ids),
        "configs": [
            {
                "name": name,
                "value": value,
                "read_only": False,
                "config_source": _DYNAMIC_TOPIC_CONFIG,
                "is_sensitive": False,
            }
            for name, value in configs.items()
        ],
    }


def _failed(name: str, code: ErrorCode, message: str | None) -> dict[str, Any]:
    return {
        "name": name,
        "topic_id": None,
        "error_code": code,
        "error_message": message and _shortened(message),
        "topic_config_error_code": 0,
        "num_partitions": -1,
        "replication_factor": -1,
        "configs": None,
    }


def _shortened(message: str) -> str:
    """The message with its middle left out if it is too long."""
    half = _MESSAGE_CHARS // 2
    return message if len(message) <= _MESSAGE_CHARS else f"{message[:half]}...{message[-half:]}"
