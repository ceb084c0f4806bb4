"""DescribeProducers (API key 61), version 0: the idempotent producers that a partition knows (KIP-664).

Behaviour      Returns the producers of each partition with a replica at this broker, leader or not: epoch, last
               sequence and last timestamp, until they expire (producer.id.expiration.ms). An invalid name:
               INVALID_TOPIC_EXCEPTION, an unknown one: UNKNOWN_TOPIC_OR_PARTITION, both with a message; an unknown
               partition: the same without one; no replica here: NOT_LEADER_OR_FOLLOWER.
Source         core/.../server/KafkaApis.scala handleDescribeProducersRequest; ReplicaManager.scala activeProducerState;
               UnifiedLog activeProducers @ 4.0
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import LEADER, PARTITION, reads
from fakebroker.core.log.producer_state import ProducerStateManager
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.core.security.error_texts import ERROR_TEXTS
from fakebroker.protocol import topic_name
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.describe_producers.v0.request import DescribeProducersRequest, TopicRequest

KEY = 61
_UNKNOWN = "This server does not host this topic-partition."


def _respond(
    ctx: RequestContext, request: DescribeProducersRequest, answer: Callable[[TopicRequest, int], dict[str, Any]]
) -> Slices[None]:
    """Respond with the result of `answer` for each partition."""

    def of_topic(topic: TopicRequest) -> dict[str, Any]:
        return {"name": topic.name, "partitions": Each(partial(answer, topic), topic.partition_indexes)}

    values = {"throttle_time": timedelta(0), "topics": Each(of_topic, request.topics)}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: DescribeProducersRequest, code: ErrorCode) -> Slices[None]:
    return _respond(ctx, request, lambda topic, index: _failed(index, code))


@registry.api(
    KEY,
    0,
    0,
    error_response=error_response,
    authorization=in_handler("TOPIC READ TOPIC_AUTHORIZATION_FAILED partition"),
    errors=reads(PARTITION, f"{LEADER} INVALID_TOPIC_EXCEPTION"),
)
def handle(ctx: RequestContext, request: DescribeProducersRequest) -> Slices[None]:
    return _respond(ctx, request, partial(_answer, ctx))


def _answer(ctx: RequestContext, topic: TopicRequest, index: int) -> dict[str, Any]:
    try:
        topic_name.validate(topic.name)
    except KafkaError as error:
        return _failed(index, error.code, error.message)
    if not ctx.is_authorized(AclOperation.READ, ResourceType.TOPIC, topic.name):
        code = ErrorCode.topic_authorization_failed
        return _failed(index, code, ERROR_TEXTS[code])
    if ctx.metadata.topic(topic.name) is None:
        return _failed(index, ErrorCode.unknown_topic_or_partition, _UNKNOWN)
    partition = ctx.metadata.find_partition(topic.name, index)
    if partition is None:
        return _failed(index, ErrorCode.unknown_topic_or_partition)
    replica = partition.replicas.get(ctx.broker.broker_id)
    if replica is None:
        return _failed(index, ErrorCode.not_leader_or_follower)
    state = replica.log.producer_state
    return _failed(index, ErrorCode.none) | {"active_producers": Each(partial(_producer, state), state.producer_ids)}


def _producer(state: ProducerStateManager, producer_id: int) -> dict[str, Any]:
    entry = state.last_entry(producer_id)
    assert entry is not None
    return {
        "producer_id": producer_id,
        "producer_epoch": entry.producer_epoch,
        "last_sequence": entry.last_sequence,
        "last_timestamp": entry.last_timestamp_ms,
        "coordinator_epoch": entry.coordinator_epoch,
        "current_txn_start_offset": entry.current_txn_first_offset,
    }


def _failed(index: int, code: ErrorCode, message: str | None = None) -> dict[str, Any]:
    return {"partition_index": index, "error_code": code, "error_message": message, "active_producers": ()}
