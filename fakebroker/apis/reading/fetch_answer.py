"""The response to a Fetch: the results of the partitions, and which of them it contains.

Theory   Partitions that were read come first, in the order of the request, then unknown ones. Each run of partitions of
         one topic is one entry. In a session (core/fetch_sessions/) only changes are included. A throttled client gets
         no partitions, and its session stays as it is.
Source   core/.../server/KafkaApis.scala handleFetchRequest processResponseCallback; clients/.../requests/FetchResponse
         toMessage @ 4.4.
"""

from __future__ import annotations

from typing import Final, final

from fakebroker.apis.context import RequestContext
from fakebroker.core.fetch_sessions.context import FetchContext
from fakebroker.core.fetch_sessions.session import CachedPartition
from fakebroker.protocol.answers.fetch_response import FetchResponseWriter, PartitionFetchResponse
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.fetch.request import NO_TOPIC_ID, FetchRequest
from fakebroker.protocol.framing import LENGTH_BYTES
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.protocol.slices import Slices, finish

_PARTITIONS_OF_A_SLICE: Final = 64
_NOT_LEADER: Final = ErrorCode.not_leader_or_follower
_FENCED: Final = ErrorCode.fenced_leader_epoch
_NONE: Final = ErrorCode.none
_NO_RESULTS: Final[list[PartitionFetchResponse]] = []  # never changed, like the next one
_NO_ENDPOINTS: Final[list[NodeEndpoint]] = []
_WITH_ENDPOINTS: Final = 16  # since that version
_WITH_IDS: Final = 13
_FLEXIBLE: Final = 12


def respond_error(ctx: RequestContext, request: FetchRequest, code: ErrorCode) -> None:
    """Respond with an error, as FetchRequest.getErrorResponse: up to v12 in each partition, from v7 on also at the
    top."""
    topics = [] if ctx.api_version >= _WITH_IDS else request.topics
    writer = FetchResponseWriter(
        ctx.api_version, ctx.correlation_id, len(topics), ctx.throttle(), code, request.session_id
    )
    for topic in topics:
        writer.topic(topic.name, topic.topic_id, len(topic.partitions))
        for partition in topic.partitions:
            writer.partition(PartitionFetchResponse(partition.index, code))
    ctx.respond_frame(writer.finish())


@final
class _TopicRun:
    """A run of partitions of one topic in the response."""

    __slots__ = ("name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: bytes) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions: list[PartitionFetchResponse] = []


@final
class FetchAnswer:
    """The results of the `interesting` partitions, and the errors of unknown ones.

    is_awaited  the handler has returned, so `complete` sends the response
    """

    __slots__ = (
        "_context", "_ctx", "_erroneous", "_last", "_leaders", "_nameless", "_request", "_results",
        "_throttle_time_ms", "_topics", "_trips", "interesting", "is_awaited", "is_complete",
    )  # fmt: skip

    def __init__(self, ctx: RequestContext, request: FetchRequest, context: FetchContext) -> None:
        self._ctx = ctx
        self._request = request
        self._context = context
        self._results: list[PartitionFetchResponse] = _NO_RESULTS
        self._throttle_time_ms = 0
        self._erroneous: list[tuple[CachedPartition, ErrorCode]] | None = None
        self._nameless: list[tuple[CachedPartition, ErrorCode]] | None = None
        self._topics: list[_TopicRun] = []  # of the response
        self._last: CachedPartition | None = None  # in the response
        self._trips = False
        self._leaders: list[int] | None = None  # leaders named in the response
        self.interesting: list[CachedPartition] = []
        self.is_awaited = False
        self.is_complete = False

    def not_found(self, cached: CachedPartition, code: ErrorCode) -> None:
        """Note a partition that does not exist, or that the client may not read."""
        if self._erroneous is None:
            self._erroneous = []
        self._erroneous.append((cached, code))

    def nameless(self, cached: CachedPartition, code: ErrorCode) -> None:
        """Note a partition of an unknown topic id; these come before those that do not exist."""
        if self._nameless is None:
            self._nameless = []
        self._nameless.append((cached, code))

    def complete(self, results: list[PartitionFetchResponse]) -> None:
        """Store the results, when all interesting partitions are read."""
        self._results = results
        self.is_complete = True
        if self.is_awaited:
            self._send()

    def send_or_wait(self) -> None:
        """Send the response if it is complete; else let `complete` send it."""
        if self.is_complete:
            self._send()
        else:
            self.is_awaited = True

    def _send(self) -> None:
        """Encode the response, and send it."""
        if not self._ask_quotas():
            finish(self._ask_quotas_by_size())
        results, self._results = self._results, _NO_RESULTS
        for cached, result in zip(self.interesting, results, strict=True):
            self._take(cached, result)
        if self._erroneous is not None or self._nameless is not None:
            for cached, code in self._all_erroneous():
                self._take(cached, PartitionFetchResponse(cached.index, code))
        writer = self._written()
        if writer is not None:
            for topic in self._topics:
                writer.topic(topic.name, topic.topic_id, len(topic.partitions))
                for partition in topic.partitions:
                    writer.partition(partition)
            self._ctx.respond_frame(writer.finish(self._endpoints()))

    def in_slices(self) -> Slices[None]:
        """Encode a large response in slices, and send it."""
        if not self._ask_quotas():
            yield from self._ask_quotas_by_size()
        results, self._results = self._results, _NO_RESULTS
        number = 0
        for result in results:
            self._take(self.interesting[number], result)
            number += 1
            if number % _PARTITIONS_OF_A_SLICE == 0:
                yield
        for cached, code in self._all_erroneous():
            self._take(cached, PartitionFetchResponse(cached.index, code))
            number += 1
            if number % _PARTITIONS_OF_A_SLICE == 0:
                yield
        writer = self._written()
        if writer is not None:
            number = 0
            for topic in self._topics:
                writer.topic(topic.name, topic.topic_id, len(topic.partitions))
                for partition in topic.partitions:
                    writer.partition(partition)
                    number += 1
                    if number % _PARTITIONS_OF_A_SLICE == 0:
                        yield
            self._ctx.respond_frame(writer.finish(self._endpoints()))

    def _ask_quotas(self) -> bool:
        """Determine the throttle time. Return False if that needs the size of the response."""
        if self._request.replica_id >= 0:
            self._throttle_time_ms = 0
        elif self._ctx.broker.quotas.fetch.quotas_enabled:
            return False
        else:
            self._throttle_time_ms = self._ctx.throttle()
        return True

    def _ask_quotas_by_size(self) -> Slices[None]:
        size = yield from self._response_size()
        self._throttle_time_ms = self._ctx.throttle(fetched_bytes=size)

    def _record_for_followers(self) -> None:
        """Record the bytes of throttled partitions that go to a follower, as KafkaApis.sizeOfThrottledPartitions does,
        including what encloses them. The quota was checked before the read."""
        ctx = self._ctx
        quotas = ctx.broker.replicas.reader.quotas
        own = quotas.of(ctx.broker.broker_id)
        topics: list[_TopicRun] = []
        for topic in self._topics:
            counted = _TopicRun(topic.name, topic.topic_id)
            for result in topic.partitions:
                partition = ctx.metadata.find_partition(topic.name, result.index)
                if partition is not None and own.throttles_leader(partition.config, result.index):
                    counted.partitions.append(result)
            if counted.partitions:
                topics.append(counted)
        own.leader.record(finish(self._size_of(topics)), quotas.now_ms)

    def _response_size(self) -> Slices[int]:
        """Return FetchResponse.sizeOf: four bytes and the body, without the endpoints."""
        included: list[tuple[CachedPartition, PartitionFetchResponse]] = []
        for cached, result in zip(self.interesting, self._results, strict=True):
            if self._context.would_include(cached, result):
                included.append((cached, result))
        for cached, code in self._all_erroneous():
            result = PartitionFetchResponse(cached.index, code)
            if self._context.would_include(cached, result):
                included.append((cached, result))
        last: CachedPartition | None = None
        topics: list[_TopicRun] = []
        for cached, result in included:
            if last is None or (last.topic_id, last.name) != (cached.topic_id, cached.name):
                topics.append(_TopicRun(cached.name or "", cached.topic_id))
            topics[-1].partitions.append(result)
            last = cached
        return (yield from self._size_of(topics))

    def _size_of(self, topics: list[_TopicRun]) -> Slices[int]:
        ctx = self._ctx
        writer = FetchResponseWriter(ctx.api_version, ctx.correlation_id, len(topics))
        number = 0
        for topic in topics:
            writer.topic(topic.name, topic.topic_id, len(topic.partitions))
            for partition in topic.partitions:
                writer.partition(partition)
                number += 1
                if number % _PARTITIONS_OF_A_SLICE == 0:
                    yield
        tags_of_header = 1 if ctx.api_version >= _FLEXIBLE else 0
        return writer.finish().size - LENGTH_BYTES - tags_of_header

    def _all_erroneous(self) -> list[tuple[CachedPartition, ErrorCode]]:
        """Return the errors of all unknown partitions. Their aborted transactions are an empty list, and null for
        partitions that were read (FetchResponse.partitionResponse)."""
        return [*(self._nameless or ()), *(self._erroneous or ())]

    def _take(self, cached: CachedPartition, result: PartitionFetchResponse) -> None:
        code = result.error_code
        if code != 0 and self._ctx.api_version >= _WITH_ENDPOINTS and code in (_NOT_LEADER, _FENCED):
            self._tell_leader(cached, result)
        if self._throttle_time_ms == 0 and self._context.includes(cached, result):
            self._add(cached, result)

    def _written(self) -> FetchResponseWriter | None:
        """Return a writer with the beginning of the response; None if it is an error."""
        ctx, context = self._ctx, self._context
        if self._trips:
            respond_error(ctx, self._request, ErrorCode.unknown_server_error)
            return None
        error, session_id = context.finish(ctx.client_ms) if self._throttle_time_ms == 0 else context.throttled()
        if error is not _NONE:
            self._topics = []  # wrong epoch: a later request of the session overtook it
        if self._request.replica_id >= 0:
            self._record_for_followers()
        return FetchResponseWriter(
            ctx.api_version, ctx.correlation_id, len(self._topics), self._throttle_time_ms, error, session_id
        )

    def _add(self, cached: CachedPartition, result: PartitionFetchResponse) -> None:
        """Add a result. Kafka fails with a NullPointerException if a partition follows one of an unnamed topic with the
        zero id: FetchResponse.matchingTopic compares their names."""
        last, self._last = self._last, cached
        if last is not None and (
            last.topic_id == cached.topic_id
            if last.topic_id != NO_TOPIC_ID
            else last.name is not None and last.name == cached.name
        ):
            self._topics[-1].partitions.append(result)
            return
        self._trips = self._trips or (last is not None and last.name is None and last.topic_id == NO_TOPIC_ID)
        topic = _TopicRun(cached.name or "", cached.topic_id)
        topic.partitions.append(result)
        self._topics.append(topic)

    def _tell_leader(self, cached: CachedPartition, result: PartitionFetchResponse) -> None:
        partition = None if cached.name is None else self._ctx.metadata.find_partition(cached.name, cached.index)
        if partition is not None:
            result.current_leader = partition.leader_id, partition.leader_epoch
            if self._leaders is None:
                self._leaders = []
            self._leaders.append(partition.leader_id)

    def _endpoints(self) -> list[NodeEndpoint]:
        """Return the addresses of the leaders that the response names; Kafka gives none to a follower."""
        leaders = self._leaders
        if leaders is None or self._request.replica_id >= 0:
            return _NO_ENDPOINTS
        return [broker for broker in self._ctx.metadata.alive_brokers(self._ctx.listener) if broker.node_id in leaders]
