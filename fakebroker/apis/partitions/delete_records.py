"""DeleteRecords (API key 21), versions 0-2: raise log start offsets; the records before them are gone (KIP-107).

Behaviour      Handles each partition independently; if one is named twice, the last entry counts. -1 means the high
               watermark; an offset beyond that, or negative: OFFSET_OUT_OF_RANGE. A topic that is only compacted:
               POLICY_VIOLATION, an internal one: INVALID_TOPIC_EXCEPTION. The response waits until the followers have
               raised their log starts, too (core/replication/delete_records.py), REQUEST_TIMED_OUT if that takes too
               long.
Version notes  v1 the connection is throttled after the response (KIP-219); v2 flexible.
Not done       Memory is freed in whole batches only; readers see the requested offset.
Source         core/.../server/KafkaApis.scala handleDeleteRecordsRequest; clients/.../DeleteRecordsRequest.java
               getErrorResponse @ 4.0
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import in_handler
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import PARTITION, UNANSWERED, because, changes
from fakebroker.apis.later import Later
from fakebroker.core.replication.delete_records import INVALID_LOW_WATERMARK, DeletedRecords
from fakebroker.core.replication.partition import Partition
from fakebroker.core.security.acl_binding import AclOperation, ResourceType
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kio.schema.delete_records.v2.request import DeleteRecordsRequest, DeleteRecordsTopic
    from kio.static.protocol import ResponsePayload

KEY = 21
_PARTITIONS_OF_A_SLICE: Final = 256
_TOPICS_OF_A_SLICE: Final = 256


def error_response(ctx: RequestContext, request: DeleteRecordsRequest, code: ErrorCode) -> Slices[None]:
    return ctx.respond_in_slices(_failed(ctx.api_version, request, code))


def _failed(version: int, request: DeleteRecordsRequest, code: ErrorCode) -> ResponsePayload:
    def failed(topic: DeleteRecordsTopic) -> dict[str, Any]:
        return {
            "name": topic.name,
            "partitions": Each(lambda partition: _partition(partition.partition_index, code), topic.partitions),
        }

    values = {"throttle_time": timedelta(0), "topics": Each(failed, request.topics)}
    return build_lazily(response_type(KEY, version), values)


@registry.api(
    KEY,
    0,
    2,
    error_response=error_response,
    authorization=in_handler("TOPIC DELETE TOPIC_AUTHORIZATION_FAILED partition"),
    errors=changes(
        PARTITION,
        before="NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION OFFSET_OUT_OF_RANGE POLICY_VIOLATION "
        "KAFKA_STORAGE_ERROR TOPIC_AUTHORIZATION_FAILED INVALID_TOPIC_EXCEPTION",
        after="REQUEST_TIMED_OUT",
        unseen=because(INVALID_TOPIC_EXCEPTION=UNANSWERED),
    ),
)
def handle(ctx: RequestContext, request: DeleteRecordsRequest) -> Slices[None]:
    by_partition: dict[TopicPartition, int] = {}
    refused: dict[str, list[int]] = {}
    for number, topic in enumerate(request.topics, 1):
        if number % _TOPICS_OF_A_SLICE == 0:
            yield
        is_guarded = ctx.broker.authorizer is not None
        if is_guarded and not ctx.is_authorized(AclOperation.DELETE, ResourceType.TOPIC, topic.name):
            indexes = [partition.partition_index for partition in topic.partitions]
            refused[topic.name] = list(dict.fromkeys([*refused.get(topic.name, ()), *indexes]))
            yield
            continue
        for partition in topic.partitions:
            by_partition[TopicPartition(topic.name, partition.partition_index)] = partition.offset
            if len(by_partition) % _PARTITIONS_OF_A_SLICE == 0:
                yield
    offsets: list[tuple[TopicPartition, Partition | None, int]] = []
    places: dict[str, list[int]] = {}  # indexes of offsets and results, by topic
    for topic_partition, offset in by_partition.items():
        places.setdefault(topic_partition.topic, []).append(len(offsets))
        offsets.append((topic_partition, ctx.metadata.find_partition(*topic_partition), offset))
        if len(offsets) % _PARTITIONS_OF_A_SLICE == 0:
            yield
    later: Later[Sequence[DeletedRecords]] = Later(
        ctx,
        lambda results: _answer(ctx.api_version, places, results, refused),
        lambda code: _failed(ctx.api_version, request, code),
    )
    timeout_ms = request.timeout // timedelta(milliseconds=1)
    yield from ctx.replicas.deletion.delete_records(timeout_ms, offsets, later, lambda: ctx.now)
    yield from later.answer()


def _answer(
    version: int, places: dict[str, list[int]], results: Sequence[DeletedRecords], refused: dict[str, list[int]]
) -> ResponsePayload:
    """Return the results of the topics in `places`, then those of the refused ones."""

    def partition(place: int) -> dict[str, Any]:
        result = results[place]
        return _partition(result.topic_partition.partition, result.error_code, result.low_watermark)

    def refusal(index: int) -> dict[str, Any]:
        return _partition(index, ErrorCode.topic_authorization_failed)

    def topic(named: tuple[str, list[int]]) -> dict[str, Any]:
        name, numbers = named
        return {"name": name, "partitions": Each(refusal if name in refused else partition, numbers)}

    values = {"throttle_time": timedelta(0), "topics": Each(topic, [*places.items(), *refused.items()])}
    return build_lazily(response_type(KEY, version), values)


def _partition(index: int, code: ErrorCode, low_watermark: int = INVALID_LOW_WATERMARK) -> dict[str, Any]:
    return {"partition_index": index, "low_watermark": low_watermark, "error_code": code}
