"""ListPartitionReassignments (API key 46), version 0: the reassignments in progress (KIP-455).

Behaviour      Returns the reassignments in progress of the requested partitions or of all (null): the replicas, and
               which of them are added and removed. Other partitions, and unknown ones, are left out. The timeout has no
               effect, as in Kafka.
Source         core/.../server/ControllerApis.scala handleListPartitionReassignments;
               metadata/.../ReplicationControlManager.java listPartitionReassignments;
               clients/.../ListPartitionReassignmentsRequest.java getErrorResponse @ 4.0
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CONTROLLER, PARTITION, reads
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.list_partition_reassignments.v0.request import (
        ListPartitionReassignmentsRequest,
        ListPartitionReassignmentsTopics,
    )

KEY = 46
_ELEMENTS_OF_A_SLICE: Final = 512


def _respond(
    ctx: RequestContext, code: ErrorCode, message: str | None, topics: Collection[dict[str, Any]]
) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "error_code": code, "error_message": message, "topics": topics}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: ListPartitionReassignmentsRequest, code: ErrorCode) -> Slices[None]:
    def failed(topic: ListPartitionReassignmentsTopics) -> dict[str, Any]:
        return {"name": topic.name, "partitions": [{"partition_index": index} for index in topic.partition_indexes]}

    topics = Each(failed, request.topics or ())
    return _respond(ctx, code, ctx.refusal, topics)


@registry.api(
    KEY, 0, 0, error_response=error_response, authorization=cluster("DESCRIBE"), errors=reads(PARTITION, CONTROLLER)
)
def handle(ctx: RequestContext, request: ListPartitionReassignmentsRequest) -> Slices[None]:
    topics: list[dict[str, Any]] = []
    seen = 0
    if request.topics is None:
        requested: Iterable[tuple[str, Any]] = ((name, None) for name in ctx.metadata.topic_names())
    else:
        requested = ((topic.name, topic.partition_indexes) for topic in request.topics)
    for name, indexes in requested:
        seen += 1
        if seen % _ELEMENTS_OF_A_SLICE == 0:
            yield
        topic = ctx.metadata.topic(name)
        reassigning: list[Partition] = []
        if topic is not None:
            for index in range(len(topic.partitions)) if indexes is None else indexes:
                if 0 <= index < len(topic.partitions) and topic.partitions[index].is_reassigning:
                    reassigning.append(topic.partitions[index])
                seen += 1
                if seen % _ELEMENTS_OF_A_SLICE == 0:
                    yield
        if reassigning:
            topics.append({"name": name, "partitions": Each(_partition, reassigning)})
    yield from _respond(ctx, ErrorCode.none, None, topics)


def _partition(partition: Partition) -> dict[str, Any]:
    return {
        "partition_index": partition.topic_partition.partition,
        "replicas": tuple(partition.replica_ids),
        "adding_replicas": partition.adding,
        "removing_replicas": partition.removing,
    }
