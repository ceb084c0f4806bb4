"""The producer's requests as bytes, and its responses from bytes.

Theory   Values are written for the newest version; older versions leave out the fields that they do not have. The
         requests of the transaction manager are in transaction_frames.py.
Source   clients/.../common/requests/{ProduceRequest,MetadataRequest,ApiVersionsRequest}.java and their responses.
         Sender.sendProduceRequest and, before 2.8, ProduceRequest.toStruct for the order of topics and partitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final, final
from uuid import UUID

from fakebroker.producer.client.transaction_frames import transaction_response, transaction_values
from fakebroker.producer.generation import Generation
from fakebroker.producer.hash_map import HashMap
from fakebroker.producer.metadata.metadata_response import (
    NO_TOPIC_ID,
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
)
from fakebroker.producer.metadata_snapshot import NO_EPOCH, NO_LEADER, Node, PartitionInfo
from fakebroker.producer.network.client_request import BrokerApiVersions, ClientRequest, ExpectedBroker
from fakebroker.producer.network.node_api_versions import API_VERSIONS, METADATA, ApiVersion
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.sending.client import ClientProduceRequest, TransactionalRequest
from fakebroker.producer.sending.response_errors import PartitionResponse
from fakebroker.producer.transactions.api_versions import NO_FEATURES_EPOCH
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.headers import encode_request_header
from fakebroker.protocol.java_hash import java_hash
from fakebroker.protocol.messages import decode_response, is_flexible, request_frame
from fakebroker.protocol.sent.produce_answer import PlainAnswer, read_plain_answer
from fakebroker.protocol.sent.produce_frame import FIRST_WITH_ID, TopicData, encode_produce_request
from fakebroker.protocol.topic_partition import TopicPartition, shared
from timingwheel.mypyc import mypyc_attr

_SOFTWARE: Final = "apache-kafka-java"  # the name of Kafka's Java client
_FEATURE: Final = "transaction.version"
_MILLISECOND: Final = timedelta(milliseconds=1)
_NO_ID: Final = UUID(int=0)
_CORRELATION_ID: Final = 4  # size of the correlation id at the start of a response
_LENGTH: Final = 4  # size of the length before a frame
_NO_CORRELATION_ID: Final = bytes(_CORRELATION_ID)
_REMEMBERED: Final = 64  # cached responses and metadata requests


@final
class ProduceBody:
    """A Produce request, and the ids of its topics when it was sent (KIP-516)."""

    __slots__ = ("request", "topic_ids")

    def __init__(self, request: ClientProduceRequest, topic_ids: Mapping[str, str]) -> None:
        self.request = request
        self.topic_ids = topic_ids


@mypyc_attr(acyclic=True)
@final
class ProduceResponse:
    """A Produce response: the results of the partitions, and the leaders named with them (KIP-951)."""

    __slots__ = ("answers", "leaders", "nodes", "throttle_time_ms")

    def __init__(
        self, answers: list[PartitionResponse], leaders: list[PartitionInfo], nodes: list[Node], throttle_time_ms: int
    ) -> None:
        self.answers = answers
        self.leaders = leaders
        self.nodes = nodes
        self.throttle_time_ms = throttle_time_ms


def encode(request: ClientRequest, client_id: str, generation: Generation) -> bytes:
    """Return the whole frame, including its length."""
    if isinstance(request.body, ProduceBody):
        return _produce_frame(request, request.body, client_id, generation)
    if isinstance(request.body, MetadataRequest):
        return _metadata_frame(request, tuple(request.body.topics), client_id)
    if isinstance(request.body, TransactionalRequest):
        values = transaction_values(request.body.request)
    else:
        expected = request.body
        assert isinstance(expected, ExpectedBroker), f"no frame is known for the API {request.api_key}"
        values = {
            "client_software_name": _SOFTWARE,
            "client_software_version": f"{generation.name}.0",
            "cluster_id": expected.cluster_id,
            "node_id": expected.node_id,
        }
    return request_frame(request.api_key, request.version, values, request.correlation_id, client_id)


def decode(request: ClientRequest, frame: bytes) -> tuple[object, int]:
    """Return the content of a response frame without its length, and the throttle time in milliseconds. Raises
    ProtocolError, also for the response to another request."""
    correlation_id = int.from_bytes(frame[:_CORRELATION_ID], "big", signed=True)
    if len(frame) >= _CORRELATION_ID and correlation_id != request.correlation_id:
        raise ProtocolError(f"an answer to {correlation_id} came where {request.correlation_id} was to be answered")
    if request.api_key == API_VERSIONS:
        api_versions = _read_api_versions(request.version, frame[_CORRELATION_ID:])
        return api_versions, api_versions.throttle_time_ms
    if request.api_key == METADATA:
        metadata = _read_metadata(request.version, frame[_CORRELATION_ID:])
        return metadata, metadata.throttle_time_ms
    if isinstance(request.body, ProduceBody):
        usual = read_plain_answer(frame, request.version)
        if usual is not None:
            response = _usual_response(usual, request.body)
            _check_partitions(response.answers, request.body.request)
            return response, usual.throttle_ms
    _, answer = decode_response(request.api_key, request.version, frame)
    throttle_ms = _throttle_ms(answer)
    if isinstance(request.body, TransactionalRequest):
        return transaction_response(request.body.request, answer), throttle_ms
    assert isinstance(request.body, ProduceBody)
    response = _produce_response(answer, request.body, throttle_ms)
    _check_partitions(response.answers, request.body.request)
    return response, throttle_ms


def _check_partitions(answers: Sequence[PartitionResponse], request: ClientProduceRequest) -> None:
    """Check that each sent partition has exactly one result. Raises ProtocolError."""
    for answer in answers:
        if request.batches.get(answer.partition) is None:
            raise ProtocolError(f"{answer.partition} is answered, to which nothing was sent")
    if len({answer.partition for answer in answers}) != len(answers) or len(answers) != len(request.batches):
        raise ProtocolError(f"{len(answers)} answers came where {len(request.batches)} partitions were to be answered")


def _produce_frame(request: ClientRequest, body: ProduceBody, client_id: str, generation: Generation) -> bytes:
    """Encode a Produce request by hand, as producers send little else (`python -m benchmarks producers`)."""
    topics: dict[str, list[tuple[int, bytes | None]]] = {}
    for batch in body.request.drained if generation.sends_as_drained else _as_maps_have_them(body.request):
        topics.setdefault(batch.partition.topic, []).append((batch.partition.partition, batch.records()))
    topic_data: list[TopicData] = []
    for topic, partitions in topics.items():
        is_by_id = request.version >= FIRST_WITH_ID
        topic_data.append((_uuid(body.topic_ids.get(topic, NO_TOPIC_ID)) if is_by_id else topic, partitions))
    return encode_produce_request(
        request.version,
        request.correlation_id,
        client_id,
        body.request.acks,
        body.request.timeout_ms,
        topic_data,
        body.request.transactional_id,
    )


def _as_maps_have_them(request: ClientProduceRequest) -> list[ProducerBatch]:
    """Return the batches by topic and partition, in the order of Java's maps."""
    topics: HashMap[str, HashMap[int, ProducerBatch]] = HashMap(java_hash)
    for partition, batch in request.batches.items():
        of_topic = topics.get(partition.topic)
        if of_topic is None:
            of_topic = HashMap(int)
            topics.put(partition.topic, of_topic)
        of_topic.put(partition.partition, batch)
    return [batch for _, of_topic in topics.items() for _, batch in of_topic.items()]


def _metadata_frame(request: ClientRequest, topics: tuple[str, ...], client_id: str) -> bytes:
    flexible = is_flexible(METADATA, request.version)
    header = encode_request_header(METADATA, request.version, request.correlation_id, client_id, flexible)
    body = _metadata_body(request.version, topics, flexible)
    return (len(header) + len(body)).to_bytes(_LENGTH, "big") + header + body


@lru_cache(maxsize=_REMEMBERED)
def _metadata_body(version: int, topics: tuple[str, ...], flexible: bool) -> bytes:
    """Return a cached request body, as all producers repeat the same request."""
    values = {
        "topics": [{"name": topic} for topic in topics],
        "allow_auto_topic_creation": True,
    }
    frame = request_frame(METADATA, version, values, 0, None)
    return frame[_LENGTH + len(encode_request_header(METADATA, version, 0, None, flexible)) :]


def _throttle_ms(answer: Any) -> int:
    throttle_ms: int = getattr(answer, "throttle_time", timedelta()) // _MILLISECOND
    return throttle_ms


# A broker sends all of its clients the same response, which is decoded once. No caller changes the result.


@lru_cache(maxsize=_REMEMBERED)
def _read_api_versions(version: int, body: bytes) -> BrokerApiVersions:
    try:
        _, answer = decode_response(API_VERSIONS, version, _NO_CORRELATION_ID + body)
    except ProtocolError:  # the broker does not know the version and uses 0
        _, answer = decode_response(API_VERSIONS, 0, _NO_CORRELATION_ID + body)
    return _api_versions_response(answer, _throttle_ms(answer))


@lru_cache(maxsize=_REMEMBERED)
def _read_metadata(version: int, body: bytes) -> MetadataResponse:
    _, answer = decode_response(METADATA, version, _NO_CORRELATION_ID + body)
    return _metadata_response(answer, version, _throttle_ms(answer))


def _api_versions_response(answer: Any, throttle_ms: int) -> BrokerApiVersions:
    ranges = [ApiVersion(int(one.api_key), int(one.min_version), int(one.max_version)) for one in answer.api_keys]
    level = next(
        (int(one.max_version_level) for one in getattr(answer, "finalized_features", ()) if one.name == _FEATURE), 0
    )
    epoch = int(getattr(answer, "finalized_features_epoch", NO_FEATURES_EPOCH))
    return BrokerApiVersions(ranges, int(answer.error_code), throttle_ms, epoch, level)


def _metadata_response(answer: Any, version: int, throttle_ms: int) -> MetadataResponse:
    topics = [
        TopicMetadata(
            topic.name,
            [
                PartitionMetadata(
                    int(one.partition_index),
                    int(one.leader_id),
                    int(getattr(one, "leader_epoch", NO_EPOCH)),
                    int(one.error_code),
                )
                for one in topic.partitions
            ],
            int(topic.error_code),
            _text(getattr(topic, "topic_id", None)),
        )
        for topic in answer.topics
        if topic.name is not None
    ]
    whole_error = int(getattr(answer, "error_code", ErrorCode.none))
    cluster_id = getattr(answer, "cluster_id", None)
    return MetadataResponse(_nodes(answer.brokers), topics, version, throttle_ms, whole_error, cluster_id)


def _usual_response(usual: PlainAnswer, body: ProduceBody) -> ProduceResponse:
    answers: list[PartitionResponse] = []
    for one in usual.partitions:
        name = one.topic if isinstance(one.topic, str) else _name_of(one.topic, body)
        answers.append(PartitionResponse(shared(name, one.partition), one.error_code, one.base_offset))
    return ProduceResponse(answers, [], [], usual.throttle_ms)


def _name_of(topic_id: bytes, body: ProduceBody) -> str:
    for topic, text in body.topic_ids.items():
        if _raw_id(text) == topic_id:
            return topic
    raise ProtocolError(f"the response has a topic that was not sent: {UUID(bytes=topic_id)}")


def _produce_response(answer: Any, body: ProduceBody, throttle_ms: int) -> ProduceResponse:
    names = {topic_id: topic for topic, topic_id in body.topic_ids.items()}
    answers: list[PartitionResponse] = []
    leaders: list[PartitionInfo] = []
    for topic in answer.responses:
        name = getattr(topic, "name", None) or names.get(_text(getattr(topic, "topic_id", None)))
        if name is None:
            raise ProtocolError(f"the response has a topic that was not sent: {topic.topic_id}")
        for one in topic.partition_responses:
            partition = TopicPartition(name, int(one.index))
            refused = tuple(int(record.batch_index) for record in getattr(one, "record_errors", ()))
            answers.append(PartitionResponse(partition, int(one.error_code), int(one.base_offset), refused))
            leader = getattr(one, "current_leader", None)
            if leader is not None and leader.leader_id != NO_LEADER and leader.leader_epoch != NO_EPOCH:
                leaders.append(PartitionInfo(partition, int(leader.leader_id), int(leader.leader_epoch)))
    return ProduceResponse(answers, leaders, _nodes(getattr(answer, "node_endpoints", ())), throttle_ms)


def _nodes(brokers: Sequence[Any]) -> list[Node]:
    return [Node(int(one.node_id), str(one.host), int(one.port)) for one in brokers]


@lru_cache(maxsize=1_000)
def _raw_id(text: str) -> bytes:
    return _uuid(text).bytes


@lru_cache(maxsize=1_000)
def _uuid(text: str) -> UUID:
    return _NO_ID if text == NO_TOPIC_ID else UUID(text)


def _text(topic_id: UUID | None) -> str:
    return NO_TOPIC_ID if topic_id is None or topic_id == _NO_ID else str(topic_id)
