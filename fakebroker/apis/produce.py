"""Produce (API key 0), versions 3-13.

Behaviour      Each partition on its own: unknown topic, then the records as a whole (one batch, magic 2, codec allowed
               by the version), then the append. acks=1 is answered after the append, acks=-1 when the in-sync replicas
               have the records or when the timeout, which starts now, is over: REQUEST_TIMED_OUT with the real base
               offset. acks=0 is never answered; if any partition failed the connection is closed. acks of any other
               value: INVALID_REQUIRED_ACKS for each partition, after unknown topics and bad records were told.
Version notes  v3 record batches only, transactional id; v5 log start offset; v7 zstd; v8 record errors (KIP-467);
               v9 flexible; v10 leader hints (KIP-951); v12 transactions v2 (KIP-890); v13 topic ids.
               v0-v2 are advertised, as Kafka 4 does, because old librdkafka decides by them (KAFKA-18659); who sends
               them is disconnected.
Not done       Transactions: nobody coordinates them, so a transactional batch is answered NOT_ENOUGH_REPLICAS, as by a
               Kafka whose coordinator cannot be reached.
Source         core/.../server/KafkaApis.scala handleProduceRequest @ 4.0, topic ids @ 4.1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.core.replication.delayed_produce import ProducePartitionStatus
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.produce_reader import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
    read_produce_request,
    read_produce_request_in_slices,
)
from fakebroker.protocol.produce_request import is_transactional, producer_in_transaction, validate_records
from fakebroker.protocol.produce_response import (
    NodeEndpoint,
    PartitionProduceResponse,
    TopicProduceResponse,
    encode_appended,
    encode_produce_response,
)
from fakebroker.protocol.topic_partition import TopicPartition

KEY: Final = 0
_ADMIN_CLIENT_ID: Final = "__admin_client"
_UNVERIFIED = (
    "Unable to verify the partition has been added to the transaction. Underlying error: COORDINATOR_NOT_AVAILABLE"
)

_NO_ID: Final = UUID(int=0)
_NO_IDS: Final[dict[str, UUID | None]] = {}
_NONE: Final = ErrorCode.none
_UNKNOWN_SERVER_ERROR: Final = ErrorCode.unknown_server_error
_UNKNOWN_TOPIC_ID: Final = ErrorCode.unknown_topic_id


def error_response(ctx: RequestContext, request: ProduceRequest, code: ErrorCode) -> None:
    """The same error for every partition of the request."""
    _Answer(ctx, request).all_failed(request, code)


@registry.api(
    KEY,
    3,
    13,
    advertised_min_version=0,
    error_response=error_response,
    decode=read_produce_request,
    decode_in_slices=read_produce_request_in_slices,
)
def handle(ctx: RequestContext, request: ProduceRequest) -> None:
    answer = _Answer(ctx, request)
    for listener in ctx.probe.listeners:
        listener.produce_asked(request, [answer.told_name(topic) for topic in request.topic_data])
    try:
        transactional = _has_transactional_records(request)
    except KafkaError as error:  # the header of a first batch cannot be one
        answer.all_failed(request, error.code, error.message)
        return
    if transactional and request.transactional_id is None:
        answer.all_failed(request, ErrorCode.transactional_id_authorization_failed)
        return

    entries: dict[Partition, PartitionProduceData] = {}
    for topic in request.topic_data:
        name = answer.topic_name(topic)
        for data in topic.partition_data:
            partition = None if name is None else ctx.metadata.find_partition(name, data.index)
            code = _UNKNOWN_TOPIC_ID if name is None else _refuse(ctx.api_version, partition, data)
            if code is _UNKNOWN_SERVER_ERROR:
                # Kafka fails on such a partition before it appends any (docs/decisions.md, 9).
                answer.all_failed(request, code)
                return
            if code is _NONE and partition is not None:
                entries[partition] = data
            else:
                answer.failed(topic, data.index, code)
    if transactional:
        try:
            unverified = _in_transaction(entries)
        except KafkaError as error:
            answer.all_failed(request, error.code, error.message)
            return
        for partition in unverified:
            del entries[partition]
            answer.failed_known(partition.topic_partition, ErrorCode.not_enough_replicas, _UNVERIFIED)
    if not entries:
        answer.complete([])
        return
    ctx.replicas.append_records(
        request.timeout_ms,
        request.acks,
        ctx.client_id == _ADMIN_CLIENT_ID,
        entries,
        answer.complete,
        ctx.now,
    )


def _has_transactional_records(request: ProduceRequest) -> bool:
    for topic in request.topic_data:
        for data in topic.partition_data:
            if not data.is_plain and data.records is not None and is_transactional(data.records):
                return True
    return False


def _in_transaction(entries: Mapping[Partition, PartitionProduceData]) -> list[Partition]:
    """The partitions whose batch is part of a transaction; raises KafkaError if it is more than one."""
    producers = {
        partition: producer
        for partition, data in entries.items()
        if data.records is not None and (producer := producer_in_transaction(data.records))
    }
    if len(set(producers.values())) > 1:
        raise KafkaError(
            ErrorCode.invalid_producer_id_mapping, "Transactional records contained more than one producer ID"
        )
    return list(producers)


def _refuse(api_version: int, partition: Partition | None, data: PartitionProduceData) -> ErrorCode:
    """Why this partition of a known topic is not handed to the replica manager; NONE if it is."""
    if partition is None:
        return ErrorCode.unknown_topic_or_partition
    if data.is_plain:
        return _NONE
    if data.records is None:
        return _UNKNOWN_SERVER_ERROR
    try:
        validate_records(data.records, api_version)
    except KafkaError as error:
        return error.code
    return _NONE


class _Answer:
    """Collects what became of each partition, and answers once.

    Holds no record data: a parked request must not pin its payload.
    """

    __slots__ = ("_acks", "_ctx", "_ids", "_results")

    def __init__(self, ctx: RequestContext, request: ProduceRequest) -> None:
        self._ctx = ctx
        self._acks = request.acks
        self._ids = _NO_IDS
        if ctx.api_version >= 13:
            self._ids = dict(self._key(topic) for topic in request.topic_data if topic.topic_id is not None)
        # What is decided, by what names the topic on the wire: (name, id). Mostly empty while the request waits, since
        # very many may wait.
        self._results: dict[tuple[str, UUID | None], dict[int, PartitionProduceResponse]] = {}

    def topic_name(self, topic: TopicProduceData) -> str | None:
        """The name of a topic of the request; None for an id that nobody has."""
        if self._ctx.api_version < 13:
            return topic.name
        return self._key(topic)[0] or None

    def told_name(self, topic: TopicProduceData) -> str:
        """The same for whoever listens: the id, if nobody has it."""
        return self.topic_name(topic) or str(topic.topic_id or _NO_ID)

    def failed(self, topic: TopicProduceData, index: int, code: ErrorCode, message: str | None = None) -> None:
        response = PartitionProduceResponse(index, code, -1, error_message=message)
        self._results.setdefault(self._key(topic), {})[index] = response

    def failed_known(self, tp: TopicPartition, code: ErrorCode, message: str) -> None:
        """The same for a partition that is known."""
        response = PartitionProduceResponse(tp.partition, code, -1, error_message=message)
        self._results.setdefault((tp.topic, self._ids.get(tp.topic)), {}).setdefault(tp.partition, response)

    def all_failed(self, request: ProduceRequest, code: ErrorCode, message: str | None = None) -> None:
        """The request as a whole failed: its bytes do not count, as in Kafka (sendErrorResponseMaybeThrottle)."""
        for topic in request.topic_data:
            for partition in topic.partition_data:
                self.failed(topic, partition.index, code, message)
        self._answer(self._ctx.throttle())

    def complete(self, results: list[ProducePartitionStatus]) -> None:
        """All partitions are decided: `results` are those that went to the replica manager.

        A partition that the request names twice may have been refused once and appended once: the refusal is told.
        """
        ctx = self._ctx
        if len(results) == 1 and not self._results and self._acks != 0:
            # Most answers: one partition, and it is appended.
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
            if response.error_code == ErrorCode.not_leader_or_follower:
                response = self._with_leader_hint(tp, response)
            partitions[tp.partition] = response
        self._answer(ctx.throttle(produced=True, uses_request_time=self._acks != 0))

    def _answer(self, throttle_time_ms: int) -> None:
        if self._acks == 0:
            self._complete_unanswered()
            return
        topics = tuple(
            TopicProduceResponse(name, topic_id, tuple(partitions.values()))
            for (name, topic_id), partitions in self._results.items()
        )
        ctx = self._ctx
        endpoints = self._leader_endpoints(topics)
        frame = encode_produce_response(ctx.api_version, ctx.correlation_id, topics, throttle_time_ms, endpoints)
        self._respond(topics, frame)

    def _respond(self, topics: tuple[TopicProduceResponse, ...], frame: bytes) -> None:
        """The frame says what the topics do; whoever listens is told those; if nobody does they may be missing."""
        ctx = self._ctx
        for listener in ctx.probe.listeners:
            listener.produce_answered(ctx.connection, topics)
        ctx.respond_frame(frame)

    def _complete_unanswered(self) -> None:
        for (name, _), partitions in self._results.items():
            for index, response in partitions.items():
                if response.error_code != ErrorCode.none:
                    error = kafka_name(response.error_code)
                    self._ctx.close(f"a produce request with acks=0 failed: {error} on {name}-{index}")
                    return
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
