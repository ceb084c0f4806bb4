"""AddPartitionsToTxn (API key 24), versions 0-5.

Behaviour      A producer says where it is about to write; it is answered when that is replicated in the coordinator's
               log. All or none: if one partition is not there, it is told so and the others OPERATION_NOT_ATTEMPTED;
               topics of the brokers' own are none that producers may write to (TOPIC_AUTHORIZATION_FAILED).
Version notes  v3 flexible; v4 brokers ask for many transactions at once, and may only verify (KIP-890); v5
               TRANSACTION_ABORTABLE may be answered.
Not done       To be silent, as Kafka is, to a broker's request without transactions: it is answered.
Source         core/.../server/KafkaApis.scala handleAddPartitionsToTxnRequest; clients/.../AddPartitionsToTxnRequest
               .java getErrorResponse @ 4.4
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.protocol.answers.transaction_answers import encode_add_partitions_to_txn
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.topic_name import is_internal
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.transactions.by_hand import read_add_partitions
from fakebroker.protocol.transactions.requests import (
    BATCHED_SINCE,
    AddPartitionsRequest,
    read_add_partitions_in_slices,
)

KEY = 24
_FENCED_SINCE: Final = 2
_VERSION_0: Final = 0  # what Kafka notes of a client of before version 2
_VERSION_2: Final = 2

Errors = dict[TopicPartition, ErrorCode]
Topics = list[tuple[str, list[tuple[int, ErrorCode]]]]


class _Asked(NamedTuple):
    """One transaction of the request; topics with their partitions as they stand there."""

    transactional_id: str
    producer: ProducerIdAndEpoch
    verify_only: bool
    topics: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def partitions(self) -> list[TopicPartition]:
        return [TopicPartition(topic, index) for topic, indexes in self.topics for index in indexes]

    def all_failed(self, code: ErrorCode) -> Topics:
        return [(topic, [(index, code) for index in indexes]) for topic, indexes in self.topics]


def _transactions(request: AddPartitionsRequest) -> list[_Asked]:
    return [
        _Asked(
            each.transactional_id,
            ProducerIdAndEpoch(each.producer_id, each.producer_epoch),
            each.verify_only,
            _topics(each.topics),
        )
        for each in request.transactions
    ]


def _topics(topics: Any) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((topic.name, tuple(topic.partitions)) for topic in topics)


def error_response(ctx: RequestContext, request: AddPartitionsRequest, code: ErrorCode) -> None:
    asked = _transactions(request)
    if ctx.api_version >= BATCHED_SINCE:
        _respond(ctx, [], code)
    else:
        _respond(ctx, [(each.transactional_id, each.all_failed(code)) for each in asked])


@registry.api(
    KEY,
    0,
    5,
    error_response=error_response,
    decode=read_add_partitions,
    decode_in_slices=read_add_partitions_in_slices,
)
def handle(ctx: RequestContext, request: AddPartitionsRequest) -> None:
    asked = _transactions(request)
    results: list[tuple[str, Topics]] = []

    def answered(each: _Asked, topics: Topics) -> None:
        results.append((each.transactional_id, topics))
        if len(results) == len(asked):
            _respond(ctx, results)

    for each in asked:
        _ask(ctx, each, answered)
    if not asked:
        _respond(ctx, results)


def _ask(ctx: RequestContext, each: _Asked, answered: Callable[[_Asked, Topics], None]) -> None:
    failed = {tp: code for tp in each.partitions if (code := _refused(ctx, tp)) is not ErrorCode.none}
    if failed:
        answered(each, _by_topic(dict.fromkeys(each.partitions, ErrorCode.operation_not_attempted) | failed))
        return
    partitions = frozenset(each.partitions)
    coordinator = ctx.transactions.coordinator
    if each.verify_only:
        answered(each, _by_topic(coordinator.verify_partitions(each.transactional_id, each.producer, partitions)))
        return
    version = _VERSION_0 if ctx.api_version < BATCHED_SINCE else _VERSION_2
    coordinator.add_partitions(
        each.transactional_id,
        each.producer,
        partitions,
        version,
        lambda error: answered(each, each.all_failed(_known(ctx, error))),
    )


def _refused(ctx: RequestContext, partition: TopicPartition) -> ErrorCode:
    """What producers may not write to is not theirs, and brokers may; what is not there cannot be added."""
    if ctx.api_version < BATCHED_SINCE and is_internal(partition.topic):
        return ErrorCode.topic_authorization_failed
    is_there = ctx.metadata.find_partition(*partition) is not None
    return ErrorCode.none if is_there else ErrorCode.unknown_topic_or_partition


def _known(ctx: RequestContext, error: ErrorCode) -> ErrorCode:
    """Who does not know an error of now is told one of before."""
    if error is ErrorCode.producer_fenced and ctx.api_version < _FENCED_SINCE:
        return ErrorCode.invalid_producer_epoch
    return error


def _by_topic(errors: Errors) -> Topics:
    by_topic: dict[str, list[tuple[int, ErrorCode]]] = {}
    for (topic, index), error in errors.items():
        by_topic.setdefault(topic, []).append((index, error))
    return list(by_topic.items())


def _respond(ctx: RequestContext, results: Sequence[tuple[str, Topics]], code: ErrorCode = ErrorCode.none) -> None:
    if ctx.api_version < BATCHED_SINCE:
        topics = [topic for _, topics in results for topic in topics]
        ctx.respond_frame(encode_add_partitions_to_txn(ctx.api_version, ctx.correlation_id, ctx.throttle(), topics))
        return
    values: dict[str, Any] = {
        "throttle_time": timedelta(0),
        "error_code": code,
        "results_by_transaction": [
            {
                "transactional_id": transactional_id,
                "topic_results": [
                    {
                        "name": topic,
                        "results_by_partition": [
                            {"partition_index": index, "partition_error_code": error} for index, error in partitions
                        ],
                    }
                    for topic, partitions in topics
                ],
            }
            for transactional_id, topics in results
        ],
    }
    ctx.respond(build(response_type(KEY, ctx.api_version), values))
