"""AlterPartitionReassignments (API key 45), versions 0-1: move partitions to other replicas (KIP-455).

Behaviour      Handles each partition independently, with Kafka's checks of manual assignments, in its order. New
               replicas copy the log. The others are removed when all target replicas are in the ISR, at once if nothing
               has to be copied. Null replicas cancel a reassignment: NO_REASSIGNMENT_IN_PROGRESS if there is none. A
               timeout of 0 or less: REQUEST_TIMED_OUT for all. Any broker accepts the request.
Version notes  v0 flexible; v1 the number of replicas may be forbidden to change: INVALID_REPLICATION_FACTOR (KIP-860).
Not done       A timeout above 0 (changes apply at once).
Source         core/.../server/ControllerApis.scala handleAlterPartitionReassignments;
               metadata/.../ReplicationControlManager.java alterPartitionReassignments;
               clients/.../AlterPartitionReassignmentsRequest.java getErrorResponse @ 4.4
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CHANGED, CONTROLLER, PARTITION, changes
from fakebroker.apis.no_time import has_no_time
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.alter_partition_reassignments.v1.request import AlterPartitionReassignmentsRequest

KEY = 45
_PARTITIONS_OF_A_SLICE: Final = 8

_Results = list[tuple[str, list[tuple[int, KafkaError | None]]]]


def _respond(
    ctx: RequestContext, request: AlterPartitionReassignmentsRequest, error: KafkaError | None, results: _Results
) -> Slices[None]:
    values = {
        "throttle_time": timedelta(0),
        "allow_replication_factor_change": not results
        or error is not None
        or getattr(request, "allow_replication_factor_change", True),
        "error_code": ErrorCode.none if error is None else error.code,
        # Without results Kafka's controller leaves the message at the default of an unset field: "".
        "error_message": (error.message or None) if error is not None else None if results else "",
        "responses": Each(_topic, results),
    }
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: AlterPartitionReassignmentsRequest, code: ErrorCode) -> Slices[None]:
    error = KafkaError(code, ctx.refusal)
    results: _Results = [
        (topic.name, [(partition.partition_index, error) for partition in topic.partitions]) for topic in request.topics
    ]
    return _respond(ctx, request, error, results)


@registry.api(
    KEY,
    0,
    1,
    error_response=error_response,
    authorization=cluster("ALTER"),
    errors=changes(
        PARTITION,
        before=f"{CONTROLLER} INVALID_REPLICA_ASSIGNMENT INVALID_REPLICATION_FACTOR UNKNOWN_TOPIC_OR_PARTITION "
        "NO_REASSIGNMENT_IN_PROGRESS",
        after=CHANGED,
    ),
)
def handle(ctx: RequestContext, request: AlterPartitionReassignmentsRequest) -> Slices[None]:
    if request.topics and has_no_time(request.timeout):
        yield from error_response(ctx, request, ErrorCode.request_timed_out)
        return
    may_change_factor = getattr(request, "allow_replication_factor_change", True)
    done = 0
    results: _Results = []
    for topic in request.topics:
        errors: list[tuple[int, KafkaError | None]] = []
        for partition in topic.partitions:
            error: KafkaError | None = None
            try:
                ctx.controller.reassignments.alter(
                    topic.name, partition.partition_index, partition.replicas, ctx.now, may_change_factor
                )
            except KafkaError as failure:
                error = failure.with_traceback(None)
            errors.append((partition.partition_index, error))
            done += 1
            if done % _PARTITIONS_OF_A_SLICE == 0:
                yield
        results.append((topic.name, errors))
    yield from _respond(ctx, request, None, results)


def _topic(item: tuple[str, list[tuple[int, KafkaError | None]]]) -> dict[str, Any]:
    name, partitions = item
    return {"name": name, "partitions": Each(_partition, partitions)}


def _partition(item: tuple[int, KafkaError | None]) -> dict[str, Any]:
    index, error = item
    return {
        "partition_index": index,
        "error_code": ErrorCode.none if error is None else error.code,
        "error_message": None if error is None else error.message or None,
    }
