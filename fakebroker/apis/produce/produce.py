"""Produce (API key 0), versions 3-13.

Behaviour      Handles each partition independently: unknown topic, then the records as a whole (one batch, magic 2,
               codec allowed by the version), then the append. acks=1: the response follows the append. acks=-1: it
               follows when the in-sync replicas have the records. The timeout starts now; when it expires, the response
               is REQUEST_TIMED_OUT with the real base offset. acks=0: there is no response, and the connection is
               closed if any partition failed. Any other acks: INVALID_REQUIRED_ACKS for each partition, after the
               checks of topics and records.
Version notes  v3 record batches only, transactional id; v5 log start offset; v7 zstd; v8 record errors (KIP-467); v9
               flexible; v10 leader hints (KIP-951); v12 transactions v2 (KIP-890); v13 topic ids.
               v0-v2 are advertised, as by Kafka 4, because old librdkafka decides by them (KAFKA-18659); a client that
               sends them is disconnected.
Source         core/.../server/KafkaApis.scala handleProduceRequest @ 4.0, topic ids @ 4.1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import KNOWN, MOMENT, PARTITION_BY_ID, UNANSWERED, appends, because
from fakebroker.apis.produce.produce_answer import ProduceAnswer
from fakebroker.apis.produce.verification import resume, verify
from fakebroker.core.journal.events import Produce
from fakebroker.core.replication.partition import Partition
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.plain_batch import is_plain_in_transaction
from fakebroker.protocol.produce_reader import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
    read_by_hand,
    read_produce_request,
    read_produce_request_in_slices,
)
from fakebroker.protocol.produce_request import is_transactional, validate_records
from fakebroker.protocol.slices import Slices, begin

KEY: Final = 0
_ADMIN_CLIENT_ID: Final = "__admin_client"
_PARTITIONS_OF_A_SLICE: Final = 64
_SOME_PARTITIONS: Final = 16
_SMALL_BYTES: Final = 64 * 1024  # some 200 us of work for the smallest possible records
_NONE: Final = ErrorCode.none
_UNKNOWN_SERVER_ERROR: Final = ErrorCode.unknown_server_error
_UNKNOWN_TOPIC_ID: Final = ErrorCode.unknown_topic_id


def error_response(ctx: RequestContext, request: ProduceRequest, code: ErrorCode) -> None:
    """Respond with the same error for every partition of the request."""
    answer = ProduceAnswer(ctx, request.acks)
    answer.all_failed(request, code)


@registry.api(
    KEY,
    3,
    13,
    advertised_min_version=0,
    error_response=error_response,
    decode=read_produce_request,
    decode_by_hand=read_by_hand,
    decode_in_slices=read_produce_request_in_slices,
    authorization=in_handler(
        "TRANSACTIONAL_ID WRITE TRANSACTIONAL_ID_AUTHORIZATION_FAILED request",
        "TOPIC WRITE TOPIC_AUTHORIZATION_FAILED partition",
    ),
    errors=appends(
        f"{PARTITION_BY_ID} transactional_id",
        before="NOT_ENOUGH_REPLICAS NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID "
        "TOPIC_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED "
        "INVALID_TOPIC_EXCEPTION INVALID_REQUIRED_ACKS CORRUPT_MESSAGE MESSAGE_TOO_LARGE RECORD_LIST_TOO_LARGE "
        "INVALID_RECORD INVALID_TIMESTAMP UNSUPPORTED_FOR_MESSAGE_FORMAT UNSUPPORTED_COMPRESSION_TYPE "
        "OUT_OF_ORDER_SEQUENCE_NUMBER DUPLICATE_SEQUENCE_NUMBER UNKNOWN_PRODUCER_ID INVALID_PRODUCER_EPOCH "
        "INVALID_PRODUCER_ID_MAPPING INVALID_TXN_STATE CONCURRENT_TRANSACTIONS TRANSACTION_ABORTABLE "
        "KAFKA_STORAGE_ERROR POLICY_VIOLATION UNSUPPORTED_VERSION",
        after="REQUEST_TIMED_OUT NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION "
        "KAFKA_STORAGE_ERROR",
        unseen=because(
            POLICY_VIOLATION=UNANSWERED,
            NOT_ENOUGH_REPLICAS_AFTER_APPEND=MOMENT,
            CLUSTER_AUTHORIZATION_FAILED=KNOWN,
        ),
    ),
)
def handle(ctx: RequestContext, request: ProduceRequest) -> Slices[None] | None:
    if ctx.broker.authorizer is not None:
        return begin(_handle_in_slices(ctx, request))
    if not _is_usual(request):
        if _is_usual_transaction(request):
            _handle_in_transaction(ctx, request)
            return None
        if _is_usual_of_several(request):
            _handle_several(ctx, request)
            return None
        return begin(_handle_in_slices(ctx, request))
    answer = _begin_of_one_topic(ctx, request)
    topic = request.topic_data[0]
    data = topic.partition_data[0]
    name = answer.topic_name(topic)
    partition = None if name is None else ctx.metadata.find_partition(name, data.index)
    if partition is None:
        answer.failed(topic, data.index, _UNKNOWN_TOPIC_ID if name is None else ErrorCode.unknown_topic_or_partition)
        answer.complete([])
        return None
    ctx.replicas.append_records(
        request.timeout_ms,
        request.acks,
        ctx.client_id == _ADMIN_CLIENT_ID,
        {partition: data},
        answer.complete,
        ctx.now,
    )
    return None


def _is_usual(request: ProduceRequest) -> bool:
    """Return True for one small plain batch (protocol/plain_batch.py), which is checked at once. Compressed batches may
    be of any size; otherwise bytes and partitions take the time."""
    if len(request.topic_data) != 1 or len(request.topic_data[0].partition_data) != 1:
        return False
    data = request.topic_data[0].partition_data[0]
    return data.is_plain and data.records is not None and len(data.records) <= _SMALL_BYTES


def _is_usual_of_several(request: ProduceRequest) -> bool:
    """Return True for small plain batches of some partitions of one topic."""
    if len(request.topic_data) != 1 or len(request.topic_data[0].partition_data) > _SOME_PARTITIONS:
        return False
    size = 0
    for data in request.topic_data[0].partition_data:
        if not data.is_plain or data.records is None:
            return False
        size += len(data.records)
    return size <= _SMALL_BYTES


def _is_usual_transaction(request: ProduceRequest) -> bool:
    """Return True for one small plain batch in a transaction."""
    if request.transactional_id is None or len(request.topic_data) != 1:
        return False
    partitions = request.topic_data[0].partition_data
    records = partitions[0].records if len(partitions) == 1 else None
    return records is not None and len(records) <= _SMALL_BYTES and is_plain_in_transaction(records)


def _handle_in_transaction(ctx: RequestContext, request: ProduceRequest) -> None:
    """Handle one small batch in a transaction, as `_handle_in_slices` would."""
    answer = _begin_of_one_topic(ctx, request)
    topic = request.topic_data[0]
    entries: dict[Partition, PartitionProduceData] = {}
    if _sort(ctx, request, answer, topic, answer.topic_name(topic), topic.partition_data[0], entries):
        _append_in_transaction(ctx, request, answer, entries)


def _handle_several(ctx: RequestContext, request: ProduceRequest) -> None:
    """Handle small batches of some partitions without a transaction, as `_handle_in_slices` would."""
    answer = _begin_of_one_topic(ctx, request)
    topic = request.topic_data[0]
    name = answer.topic_name(topic)
    entries: dict[Partition, PartitionProduceData] = {}
    for data in topic.partition_data:
        if not _sort(ctx, request, answer, topic, name, data, entries):
            return
    if not entries:
        answer.complete([])
        return
    is_admin = ctx.client_id == _ADMIN_CLIENT_ID
    ctx.replicas.append_records(request.timeout_ms, request.acks, is_admin, entries, answer.complete, ctx.now)


def _handle_in_slices(ctx: RequestContext, request: ProduceRequest) -> Slices[None]:
    """Handle any request, with slices of some partitions, and as many slices as a batch takes."""
    answer = ProduceAnswer(ctx, request.acks)
    names: list[str] = []
    for topic in request.topic_data:
        names.append(answer.know(topic))
        if len(names) % _PARTITIONS_OF_A_SLICE == 0:
            yield
    if ctx.probe.listeners and ctx.probe.hears(Produce):
        _tell(ctx, request, names)
    transactional = False
    seen = 0
    for topic in request.topic_data:
        seen += 1
        if seen % _PARTITIONS_OF_A_SLICE == 0:
            yield
        for data in topic.partition_data:
            if not data.is_plain and not transactional:
                try:
                    transactional = _is_transactional(data)
                except KafkaError as error:  # the header of a first batch is invalid
                    answer.all_failed(request, error.code, error.message)
                    return
            seen += 1
            if seen % _PARTITIONS_OF_A_SLICE == 0:
                yield
    if transactional and not _is_transactional_id_authorized(ctx, request.transactional_id):
        answer.all_failed(request, ErrorCode.transactional_id_authorization_failed)
        return
    entries: dict[Partition, PartitionProduceData] = {}
    for topic in request.topic_data:
        seen += 1
        if seen % _PARTITIONS_OF_A_SLICE == 0:
            yield
        name = answer.topic_name(topic)
        is_authorized = name is None or ctx.is_authorized(AclOperation.WRITE, ResourceType.TOPIC, name)
        for data in topic.partition_data:
            if not is_authorized:
                answer.failed(topic, data.index, ErrorCode.topic_authorization_failed)
            elif not _sort(ctx, request, answer, topic, name, data, entries):
                return
            seen += 1
            if seen % _PARTITIONS_OF_A_SLICE == 0:
                yield
    if transactional:
        _append_in_transaction(ctx, request, answer, entries)
        return
    if not entries:
        answer.complete([])
        return
    yield from ctx.replicas.append_records_in_slices(
        request.timeout_ms,
        request.acks,
        ctx.client_id == _ADMIN_CLIENT_ID,
        entries,
        answer.complete,
        lambda: ctx.now,
    )


def _is_transactional_id_authorized(ctx: RequestContext, transactional_id: str | None) -> bool:
    return transactional_id is not None and ctx.is_authorized(
        AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
    )


def _append_in_transaction(
    ctx: RequestContext,
    request: ProduceRequest,
    answer: ProduceAnswer,
    entries: dict[Partition, PartitionProduceData],
) -> None:
    """Append once the coordinator agrees: in one go, or very many partitions in slices."""
    timeout_ms, acks, transactional_id = request.timeout_ms, request.acks, request.transactional_id
    assert transactional_id is not None

    def append(guards: Mapping[Partition, int]) -> None:
        if not entries:
            answer.complete([])
            return
        if len(entries) > _PARTITIONS_OF_A_SLICE:
            ctx.transactions.in_turns.go_on(
                "an append in a transaction", _append_in_slices(ctx, request, answer, entries, guards)
            )
            return
        ctx.replicas.append_records(timeout_ms, acks, False, entries, answer.complete, ctx.now, guards)
        ctx.replicas.try_complete_actions(ctx.now)

    try:
        verify(ctx, transactional_id, answer, entries, append)
    except KafkaError as error:
        answer.all_failed(request, error.code, error.message)


def _append_in_slices(
    ctx: RequestContext,
    request: ProduceRequest,
    answer: ProduceAnswer,
    entries: dict[Partition, PartitionProduceData],
    guards: Mapping[Partition, int],
) -> Slices[None]:
    timeout_ms, acks = request.timeout_ms, request.acks
    for _ in ctx.replicas.append_records_in_slices(
        timeout_ms, acks, False, entries, answer.complete, lambda: ctx.now, guards
    ):
        ctx.replicas.try_complete_actions(ctx.now)
        yield
        resume(ctx)
    ctx.replicas.try_complete_actions(ctx.now)


def _begin_of_one_topic(ctx: RequestContext, request: ProduceRequest) -> ProduceAnswer:
    """Tell the request, which has one topic. Return the response, without results so far."""
    answer = ProduceAnswer(ctx, request.acks)
    name = answer.know(request.topic_data[0])
    if ctx.probe.listeners and ctx.probe.hears(Produce):
        _tell(ctx, request, [name])
    return answer


def _tell(ctx: RequestContext, request: ProduceRequest, names: list[str]) -> None:
    probe = ctx.probe
    partitions = [
        (name, partition.index)
        for name, topic in zip(names, request.topic_data, strict=True)
        for partition in topic.partition_data
    ]
    limits = request.acks, request.timeout_ms
    probe.tell(Produce(*probe.times, probe.request, *limits, request.transactional_id, tuple(partitions)))


def _is_transactional(data: PartitionProduceData) -> bool:
    return data.records is not None and is_transactional(data.records)


def _sort(
    ctx: RequestContext,
    request: ProduceRequest,
    answer: ProduceAnswer,
    topic: TopicProduceData,
    name: str | None,
    data: PartitionProduceData,
    entries: dict[Partition, PartitionProduceData],
) -> bool:
    """Put a partition into `entries`, or refuse it. Return False if the whole request has its response."""
    partition = None if name is None else ctx.metadata.find_partition(name, data.index)
    code = _UNKNOWN_TOPIC_ID if name is None else _refuse(ctx.api_version, partition, data)
    if code is _UNKNOWN_SERVER_ERROR:
        # Kafka fails on such a partition before it appends any (docs/decisions.md, 9).
        answer.all_failed(request, code)
        return False
    if code is _NONE and partition is not None:
        entries[partition] = data
    else:
        answer.failed(topic, data.index, code)
    return True


def _refuse(api_version: int, partition: Partition | None, data: PartitionProduceData) -> ErrorCode:
    """Return the error of this partition of a known topic, or NONE if it goes to the replica manager."""
    if partition is None:
        return ErrorCode.unknown_topic_or_partition
    if data.is_plain:
        return _NONE
    if data.records is None:
        return _UNKNOWN_SERVER_ERROR
    if is_plain_in_transaction(data.records):
        return _NONE
    try:
        validate_records(data.records, api_version)
    except KafkaError as error:
        return error.code
    return _NONE
