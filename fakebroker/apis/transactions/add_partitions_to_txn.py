"""AddPartitionsToTxn (API key 24), versions 0-5.

Behaviour      A producer says where it is about to write; it is answered when that is replicated in the coordinator's
               log. All or none: if one partition is not there, it is told so and the others OPERATION_NOT_ATTEMPTED.
Version notes  v3 flexible; v4 brokers ask for many transactions at once, and may only verify (KIP-890); v5
               TRANSACTION_ABORTABLE may be answered.
Source         core/.../server/KafkaApis.scala handleAddPartitionsToTxnRequest; clients/.../AddPartitionsToTxnRequest
               .java getErrorResponse @ 4.4
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.protocol.answers.transaction_answers import encode_add_partitions_to_txn
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.transactions.by_hand import read_add_partitions
from fakebroker.protocol.transactions.requests import (
    BATCHED_SINCE,
    AddPartitionsRequest,
    read_add_partitions_in_slices,
)

KEY = 24
_ABORTABLE_SINCE: Final = 5
_VERSION_1: Final = 1  # of transactions: partitions are added before they are written to
_VERSION_2: Final = 2

Errors = dict[TopicPartition, ErrorCode]


class _Asked(NamedTuple):
    """One transaction of the request."""

    transactional_id: str
    producer: ProducerIdAndEpoch
    verify_only: bool
    partitions: tuple[TopicPartition, ...]


def _transactions(request: AddPartitionsRequest) -> list[_Asked]:
    return [
        _Asked(
            each.transactional_id,
            ProducerIdAndEpoch(each.producer_id, each.producer_epoch),
            each.verify_only,
            tuple([TopicPartition(topic.name, index) for topic in each.topics for index in topic.partitions]),
        )
        for each in request.transactions
    ]


def error_response(ctx: RequestContext, request: AddPartitionsRequest, code: ErrorCode) -> None:
    asked = _transactions(request)
    if ctx.api_version >= BATCHED_SINCE:
        _respond(ctx, [], code)
    else:
        _respond(ctx, [(each.transactional_id, dict.fromkeys(each.partitions, code)) for each in asked])


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
    results: list[tuple[str, Errors]] = []

    def answered(each: _Asked, errors: Errors) -> None:
        results.append((each.transactional_id, errors))
        if len(results) == len(asked):
            _respond(ctx, results)

    for each in asked:
        _ask(ctx, each, answered)
    if not asked:
        _respond(ctx, results)


def _ask(ctx: RequestContext, each: _Asked, answered: Any) -> None:
    unknown = {
        partition: ErrorCode.unknown_topic_or_partition
        for partition in each.partitions
        if ctx.metadata.find_partition(*partition) is None
    }
    if unknown:
        not_attempted = dict.fromkeys(each.partitions, ErrorCode.operation_not_attempted)
        answered(each, not_attempted | unknown)
        return
    partitions = frozenset(each.partitions)
    coordinator = ctx.transactions.coordinator
    if each.verify_only:
        verified = coordinator.verify_partitions(each.transactional_id, each.producer, partitions)
        answered(each, {partition: _known(ctx, verified[partition]) for partition in each.partitions})
        return
    version = _VERSION_1 if ctx.api_version < BATCHED_SINCE else _VERSION_2
    coordinator.add_partitions(
        each.transactional_id,
        each.producer,
        partitions,
        version,
        lambda error: answered(each, dict.fromkeys(each.partitions, _known(ctx, error))),
    )


def _known(ctx: RequestContext, error: ErrorCode) -> ErrorCode:
    """Who does not know an error of now is told one of before."""
    if error is ErrorCode.producer_fenced and ctx.api_version < 2:
        return ErrorCode.invalid_producer_epoch
    if error is ErrorCode.transaction_abortable and ctx.api_version < _ABORTABLE_SINCE:
        return ErrorCode.invalid_txn_state
    return error


def _respond(ctx: RequestContext, results: Sequence[tuple[str, Errors]], code: ErrorCode = ErrorCode.none) -> None:
    told = [(transactional_id, _topics(errors)) for transactional_id, errors in results]
    if ctx.api_version < BATCHED_SINCE:
        topics = [topic for _, topics in told for topic in topics]
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
            for transactional_id, topics in told
        ],
    }
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def _topics(errors: Errors) -> list[tuple[str, list[tuple[int, ErrorCode]]]]:
    by_topic: dict[str, list[tuple[int, ErrorCode]]] = {}
    for (topic, index), error in errors.items():
        by_topic.setdefault(topic, []).append((index, error))
    return list(by_topic.items())
