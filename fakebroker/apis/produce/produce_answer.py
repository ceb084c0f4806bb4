"""The response to a Produce request, made from the results of its partitions.

Source   core/.../server/KafkaApis.scala handleProduceRequest (sendResponseCallback, getCurrentLeader) @ 4.0;
         clients/.../common/requests/ProduceRequest.java getErrorResponse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, final
from uuid import UUID

from fakebroker.apis.context import RequestContext
from fakebroker.core.journal.events import Answer
from fakebroker.core.replication.delayed_produce import ProducePartitionStatus
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.produce_reader import ProduceRequest, TopicProduceData
from fakebroker.protocol.produce_response import (
    NodeEndpoint,
    PartitionProduceResponse,
    TopicProduceResponse,
    encode_appended,
    encode_produce_response,
    encode_produce_response_in_slices,
)
from fakebroker.protocol.slices import Slices, begin, made_of
from fakebroker.protocol.topic_partition import TopicPartition

_NONE: Final = int(ErrorCode.none)
_NOT_LEADER: Final = int(ErrorCode.not_leader_or_follower)
_MANY: Final = 256  # partitions of a response that is encoded in slices
_SHOWN: Final = 10  # partitions in a line of the log
_NO_ID: Final = UUID(int=0)
_NO_IDS: Final[dict[str, UUID | None]] = {}


@final
class ProduceAnswer:
    """The results of the partitions so far; it responds once.

    Holds no record data: a parked request must not pin its payload.
    """

    __slots__ = ("_acks", "_ctx", "_ids", "_results")

    def __init__(self, ctx: RequestContext, acks: int) -> None:
        self._ctx = ctx
        self._acks = acks
        self._ids = _NO_IDS
        # The results by the topic's key on the wire: (name, id). Mostly empty while the request is parked, because very
        # many may be.
        self._results: dict[tuple[str, UUID | None], dict[int, PartitionProduceResponse]] = {}

    def topic_name(self, topic: TopicProduceData) -> str | None:
        """Return the name of a topic of the request; None for an unknown id."""
        if self._ctx.api_version < 13:
            return topic.name
        return self._key(topic)[0] or None

    def know(self, topic: TopicProduceData) -> str:
        """Take note of a topic of the request. Return its name for listeners; for an unknown id, the id."""
        if self._ctx.api_version < 13:
            return topic.name
        name, topic_id = self._key(topic)
        if topic_id is not None:
            if not self._ids:
                self._ids = {}
            self._ids[name] = topic_id
        return name or str(topic_id or _NO_ID)

    def failed(self, topic: TopicProduceData, index: int, code: ErrorCode, message: str | None = None) -> None:
        response = PartitionProduceResponse(index, code, -1, error_message=message)
        self._results.setdefault(self._key(topic), {})[index] = response

    def failed_known(self, tp: TopicPartition, code: ErrorCode, message: str | None) -> None:
        """Note the error of a partition of a known topic."""
        response = PartitionProduceResponse(tp.partition, code, -1, error_message=message)
        self._results.setdefault((tp.topic, self._ids.get(tp.topic)), {}).setdefault(tp.partition, response)

    def all_failed(self, request: ProduceRequest, code: ErrorCode, message: str | None = None) -> None:
        """Fail the whole request. Its bytes do not count for quotas, as in Kafka (sendErrorResponseMaybeThrottle)."""
        failing = begin(self._fail_all(request, code, message))
        if failing is not None:
            self._ctx.transactions.in_turns.go_on("an answer to Produce", failing)

    def _fail_all(self, request: ProduceRequest, code: ErrorCode, message: str | None) -> Slices[None]:
        failed = 0
        for topic in request.topic_data:
            for partition in topic.partition_data:
                self.failed(topic, partition.index, code, message)
                failed += 1
                if failed % _MANY == 0:
                    yield
        self._answer(self._ctx.throttle())

    def complete(self, results: list[ProducePartitionStatus]) -> None:
        """Respond, when all partitions are done. `results` are those from the replica manager.

        If the request names a partition twice, one entry may have been refused and one appended: the response has the
        refusal.
        """
        ctx = self._ctx
        if len(results) == 1 and not self._results and self._acks != 0:
            # The common case: one partition, and it is appended.
            name = results[0].topic_partition.topic
            response = results[0].response
            if response.error_code == 0:
                topic_id = self._ids.get(name)
                throttle_time_ms = ctx.throttle(produced=True)
                topics = (TopicProduceResponse(name, topic_id, (response,)),) if ctx.probe.listeners else ()
                frame = encode_appended(ctx.api_version, ctx.correlation_id, name, topic_id, response, throttle_time_ms)
                self._respond(topics, frame)
                return
        for entry in results:
            tp, response = entry.topic_partition, entry.response
            partitions = self._results.setdefault((tp.topic, self._ids.get(tp.topic)), {})
            if tp.partition in partitions:
                continue
            if response.error_code == _NOT_LEADER:
                response = self._with_leader_hint(tp, response)
            partitions[tp.partition] = response
        self._answer(ctx.throttle(produced=True, uses_request_time=self._acks != 0))

    def _answer(self, throttle_time_ms: int) -> None:
        if self._acks == 0:
            self._complete_unanswered()
            return
        ctx = self._ctx
        if sum(map(len, self._results.values())) > _MANY:
            ctx.transactions.in_turns.go_on("an answer to Produce", self._answer_in_slices(throttle_time_ms))
            return
        topics = tuple(map(_topic_response, self._results.items()))
        endpoints = self._leader_endpoints(topics)
        frame = encode_produce_response(ctx.api_version, ctx.correlation_id, topics, throttle_time_ms, endpoints)
        self._respond(topics, frame)

    def _answer_in_slices(self, throttle_time_ms: int) -> Slices[None]:
        ctx = self._ctx
        topics = tuple((yield from made_of(self._results.items(), _topic_response)))
        endpoints = self._leader_endpoints(topics)
        frame = yield from encode_produce_response_in_slices(
            ctx.api_version, ctx.correlation_id, topics, throttle_time_ms, endpoints
        )
        last_piece: list[TopicProduceResponse] = []
        for some in _in_pieces(topics) if ctx.probe.listeners else ():
            if last_piece:
                ctx.trail.add_results(last_piece, has_more=True)
                yield
            last_piece = some
        self._respond(tuple(last_piece), frame)

    def _respond(self, topics: tuple[TopicProduceResponse, ...], frame: bytes) -> None:
        """Send the frame. `topics` has the same content for listeners; without listeners it may be empty."""
        if self._ctx.probe.listeners and self._ctx.probe.hears(Answer):
            self._ctx.trail.add_results(topics)
        self._ctx.respond_frame(frame)

    def _complete_unanswered(self) -> None:
        failed = [
            (response.error_code, name, index)
            for (name, _), partitions in self._results.items()
            for index, response in partitions.items()
            if response.error_code != _NONE
        ]
        if failed:
            shown = [f"{kafka_name(code)} on {name}-{index}" for code, name, index in failed[:_SHOWN]]
            self._ctx.close(failed_unanswered(self._ctx.correlation_id, self._ctx.client_id, shown, len(failed)))
        else:
            self._ctx.respond_nothing()

    def _key(self, topic: TopicProduceData) -> tuple[str, UUID | None]:
        if self._ctx.api_version < 13:
            return topic.name, None
        known = None if topic.topic_id is None else self._ctx.metadata.topic_by_id(topic.topic_id)
        return (known.name if known else ""), topic.topic_id

    def _with_leader_hint(self, tp: TopicPartition, response: PartitionProduceResponse) -> PartitionProduceResponse:
        leader = self._ctx.metadata.find_partition(tp.topic, tp.partition)
        if leader is None or self._ctx.api_version < 10:
            return response
        response.current_leader = leader.leader_id, leader.leader_epoch
        return response

    def _leader_endpoints(self, topics: tuple[TopicProduceResponse, ...]) -> tuple[NodeEndpoint, ...]:
        leaders = {p.current_leader[0] for t in topics for p in t.partitions if p.current_leader is not None}
        if not leaders:
            return ()
        ctx = self._ctx
        return tuple(broker for broker in ctx.metadata.alive_brokers(ctx.listener) if broker.node_id in leaders)


def _topic_response(
    result: tuple[tuple[str, UUID | None], dict[int, PartitionProduceResponse]],
) -> TopicProduceResponse:
    (name, topic_id), partitions = result
    return TopicProduceResponse(name, topic_id, tuple(partitions.values()))


def _in_pieces(topics: Sequence[TopicProduceResponse]) -> Iterator[list[TopicProduceResponse]]:
    """Yield the topics some partitions at a time; one with very many partitions comes several times."""
    some: list[TopicProduceResponse] = []
    count = 0
    for topic in topics:
        for start in range(0, len(topic.partitions), _MANY):
            partitions = topic.partitions[start : start + _MANY]
            some.append(TopicProduceResponse(topic.name, topic.topic_id, partitions))
            count += len(partitions)
            if count >= _MANY:
                yield some
                some, count = [], 0
    yield some


def failed_unanswered(correlation_id: int, client_id: str, failed: Sequence[str], count: int) -> str:
    """Return why the connection is closed: which request with acks=0 failed, and for what. `failed` are at least the
    first ten of `count` partitions."""
    more = f" and {count - _SHOWN:,} more" if count > _SHOWN else ""
    what = ", ".join(failed[:_SHOWN]) + more
    return f"a produce request with acks=0, correlation id {correlation_id}, client id {client_id!r} failed: {what}"
