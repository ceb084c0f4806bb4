"""The messages that the load sends, as bytes, and their responses.

Theory   Metadata returns the leaders, Produce is the load, InitProducerId comes before idempotent batches, and
         ApiVersions is the probe for a live connection. The versions are fixed, so a run sends the same bytes to every
         broker. Every Kafka since 2.8 reads Produce v9, Metadata v9 and InitProducerId v4; every Kafka reads
         ApiVersions v0.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from kio.schema.init_producer_id.v4.response import InitProducerIdResponse
from kio.schema.metadata.v9.response import MetadataResponse, MetadataResponsePartition
from kio.schema.produce.v9.response import ProduceResponse

from fakebroker.protocol.compression import Codec, compress
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.messages import decode_response, request_frame
from fakebroker.protocol.record_batch import (
    RECORD_BATCH_OVERHEAD,
    Record,
    encode_record,
    pack_batch,
    read_batch_header,
)
from fakebroker.protocol.sent.produce_frame import encode_produce_request

CLIENT_ID = "fakebroker-load"
PRODUCE, METADATA, API_VERSIONS, INIT_PRODUCER_ID = 0, 3, 18, 22
PRODUCE_VERSION, METADATA_VERSION, API_VERSIONS_VERSION, INIT_PRODUCER_ID_VERSION = 9, 9, 0, 4

# A response for one partition: error, base offset, append time, log start offset, then no record errors, no message, no
# tags of the partition and of the topic. The throttle time and no tags follow.
_USUAL = Struct(">hqqq4siB")
_NOTHING_ELSE = b"\x01\x00\x00\x00"
_BEHIND_DELTAS = 3  # of a record: attributes, timestamp and offset deltas of 0
_ERROR_CODES = frozenset(int(code) for code in ErrorCode)


class ProduceResult(NamedTuple):
    topic: str
    partition: int
    error_code: int
    base_offset: int
    throttle_ms: int = 0
    append_ms: int | None = None  # log append time, of a topic with such times


def encode_produce(
    *,
    correlation_id: int,
    acks: int,
    timeout_ms: int,
    topics: Sequence[tuple[str, Sequence[tuple[int, bytes]]]],
    client_id: str = CLIENT_ID,
    transactional_id: str | None = None,
) -> bytes:
    """Return a whole frame with a batch for each partition of each topic."""
    return encode_produce_request(
        PRODUCE_VERSION, correlation_id, client_id, acks, timeout_ms, topics, transactional_id
    )


def compressed(batch: bytes, codec: Codec) -> bytes:
    """Return the batch with its records compressed."""
    if codec is Codec.NONE:
        return batch
    header = read_batch_header(batch)
    return pack_batch(
        header._replace(attributes=header.attributes | codec), compress(codec, batch[RECORD_BATCH_OVERHEAD:])
    )


def fingerprint(record: Record) -> str:
    """Return the digest of a record as in the broker's journal: 8 bytes of BLAKE2b over its key, value and headers."""
    return blake2b(encode_record(record, 0, 0)[_BEHIND_DELTAS:], digest_size=8).hexdigest()


def decode_answers(frame: bytes) -> list[ProduceResult]:
    """Return the response for each partition. Raises ProtocolError for any other frame."""
    _, answer = decode_response(PRODUCE, PRODUCE_VERSION, frame)
    assert isinstance(answer, ProduceResponse)
    throttle_ms = answer.throttle_time // timedelta(milliseconds=1)
    answers: list[ProduceResult] = []
    for topic in answer.responses:
        for part in topic.partition_responses:
            if part.error_code is ErrorCode.none and (part.record_errors or part.error_message is not None):
                raise ProtocolError("The answer has the text of an error, and none.")
            offset = int(part.base_offset)
            _check_start(offset, int(part.log_start_offset))
            append_ms = None if part.log_append_time is None else round(part.log_append_time.timestamp() * 1000)
            place = str(topic.name), int(part.index)
            answers.append(ProduceResult(*place, int(part.error_code), offset, throttle_ms, append_ms))
    return answers


def decode_produce(frame: bytes) -> ProduceResult:
    """Return the response for one partition. Raises ProtocolError for any other frame."""
    parts = decode_answers(frame)
    if len(parts) != 1:
        raise ProtocolError(f"The answer is about {len(parts)} partitions; the request was about one.")
    return parts[0]


def encode_init_producer_id(correlation_id: int, transactional_id: str | None = None) -> bytes:
    """Ask for a producer id."""
    values = {"transactional_id": transactional_id, "transaction_timeout": timedelta(minutes=1)}
    return request_frame(INIT_PRODUCER_ID, INIT_PRODUCER_ID_VERSION, values, correlation_id, CLIENT_ID)


def decode_init_producer_id(frame: bytes) -> tuple[int, int]:
    """Return the producer id and its epoch. Raises ProtocolError."""
    _, answer = decode_response(INIT_PRODUCER_ID, INIT_PRODUCER_ID_VERSION, frame)
    assert isinstance(answer, InitProducerIdResponse)
    if answer.error_code is not ErrorCode.none:
        raise ProtocolError(f"InitProducerId: {kafka_name(answer.error_code)}")
    return int(answer.producer_id), int(answer.producer_epoch)


def _check_start(base_offset: int, log_start_offset: int) -> None:
    if log_start_offset < -1 or log_start_offset > base_offset >= 0:
        raise ProtocolError(f"The log starts at {log_start_offset}, and the record is at {base_offset}.")


class AnswerReader:
    """A reader of responses for one partition. It reads usual ones at fixed places, and decodes all others."""

    def __init__(self, topic: str, partition: int) -> None:
        name = topic.encode()
        self._topic, self._partition = topic, partition
        self._before = (
            b"\x00\x02" + _compact_length(len(name)) + name + b"\x02" + partition.to_bytes(4, "big", signed=True)
        )
        self._at = 4 + len(self._before)

    def read(self, frame: bytes) -> ProduceResult:
        """Read a response like decode_produce. Raises ProtocolError."""
        at = self._at
        if len(frame) == at + _USUAL.size and frame.startswith(self._before, 4):
            error_code, base_offset, append_time, start, nothing_else, throttle_ms, tags = _USUAL.unpack_from(frame, at)
            usual = append_time == -1 and nothing_else == _NOTHING_ELSE and throttle_ms >= 0 and tags == 0
            if usual and error_code in _ERROR_CODES:
                _check_start(base_offset, start)
                return ProduceResult(self._topic, self._partition, error_code, base_offset, throttle_ms)
        return decode_produce(frame)


def _compact_length(length: int) -> bytes:
    return bytes([length + 1]) if length < 127 else bytes([(length + 1) & 0x7F | 0x80, (length + 1) >> 7])


def encode_probe(correlation_id: int) -> bytes:
    return request_frame(API_VERSIONS, API_VERSIONS_VERSION, {}, correlation_id, CLIENT_ID)


def is_probe_answer(frame: bytes) -> bool:
    try:
        decode_response(API_VERSIONS, API_VERSIONS_VERSION, frame)
    except ProtocolError:
        return False
    return True


def encode_metadata(correlation_id: int, topics: list[str]) -> bytes:
    values = {"topics": [{"name": topic} for topic in topics], "allow_auto_topic_creation": True}
    return request_frame(METADATA, METADATA_VERSION, values, correlation_id, CLIENT_ID)


class ClusterMetadata(NamedTuple):
    leaders: dict[tuple[str, int], tuple[str, int]]  # by (topic, partition): (host, port)
    epochs: dict[tuple[str, int], int]  # of the leaders
    problems: list[str]  # one phrase for each topic or partition without a leader
    whole: frozenset[tuple[str, int]] = frozenset()  # all replicas are in sync
    followers: dict[tuple[str, int], tuple[str, ...]] = {}  # noqa: RUF012  # in sync: their addresses
    contradictions: dict[tuple[str, int], str] = {}  # noqa: RUF012  # impossible statements about a partition


def decode_metadata(frame: bytes) -> ClusterMetadata:
    _, answer = decode_response(METADATA, METADATA_VERSION, frame)
    assert isinstance(answer, MetadataResponse)
    brokers = {int(broker.node_id): (broker.host, int(broker.port)) for broker in answer.brokers}
    leaders: dict[tuple[str, int], tuple[str, int]] = {}
    epochs: dict[tuple[str, int], int] = {}
    problems: list[str] = []
    whole: set[tuple[str, int]] = set()
    followers: dict[tuple[str, int], tuple[str, ...]] = {}
    contradictions: dict[tuple[str, int], str] = {}
    for topic in answer.topics:
        if topic.error_code is not ErrorCode.none:
            problems.append(f"topic {topic.name}: {kafka_name(topic.error_code)}")
        for part in topic.partitions:
            place = str(topic.name), int(part.partition_index)
            if len(part.isr_nodes) == len(part.replica_nodes):
                whole.add(place)
            if part.leader_id in brokers:
                leaders[place] = brokers[part.leader_id]
                epochs[place] = int(part.leader_epoch)
                others = [brokers[node] for node in part.isr_nodes if node != part.leader_id and node in brokers]
                followers[place] = tuple(f"{host}:{port}" for host, port in others)
                if problem := contradiction(part):
                    contradictions[place] = problem
            else:
                problems.append(f"partition {topic.name}-{part.partition_index}: {kafka_name(part.error_code)}")
    return ClusterMetadata(leaders, epochs, problems, frozenset(whole), followers, contradictions)


def contradiction(part: MetadataResponsePartition) -> str | None:
    """Return the impossible statement about a partition with a leader, or None."""
    if part.leader_id not in part.isr_nodes:
        return "led by a replica that is not in sync"
    if not set(part.isr_nodes) <= set(part.replica_nodes) or len(set(part.replica_nodes)) < len(part.replica_nodes):
        return "in sync, and no replica"
    if not set(part.offline_replicas) <= set(part.replica_nodes) or part.leader_id in part.offline_replicas:
        return "offline, and no replica or its leader"
    return None
