"""CreateTopics (API key 19), versions 2-7.

Behaviour      Each topic on its own: made, or Kafka's error and message; too many partitions in one request fail all.
               -1 partitions or replicas take the broker's default. The same name twice in one request: INVALID_REQUEST
               for it. Any broker may be asked. The answers to duplicates and to `__cluster_metadata` come last.
Version notes  v4 broker defaults by -1; v5 flexible, the answer tells partitions, replicas and all settings (KIP-525);
               v7 topic id.
Not done       The timeout (a topic is there at once); policies.
Source         metadata/.../controller/ReplicationControlManager.java createTopics; ControllerApis.scala createTopics
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.core.controller.topics import NewTopic, Topic
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.topic_name import CLUSTER_METADATA_TOPIC_NAME

if TYPE_CHECKING:
    from kio.schema.create_topics.v7.request import CreatableTopic, CreateTopicsRequest

KEY = 19
_MESSAGE_CHARS = 1000  # a message may quote what the client sent; a string before v5 ends at 32,767 bytes


def _respond(ctx: RequestContext, topics: list[dict[str, Any]]) -> None:
    values = {"throttle_time": timedelta(0), "topics": topics}
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: CreateTopicsRequest, code: ErrorCode) -> None:
    _respond(ctx, [_failed(topic.name, code, None) for topic in request.topics])


@registry.api(KEY, 2, 7, error_response=error_response)
def handle(ctx: RequestContext, request: CreateTopicsRequest) -> None:
    times = Counter(topic.name for topic in request.topics)
    asked = [_new_topic(topic) for topic in request.topics if times[topic.name] == 1]
    try:
        results = ctx.controller.create_topics(asked, ctx.now, request.validate_only)
    except KafkaError as error:
        _respond(ctx, [_failed(topic.name, error.code, error.message) for topic in request.topics])
        return
    answers = [_answer(topic.name, result) for topic, result in zip(asked, results, strict=True)]
    answers += [
        _failed(name, ErrorCode.invalid_request, "Duplicate topic name.") for name, count in times.items() if count > 1
    ]
    answers.sort(key=lambda answer: answer["name"] == CLUSTER_METADATA_TOPIC_NAME)
    _respond(ctx, answers)


def _new_topic(asked: CreatableTopic) -> NewTopic:
    assignments = [(entry.partition_index, tuple(entry.broker_ids)) for entry in asked.assignments]
    configs: dict[str, str | None] = {}
    for config in asked.configs:
        # The last value of a name counts, but Kafka forgives no null.
        if configs.get(config.name, "") is not None:
            configs[config.name] = config.value
    return NewTopic(asked.name, asked.num_partitions, asked.replication_factor, assignments, configs)


def _answer(name: str, result: Topic | KafkaError) -> dict[str, Any]:
    if isinstance(result, KafkaError):
        return _failed(name, result.code, result.message)
    return {
        "name": name,
        "topic_id": result.topic_id,
        "error_code": ErrorCode.none,
        "error_message": None,
        "topic_config_error_code": 0,
        "num_partitions": len(result.partitions),
        "replication_factor": len(result.partitions[0].replica_ids),
        "configs": [
            {
                "name": config.name,
                "value": config.value,
                "read_only": False,
                "config_source": config.source,
                "is_sensitive": False,
            }
            for config in result.effective_configs
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
        "configs": (),
    }


def _shortened(message: str) -> str:
    """The message with its middle left out if it is too long."""
    half = _MESSAGE_CHARS // 2
    return message if len(message) <= _MESSAGE_CHARS else f"{message[:half]}...{message[-half:]}"
