"""AddPartitionsToTxn (API key 24), versions 0-5.

Behaviour      A producer adds partitions to its transaction; the response follows when that is replicated in the
               coordinator's log. All or none: an unknown partition has its error, and the others
               OPERATION_NOT_ATTEMPTED. Producers may not write to internal topics: TOPIC_AUTHORIZATION_FAILED.
Version notes  v3 flexible; v4 brokers send many transactions at once, and may only verify (KIP-890); v5
               TRANSACTION_ABORTABLE may be returned.
Not done       Kafka never responds to a broker's request without transactions; here it gets a response.
Source         core/.../server/KafkaApis.scala handleAddPartitionsToTxnRequest;
               clients/.../AddPartitionsToTxnRequest.java getErrorResponse @ 4.4
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import PARTITION, TAKEN_BACK, TRANSACTION, UNANSWERED, appends, because
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.protocol.answers.transaction_answers import (
    encode_add_partitions_in_slices,
    encode_add_partitions_to_txn,
)
from fakebroker.protocol.build import Each
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.slices import Slices, begin
from fakebroker.protocol.topic_name import is_internal
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.transactions.by_hand import read_add_partitions
from fakebroker.protocol.transactions.requests import (
    BATCHED_SINCE,
    AddedTopic,
    AddPartitionsRequest,
    TransactionToAdd,
    read_add_partitions_in_slices,
)

KEY = 24
_FENCED_SINCE: Final = 2
_PARTITIONS_OF_A_SLICE: Final = 256
_SMALL: Final = 256
_VERSION_0: Final = 0  # as Kafka records a client before version 2
_VERSION_2: Final = 2

Errors = dict[TopicPartition, ErrorCode]
Topic = tuple[str, list[tuple[int, ErrorCode]]]
Topics = list[Topic] | Each[Topic]
Results = list[tuple[str, Topics]]


def _partitions(transaction: TransactionToAdd) -> list[TopicPartition]:
    return [TopicPartition(topic.name, index) for topic in transaction.topics for index in topic.partitions]


def _all_failed(transaction: TransactionToAdd, code: ErrorCode) -> Topics:
    """Return the same error for all partitions; with very many topics, lazily."""
    if len(transaction.topics) > _SMALL:
        return Each(lambda topic: _topic_failed(topic, code), transaction.topics)
    return [_topic_failed(topic, code) for topic in transaction.topics]


def _topic_failed(topic: AddedTopic, code: ErrorCode) -> Topic:
    return topic.name, [(index, code) for index in topic.partitions]


def _is_small(request: AddPartitionsRequest) -> bool:
    left = _PARTITIONS_OF_A_SLICE
    for transaction in request.transactions:
        left -= 1
        for topic in transaction.topics:
            left -= 1 + len(topic.partitions)
        if left < 0:
            return False
    return True


def error_response(ctx: RequestContext, request: AddPartitionsRequest, code: ErrorCode) -> None:
    if ctx.api_version >= BATCHED_SINCE:
        _respond(ctx, [], True, code)
    else:
        results = [
            (transaction.transactional_id, _all_failed(transaction, code)) for transaction in request.transactions
        ]
        _respond(ctx, results, _is_small(request))


@registry.api(
    KEY,
    0,
    5,
    error_response=error_response,
    decode=read_add_partitions,
    decode_in_slices=read_add_partitions_in_slices,
    authorization=in_handler(
        "TRANSACTIONAL_ID WRITE TRANSACTIONAL_ID_AUTHORIZATION_FAILED partition",
        "TOPIC WRITE TOPIC_AUTHORIZATION_FAILED partition",
        "CLUSTER CLUSTER_ACTION CLUSTER_AUTHORIZATION_FAILED request",
    ),
    errors=appends(
        f"transactional_id {PARTITION}",
        before=f"{TRANSACTION} TOPIC_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION OPERATION_NOT_ATTEMPTED "
        "CLUSTER_AUTHORIZATION_FAILED INVALID_REQUEST UNSUPPORTED_VERSION",
        after=TAKEN_BACK,
        unseen=because(INVALID_TXN_STATE=UNANSWERED),
    ),
)
def handle(ctx: RequestContext, request: AddPartitionsRequest) -> Slices[None] | None:
    transactions = request.transactions
    if ctx.broker.authorizer is not None and not _is_authorized(ctx, request):
        return None
    is_small = _is_small(request)
    results: Results = []

    def answered(transaction: TransactionToAdd, topics: Topics) -> None:
        results.append((transaction.transactional_id, topics))
        if len(results) == len(transactions):
            _respond(ctx, results, is_small)

    if not transactions:
        _respond(ctx, results, is_small)
    elif not is_small:
        return begin(_handle_in_slices(ctx, transactions, answered))
    else:
        for transaction in transactions:
            partitions = _partitions(transaction)
            failed: Errors = {}
            for partition in partitions:
                code = _refused(ctx, partition)
                if code is not ErrorCode.none:
                    failed[partition] = code
            _ask(ctx, transaction, partitions, failed, answered)
    return None


def _is_authorized(ctx: RequestContext, request: AddPartitionsRequest) -> bool:
    """Return True if the request may go on; otherwise it has its response. Brokers need a permission for the cluster,
    clients one for their transactional id, of which there is one before v4."""
    if ctx.api_version >= BATCHED_SINCE:
        if ctx.is_authorized_for_cluster(AclOperation.CLUSTER_ACTION):
            return True
        error_response(ctx, request, ErrorCode.cluster_authorization_failed)
        return False
    for transaction in request.transactions:
        if not ctx.is_authorized(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transaction.transactional_id):
            error_response(ctx, request, ErrorCode.transactional_id_authorization_failed)
            return False
    return True


def _handle_in_slices(
    ctx: RequestContext,
    transactions: tuple[TransactionToAdd, ...],
    answered: Callable[[TransactionToAdd, Topics], None],
) -> Slices[None]:
    """Handle very many partitions, with slices of the look-up. No slice follows the last call of `_ask`: the response
    may be sent by then."""
    looked_at = 0
    for number, transaction in enumerate(transactions):
        if number:
            yield
        partitions: list[TopicPartition] = []
        failed: Errors = {}
        for topic in transaction.topics:
            looked_at += 1
            if looked_at % _PARTITIONS_OF_A_SLICE == 0:
                yield
            for index in topic.partitions:
                partition = TopicPartition(topic.name, index)
                partitions.append(partition)
                code = _refused(ctx, partition)
                if code is not ErrorCode.none:
                    failed[partition] = code
                looked_at += 1
                if looked_at % _PARTITIONS_OF_A_SLICE == 0:
                    yield
        _ask(ctx, transaction, partitions, failed, answered)


def _ask(
    ctx: RequestContext,
    transaction: TransactionToAdd,
    requested: list[TopicPartition],
    failed: Errors,
    answered: Callable[[TransactionToAdd, Topics], None],
) -> None:
    if failed:
        answered(transaction, _by_topic(dict.fromkeys(requested, ErrorCode.operation_not_attempted) | failed))
        return
    partitions = frozenset(requested)
    producer = ProducerIdAndEpoch(transaction.producer_id, transaction.producer_epoch)
    coordinator = ctx.transactions.coordinator
    if transaction.verify_only:
        verified = coordinator.verify_partitions(transaction.transactional_id, producer, partitions)
        # In the order of the request.
        answered(transaction, _by_topic({partition: verified[partition] for partition in requested}))
        return
    version = _VERSION_0 if ctx.api_version < BATCHED_SINCE else _VERSION_2
    coordinator.add_partitions(
        transaction.transactional_id,
        producer,
        partitions,
        version,
        lambda error: answered(transaction, _all_failed(transaction, _known(ctx, error))),
    )


def _refused(ctx: RequestContext, partition: TopicPartition) -> ErrorCode:
    """Return the error of a partition that cannot be added: a producer may not add internal topics and those that it
    may not write, brokers may; unknown partitions cannot be added."""
    if ctx.api_version < BATCHED_SINCE:
        topic = partition.topic
        if is_internal(topic) or not ctx.is_authorized(AclOperation.WRITE, ResourceType.TOPIC, topic):
            return ErrorCode.topic_authorization_failed
    is_there = ctx.metadata.find_partition(*partition) is not None
    return ErrorCode.none if is_there else ErrorCode.unknown_topic_or_partition


def _known(ctx: RequestContext, error: ErrorCode) -> ErrorCode:
    """Return the error, replaced by an older one for clients that do not know it."""
    if error is ErrorCode.producer_fenced and ctx.api_version < _FENCED_SINCE:
        return ErrorCode.invalid_producer_epoch
    return error


def _by_topic(errors: Errors) -> list[Topic]:
    by_topic: dict[str, list[tuple[int, ErrorCode]]] = {}
    for (topic, index), error in errors.items():
        by_topic.setdefault(topic, []).append((index, error))
    return list(by_topic.items())


def _respond(ctx: RequestContext, results: Results, is_small: bool, code: ErrorCode = ErrorCode.none) -> None:
    if ctx.api_version < BATCHED_SINCE and is_small:
        all_topics = [topic for _, topics in results for topic in topics]
        ctx.respond_frame(encode_add_partitions_to_txn(ctx.api_version, ctx.correlation_id, ctx.throttle(), all_topics))
    else:
        ctx.transactions.in_turns.go_on("an answer to AddPartitionsToTxn", _respond_in_slices(ctx, results, code))


def _respond_in_slices(ctx: RequestContext, results: Results, code: ErrorCode) -> Slices[None]:
    version, throttle_time_ms = ctx.api_version, ctx.throttle()
    by_transaction = results if version >= BATCHED_SINCE else [("", topics) for _, topics in results]  # one transaction
    frame = yield from encode_add_partitions_in_slices(
        version, ctx.correlation_id, throttle_time_ms, code, by_transaction
    )
    ctx.respond_frame(frame)
