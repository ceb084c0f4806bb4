"""WriteTxnMarkers (API key 27), versions 1-2.

Behaviour      The coordinator has the leaders of partitions write the transaction markers; an admin ends a hanging
               transaction this way. Each marker has its result when it is replicated, or REQUEST_TIMED_OUT. Partitions
               of __consumer_offsets are written through their group coordinator, which applies or drops the offsets.
Version notes  v1 flexible; v2 the version of the transaction: with 2 its epoch must be a new one (KIP-890).
Differs        A partition that is named twice gets one marker.
Source         core/.../server/KafkaApis.scala handleWriteTxnMarkersRequest @ 4.4
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import DISK, MOMENT, PARTITION, UNANSWERED, appends, because
from fakebroker.core.security.acl_binding import AclOperation
from fakebroker.core.transactions.marker_sender import TxnMarkerEntry
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_name import GROUP_METADATA_TOPIC_NAME
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.transaction_records.control_records import ABORT, COMMIT, EndTransactionMarker

if TYPE_CHECKING:
    from kio.schema.write_txn_markers.v2.request import WritableTxnMarker, WriteTxnMarkersRequest

KEY = 27
_VERSION_SINCE: Final = 2
_NONE: Final = -1
_TOPICS_OF_A_SLICE: Final = 64
_MARKERS_OF_A_SLICE: Final = 4

Errors = dict[TopicPartition, ErrorCode]


def _partitions(marker: WritableTxnMarker) -> Slices[tuple[TopicPartition, ...]]:
    partitions: list[TopicPartition] = []
    for number, topic in enumerate(marker.topics, 1):
        partitions += [TopicPartition(topic.name, index) for index in topic.partition_indexes]
        if number % _TOPICS_OF_A_SLICE == 0:
            yield
    return tuple(partitions)


def _respond(ctx: RequestContext, results: Mapping[int, Errors]) -> Slices[None]:
    return ctx.respond_in_slices(
        build_lazily(response_type(KEY, ctx.api_version), {"markers": Each(_told, results.items())})
    )


def _told(result: tuple[int, Errors]) -> dict[str, Any]:
    producer_id, errors = result
    topics: dict[str, list[dict[str, Any]]] = {}
    for (topic, index), code in errors.items():
        topics.setdefault(topic, []).append({"partition_index": index, "error_code": code})
    topic_responses = [{"name": name, "partitions": partitions} for name, partitions in topics.items()]
    return {"producer_id": producer_id, "topics": topic_responses}


def error_response(ctx: RequestContext, request: WriteTxnMarkersRequest, code: ErrorCode) -> Slices[None]:
    results: dict[int, Errors] = {}
    for number, marker in enumerate(request.markers, 1):
        results[marker.producer_id] = dict.fromkeys((yield from _partitions(marker)), code)
        if number % _MARKERS_OF_A_SLICE == 0:
            yield
    yield from _respond(ctx, results)


@registry.api(
    KEY,
    1,
    2,
    error_response=error_response,
    authorization=in_handler("CLUSTER ALTER - request", "CLUSTER CLUSTER_ACTION CLUSTER_AUTHORIZATION_FAILED request"),
    errors=appends(
        PARTITION,
        before="CLUSTER_AUTHORIZATION_FAILED CORRUPT_MESSAGE MESSAGE_TOO_LARGE RECORD_LIST_TOO_LARGE "
        "INVALID_PRODUCER_EPOCH NOT_ENOUGH_REPLICAS NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION "
        "TRANSACTION_COORDINATOR_FENCED UNSUPPORTED_FOR_MESSAGE_FORMAT COORDINATOR_LOAD_IN_PROGRESS",
        after="REQUEST_TIMED_OUT NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION",
        unseen=because(
            REQUEST_TIMED_OUT=MOMENT,
            UNKNOWN_TOPIC_OR_PARTITION=MOMENT,
            NOT_ENOUGH_REPLICAS_AFTER_APPEND=MOMENT,
            NOT_ENOUGH_REPLICAS=UNANSWERED,
            NOT_LEADER_OR_FOLLOWER=UNANSWERED,
            CORRUPT_MESSAGE=DISK,
            MESSAGE_TOO_LARGE="needs a limit below the size of a marker",
        ),
    ),
)
def handle(ctx: RequestContext, request: WriteTxnMarkersRequest) -> Slices[None]:
    if not (
        ctx.is_authorized_for_cluster(AclOperation.ALTER) or ctx.is_authorized_for_cluster(AclOperation.CLUSTER_ACTION)
    ):
        raise KafkaError(ErrorCode.cluster_authorization_failed, "")
    results: dict[int, Errors] = {}
    waiting = len(request.markers)

    def written(marker: WritableTxnMarker, errors: Mapping[TopicPartition, ErrorCode]) -> None:
        nonlocal waiting
        if errors:
            results.setdefault(marker.producer_id, {}).update(errors)
        waiting -= 1
        if waiting == 0:
            ctx.transactions.in_turns.go_on("an answer to WriteTxnMarkers", _respond(ctx, results))

    for number, marker in enumerate(request.markers, 1):
        if number % _MARKERS_OF_A_SLICE == 0:
            yield  # never after the last one: the response may be sent by then
        partitions = yield from _partitions(marker)
        if _cannot_be_written(ctx, marker, partitions):
            yield from error_response(ctx, request, ErrorCode.unknown_server_error)  # as Kafka fails
            return
        entry = TxnMarkerEntry(
            marker.producer_id,
            marker.producer_epoch,
            EndTransactionMarker(COMMIT if marker.transaction_result else ABORT, marker.coordinator_epoch),
            marker.transaction_version if ctx.api_version >= _VERSION_SINCE else 0,
            partitions,
        )
        ctx.transactions.marker_writer.write(entry, partial(written, marker))
    if not request.markers:
        yield from _respond(ctx, results)


def _cannot_be_written(ctx: RequestContext, marker: WritableTxnMarker, partitions: tuple[TopicPartition, ...]) -> bool:
    """Return True for a marker without a producer or an epoch, which cannot be a batch (MemoryRecordsBuilder); markers
    before it are written."""
    if marker.producer_id != _NONE and marker.producer_epoch != _NONE:
        return False
    return any(
        partition.topic != GROUP_METADATA_TOPIC_NAME and ctx.metadata.find_partition(*partition) is not None
        for partition in partitions
    )
