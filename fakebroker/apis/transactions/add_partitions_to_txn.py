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
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kio.schema.add_partitions_to_txn.v5.request import AddPartitionsToTxnRequest

KEY = 24
_BATCHED_SINCE: Final = 4
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


def _transactions(ctx: RequestContext, request: Any) -> list[_Asked]:
    if ctx.api_version < _BATCHED_SINCE:
        producer = ProducerIdAndEpoch(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
        topics = request.v3_and_below_topics
        return [_Asked(request.v3_and_below_transactional_id, producer, False, _partitions(topics))]
    return [
        _Asked(
            each.transactional_id,
            ProducerIdAndEpoch(each.producer_id, each.producer_epoch),
            each.verify_only,
            _partitions(each.topics),
        )
        for each in request.transactions
    ]


def _partitions(topics: Any) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic.name, index) for topic in topics for index in topic.partitions)


def error_response(ctx: RequestContext, request: AddPartitionsToTxnRequest, code: ErrorCode) -> None:
    asked = _transactions(ctx, request)
    if ctx.api_version >= _BATCHED_SINCE:
        _respond(ctx, [], code)
    else:
        _respond(ctx, [(each.transactional_id, dict.fromkeys(each.partitions, code)) for each in asked])


@registry.api(KEY, 0, 5, error_response=error_response)
def handle(ctx: RequestContext, request: AddPartitionsToTxnRequest) -> None:
    asked = _transactions(ctx, request)
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
    version = _VERSION_1 if ctx.api_version < _BATCHED_SINCE else _VERSION_2
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
    values: dict[str, Any] = {"throttle_time": timedelta(0), "error_code": code}
    if ctx.api_version < _BATCHED_SINCE:
        values["results_by_topic_v3_and_below"] = [topic for _, topics in told for topic in topics]
    else:
        values["results_by_transaction"] = [
            {"transactional_id": transactional_id, "topic_results": topics} for transactional_id, topics in told
        ]
    ctx.respond(build(response_type(KEY, ctx.api_version), values))


def _topics(errors: Errors) -> list[dict[str, Any]]:
    by_topic: dict[str, list[dict[str, Any]]] = {}
    for (topic, index), error in errors.items():
        by_topic.setdefault(topic, []).append({"partition_index": index, "partition_error_code": error})
    return [{"name": topic, "results_by_partition": partitions} for topic, partitions in by_topic.items()]
