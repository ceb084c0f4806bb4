"""ElectLeaders (API key 43), versions 0-2: elect the preferred replica or, uncleanly, any replica (KIP-183, KIP-460).

Behaviour      Handles each partition independently. ELECTION_NOT_NEEDED: the preferred replica leads, or, for an
               unclean election, any replica does. PREFERRED_LEADER_NOT_AVAILABLE or ELIGIBLE_LEADERS_NOT_AVAILABLE: the
               election fails. Null requests all partitions; those that need no election are then left out, but not
               their topics. An unknown type of election: INVALID_REQUEST. A timeout of 0 or less: REQUEST_TIMED_OUT for
               all. Any broker accepts the request.
Version notes  v1 the type of election (before, preferred), error of its own; v2 flexible.
Not done       A timeout above 0 (a leader is elected at once).
Source         core/.../server/ControllerApis.scala handleElectLeaders; metadata/.../ReplicationControlManager.java
               electLeaders; clients/.../ElectLeadersRequest.java getErrorResponse @ 4.0
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from fakebroker.apis import registry
from fakebroker.apis.authorization import cluster
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import CHANGED, CONTROLLER, PARTITION, because, changes
from fakebroker.apis.no_time import has_no_time
from fakebroker.protocol.build import Each, build_lazily
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.messages import response_type
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.schema.elect_leaders.v2.request import ElectLeadersRequest

KEY = 43
_PREFERRED: Final = 0
_UNCLEAN: Final = 1
_PARTITIONS_OF_A_SLICE: Final = 16

_Results = list[tuple[str, list[tuple[int, KafkaError | None]]]]


def _respond(ctx: RequestContext, code: ErrorCode, results: _Results) -> Slices[None]:
    values = {"throttle_time": timedelta(0), "error_code": code, "replica_election_results": Each(_topic, results)}
    return ctx.respond_in_slices(build_lazily(response_type(KEY, ctx.api_version), values))


def error_response(ctx: RequestContext, request: ElectLeadersRequest, code: ErrorCode) -> Slices[None]:
    return _failed(ctx, request, KafkaError(code, ctx.refusal))


def _failed(ctx: RequestContext, request: ElectLeadersRequest, error: KafkaError) -> Slices[None]:
    results: _Results = [
        (topic.topic, [(index, error) for index in topic.partitions]) for topic in request.topic_partitions or ()
    ]
    return _respond(ctx, error.code, results)


@registry.api(
    KEY,
    0,
    2,
    error_response=error_response,
    authorization=cluster("ALTER"),
    errors=changes(
        PARTITION,
        before=f"{CONTROLLER} ELECTION_NOT_NEEDED PREFERRED_LEADER_NOT_AVAILABLE ELIGIBLE_LEADERS_NOT_AVAILABLE "
        "UNKNOWN_TOPIC_OR_PARTITION INVALID_REQUEST",
        after=CHANGED,
        unseen=because(ELIGIBLE_LEADERS_NOT_AVAILABLE="needs a partition without a leader"),
    ),
)
def handle(ctx: RequestContext, request: ElectLeadersRequest) -> Slices[None]:
    wants_all = request.topic_partitions is None
    if (wants_all or request.topic_partitions) and has_no_time(request.timeout):
        yield from error_response(ctx, request, ErrorCode.request_timed_out)
        return
    kind = request.election_type if ctx.api_version >= 1 else _PREFERRED
    if kind not in (_PREFERRED, _UNCLEAN):
        unknown = KafkaError(ErrorCode.invalid_request, f"Unknown election type {kind}")
        yield from _failed(ctx, request, unknown)
        return
    done = 0
    results: _Results = []
    requested: list[tuple[str, Sequence[int]]]
    if request.topic_partitions is None:
        requested = [(topic.name, range(len(topic.partitions))) for topic in ctx.metadata.topics()]
    else:
        requested = [(topic.topic, topic.partitions) for topic in request.topic_partitions]
    for name, indexes in requested:
        errors: list[tuple[int, KafkaError | None]] = []
        for index in indexes:
            error: KafkaError | None = None
            try:
                ctx.controller.reassignments.elect_leader(name, index, kind == _PREFERRED, ctx.now)
            except KafkaError as failure:
                error = failure.with_traceback(None)
            if not wants_all or error is None or error.code != ErrorCode.election_not_needed:
                errors.append((index, error))
            done += 1
            if done % _PARTITIONS_OF_A_SLICE == 0:
                yield
        results.append((name, errors))
    yield from _respond(ctx, ErrorCode.none, results)


def _topic(item: tuple[str, list[tuple[int, KafkaError | None]]]) -> dict[str, Any]:
    name, partitions = item
    return {"topic": name, "partition_result": Each(_partition, partitions)}


def _partition(item: tuple[int, KafkaError | None]) -> dict[str, Any]:
    index, error = item
    return {
        "partition_id": index,
        "error_code": ErrorCode.none if error is None else error.code,
        "error_message": None if error is None else error.message or None,
    }
