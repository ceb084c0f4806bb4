"""Fetch (API key 1), versions 4-18, for consumers and for followers over the wire.

Behaviour      A consumer reads below the high watermark, so a record that acks=all waits for, or timed out on,
               is not seen before it is replicated. The last batch is cut where the limit is. A replica id makes it the
               fetch of a follower: it reads up to the leader's log end and tells the leader how far it has come, which
               moves the watermark. Waits in the fetch purgatory up to MaxWaitMs for MinBytes. A partition that nobody
               knows is told so in the answer, which waits for the others all the same.
Version notes  v5 log start offset; v7 sessions (KIP-227): none is ever made, which is allowed, and one that the client
               believes in is FETCH_SESSION_ID_NOT_FOUND; v9 leader epoch; v10 zstd; v11 a consumer may ask a follower
               (KIP-392) and reads up to the watermark that it knows; v12 flexible, last fetched and diverging epochs
               (KIP-595); v13 topic ids; v15 replica state (KIP-903); v16 node endpoints (KIP-951).
Not done       Preferred read replicas; transactions.
Source         core/.../server/KafkaApis.scala handleFetchRequest, FetchSession.scala newContext @ 4.0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final, final
from uuid import UUID

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.core.replication.fetch import FetchParams, FetchPartition, FetchResult
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.reads import PARTITIONS_OF_A_SLICE
from fakebroker.protocol.answers.fetch_response import FetchResponseWriter, PartitionFetchResponse
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.protocol.slices import Slices, finish

if TYPE_CHECKING:
    from kio.schema.fetch.v18.request import FetchPartition as RequestedPartition
    from kio.schema.fetch.v18.request import FetchRequest, FetchTopic

KEY: Final = 1
_MILLISECOND: Final = timedelta(milliseconds=1)
_FULL_FETCH_EPOCHS: Final = (0, -1)  # make a session; make none
_ISOLATION_LEVELS: Final = (0, 1)  # read uncommitted, read committed
_LEADER_IS_ELSEWHERE: Final = (ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch)


def error_response(ctx: RequestContext, request: FetchRequest, code: ErrorCode) -> None:
    """FetchRequest.getErrorResponse: up to v12 each partition tells it, and from v7 on the code of the whole."""
    answer = _Answer(ctx)
    if ctx.api_version < 13:
        for topic in request.topics:
            answer.topics.append(_topic_failed(topic, code, topic.partitions))
    answer.send(code)


@registry.api(KEY, 4, 18, error_response=error_response)
def handle(ctx: RequestContext, request: FetchRequest) -> Slices[None] | None:
    if getattr(request, "session_epoch", -1) not in _FULL_FETCH_EPOCHS:
        _Answer(ctx).send(ErrorCode.fetch_session_id_not_found)
        return None
    count = 0
    for topic in request.topics:
        count += len(topic.partitions)
    work = _handle(ctx, request)
    if count >= PARTITIONS_OF_A_SLICE:
        return work
    finish(work)
    return None


def _handle(ctx: RequestContext, request: FetchRequest) -> Slices[None]:
    wanted: dict[Partition, FetchPartition] = {}  # of one that is named twice the last counts
    answer = _Answer(ctx)
    answer.read_committed = request.isolation_level == 1
    looked_at = 0
    for topic in request.topics:
        name = getattr(topic, "topic", None) if ctx.api_version < 13 else _name_of(ctx, topic)
        if name is None:
            asked = {p.partition: p for p in topic.partitions}
            answer.unknown.append(_topic_failed(topic, ErrorCode.unknown_topic_id, tuple(asked.values())))
            continue
        if ctx.api_version >= 13 and topic.topic_id is not None:
            answer.ids[name] = topic.topic_id
        missing: dict[int, RequestedPartition] = {}
        for p in topic.partitions:
            looked_at += 1
            if looked_at % PARTITIONS_OF_A_SLICE == 0:
                yield
            partition = ctx.metadata.find_partition(name, p.partition)
            if partition is None:
                missing[p.partition] = p
            else:
                wanted[partition] = FetchPartition(
                    partition,
                    p.fetch_offset,
                    p.partition_max_bytes,
                    max(getattr(p, "current_leader_epoch", -1), -1),  # every negative epoch is none
                    max(getattr(p, "last_fetched_epoch", -1), -1),
                )
        if missing:
            code = ErrorCode.unknown_topic_or_partition
            answer.unknown.append(_topic_failed(topic, code, tuple(missing.values())))
    if wanted and request.isolation_level not in _ISOLATION_LEVELS:
        raise KafkaError(ErrorCode.unknown_server_error, f"Unknown isolation level {request.isolation_level}")

    params = _params(ctx, request)
    answer.is_exempt = params.is_from_follower
    answer.on_tripped_over = lambda: error_response(ctx, request, ErrorCode.unknown_server_error)
    yield from ctx.replicas.fetch_messages(params, tuple(wanted.values()), answer.complete, ctx.now)
    if answer.is_complete:
        yield from answer.in_slices()
    else:
        answer.is_awaited = True


def _params(ctx: RequestContext, request: FetchRequest) -> FetchParams:
    replica_id, replica_epoch = getattr(request, "replica_id", None), -1
    if replica_id is None:
        replica_id, replica_epoch = request.replica_state.replica_id, request.replica_state.replica_epoch
    return FetchParams(
        max_wait_ms=request.max_wait // _MILLISECOND,
        min_bytes=request.min_bytes,
        max_bytes=request.max_bytes,
        replica_id=int(replica_id),
        replica_epoch=replica_epoch,
        read_committed=request.isolation_level == 1,
        has_client_metadata=ctx.api_version >= 11,
    )


def _name_of(ctx: RequestContext, topic: FetchTopic) -> str | None:
    known = None if topic.topic_id is None else ctx.metadata.topic_by_id(topic.topic_id)
    return known.name if known else None


@final
class _Topic:
    """Partitions of a topic, as the answer has them. Up to v12 it goes by its name, then by its id."""

    __slots__ = ("name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: UUID | None, partitions: list[PartitionFetchResponse]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions


def _topic_failed(topic: FetchTopic, code: ErrorCode, partitions: Sequence[RequestedPartition]) -> _Topic:
    # Nobody looked for aborted transactions: an empty list all the same, where what was read has null
    # (FetchResponse.partitionResponse).
    failed = [PartitionFetchResponse(p.partition, code) for p in partitions]
    return _Topic(getattr(topic, "topic", ""), getattr(topic, "topic_id", None), failed)


@final
class _Answer:
    """What became of each partition: of those that are `unknown`, and of those that were read.

    ids         by which the request named topics: one may be deleted while the request waits
    is_awaited  nobody comes back to send it: whoever completes it does
    """

    __slots__ = (
        "_ctx", "_results", "ids", "is_awaited", "is_complete", "is_exempt", "on_tripped_over", "read_committed",
        "topics", "unknown",
    )  # fmt: skip

    def __init__(self, ctx: RequestContext) -> None:
        self._ctx = ctx
        self._results: Sequence[FetchResult] = ()
        self.ids: dict[str, UUID] = {}
        self.unknown: list[_Topic] = []
        self.topics: list[_Topic] = []  # of the answer
        self.read_committed = False
        self.is_exempt = False  # from throttling
        self.is_awaited = False
        self.is_complete = False
        self.on_tripped_over: Callable[[], None] | None = None

    def complete(self, results: Sequence[FetchResult]) -> None:
        """All is read."""
        self._results = results
        self.is_complete = True
        if self.is_awaited:
            finish(self.in_slices())

    def in_slices(self) -> Slices[None]:
        """Put the answer together, and send it."""
        results, self._results = self._results, ()
        is_tripped_over = False
        last: _Topic | None = None
        for number, result in enumerate(results):
            if number % PARTITIONS_OF_A_SLICE == PARTITIONS_OF_A_SLICE - 1:
                yield
            topic = _Topic(
                result.topic_partition.topic, self.ids.get(result.topic_partition.topic), [self._partition(result)]
            )
            is_tripped_over |= self._add(topic, last)
            last = topic
        for topic in self.unknown:
            is_tripped_over |= self._add(topic, last)
            last = topic
        if is_tripped_over and self.on_tripped_over is not None:
            self.on_tripped_over()
            return
        yield from self._send(ErrorCode.none)

    def _add(self, topic: _Topic, last: _Topic | None) -> bool:
        """One entry for each row of neighbours that name the same topic, as in FetchResponse.toMessage. True where
        FetchResponse.matchingTopic trips: whether what comes behind an id of zeros belongs to it is looked up by name,
        and such a topic has none. NullPointerException."""
        by_id = self._ctx.api_version >= 13
        trips = by_id and (
            (last is not None and last.topic_id is None) or (topic.topic_id is None and len(topic.partitions) > 1)
        )
        before = self.topics[-1] if self.topics else None
        if before is not None and (before.topic_id == topic.topic_id if by_id else before.name == topic.name):
            before.partitions += topic.partitions
        else:
            self.topics.append(_Topic(topic.name, topic.topic_id, list(topic.partitions)))
        return trips

    def _partition(self, result: FetchResult) -> PartitionFetchResponse:
        ctx, code = self._ctx, result.error_code
        leader = None
        if ctx.api_version >= 16 and code in _LEADER_IS_ELSEWHERE:
            partition = ctx.metadata.find_partition(*result.topic_partition)
            if partition is not None:
                leader = partition.leader_id, partition.leader_epoch
        return PartitionFetchResponse(
            result.topic_partition.partition,
            code,
            result.high_watermark,
            result.last_stable_offset,
            result.log_start_offset,
            result.records,
            self.read_committed and code == ErrorCode.none and result.diverging_epoch is None,
            result.diverging_epoch,
            leader,
        )

    def send(self, code: ErrorCode) -> None:
        finish(self._send(code))

    def _send(self, code: ErrorCode) -> Slices[None]:
        ctx = self._ctx
        throttle_time_ms = 0 if self.is_exempt else ctx.throttle()
        endpoints = self._leader_endpoints()
        if throttle_time_ms > 0:
            self.topics = []  # FetchContext.getThrottledResponse: nothing is read for a client that is throttled
        writer = FetchResponseWriter(ctx.api_version, ctx.correlation_id, len(self.topics), throttle_time_ms, code)
        written = 0
        for topic in self.topics:
            writer.topic(topic.name, topic.topic_id, len(topic.partitions))
            for partition in topic.partitions:
                writer.partition(partition)
                written += 1
                if written % PARTITIONS_OF_A_SLICE == 0:
                    yield
        ctx.respond_in_pieces(writer.finish(endpoints))

    def _leader_endpoints(self) -> Sequence[NodeEndpoint]:
        """The addresses of the leaders that the answer names."""
        if self._ctx.api_version < 16:
            return ()
        leaders = {p.current_leader[0] for t in self.topics for p in t.partitions if p.current_leader is not None}
        if not leaders:
            return ()
        return [broker for broker in self._ctx.metadata.alive_brokers(self._ctx.listener) if broker.node_id in leaders]
