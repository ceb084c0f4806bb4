"""Frames of a producer can be read, and responses are read as they were written, in every version of a release."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from fakebroker.producer.client.frames import ProduceBody, ProduceResponse, decode, encode
from fakebroker.producer.generation import Generation
from fakebroker.producer.metadata.metadata_response import MetadataRequest, MetadataResponse, PartitionMetadata
from fakebroker.producer.metadata_snapshot import Node, PartitionInfo
from fakebroker.producer.network.client_request import BrokerApiVersions, ClientRequest, ExpectedBroker
from fakebroker.producer.network.node_api_versions import API_VERSIONS, METADATA, PRODUCE, ApiVersion, client_range
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.record_batch_builder import RecordBatchBuilder
from fakebroker.producer.sending.client import ClientProduceRequest
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import decode_request, encode_response, is_flexible, response_type
from fakebroker.protocol.topic_partition import TopicPartition

NEWEST = Generation("4.4")
TOPIC_ID = str(UUID(int=7))
PARTITION = TopicPartition("t", 3)


def request(key: int, version: int, body: object) -> ClientRequest:
    made = ClientRequest(1, client_range(key, NEWEST), body, 5, 0, 100)
    made.version = version
    return made


def versions_of(key: int) -> list[int]:
    return list(range(client_range(key, Generation("2.0")).min_version, client_range(key, NEWEST).max_version + 1))


def read(frame: bytes) -> Any:
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    key, version = int.from_bytes(frame[4:6], "big"), int.from_bytes(frame[6:8], "big")
    header = decode_request_header(frame[4:], is_flexible(key, version))
    assert (header.correlation_id, header.client_id) == (5, "me")
    return decode_request(key, version, frame[4:], header.body_offset)


def answer(asked: ClientRequest, values: dict[str, Any], version: int | None = None) -> tuple[object, int]:
    kind = response_type(asked.api_key, asked.version if version is None else version)
    return decode(asked, bytes(encode_response(build(kind, values), asked.correlation_id))[4:])


def body() -> ProduceBody:
    builder = RecordBatchBuilder(1_000)
    batch = ProducerBatch(PARTITION, builder, 0)
    batch.try_append(1_000, None, b"value", (), None, 0)
    return ProduceBody(ClientProduceRequest(1, -1, 77, [batch]), {"t": TOPIC_ID})


@pytest.mark.parametrize("version", versions_of(PRODUCE))
def test_produce(version: int) -> None:
    made = body()
    sent = request(PRODUCE, version, made)
    message = read(encode(sent, "me", NEWEST))
    (topic,) = message.topic_data
    assert topic.topic_id == UUID(TOPIC_ID) if version >= 13 else topic.name == "t"
    (partition,) = topic.partition_data
    assert (partition.index, message.acks, message.timeout.total_seconds()) == (3, -1, 0.077)
    ((_, batch),) = made.request.batches.items()
    assert bytes(partition.records) == bytes(batch.records())


def test_a_topic_without_an_id_is_sent_with_zeros() -> None:
    made = ProduceBody(body().request, {})
    (topic,) = read(encode(request(PRODUCE, 13, made), "me", NEWEST)).topic_data
    assert topic.topic_id in (None, UUID(int=0))


@pytest.mark.parametrize(
    ("generation", "order"),
    [("2.0", [("a", 0), ("a", 3), ("b", 1), ("b", 2)]), ("2.8", [("b", 2), ("b", 1), ("a", 3), ("a", 0)])],
)
def test_partitions_stand_as_they_were_drained_since_2_8(generation: str, order: list[tuple[str, int]]) -> None:
    batches = []
    for topic, partition in [("b", 2), ("a", 3), ("b", 1), ("a", 0)]:
        batch = ProducerBatch(TopicPartition(topic, partition), RecordBatchBuilder(1_000), 0)
        batch.try_append(1_000, None, b"value", (), None, 0)
        batches.append(batch)
    sent = request(PRODUCE, 8, ProduceBody(ClientProduceRequest(1, -1, 77, batches), {}))
    message = read(encode(sent, "me", Generation(generation)))
    assert [(topic.name, one.index) for topic in message.topic_data for one in topic.partition_data] == order


@pytest.mark.parametrize("version", versions_of(PRODUCE))
def test_what_is_said_of_a_batch(version: int) -> None:
    partition: dict[str, Any] = {
        "index": 3,
        "error_code": ErrorCode.not_leader_or_follower,
        "base_offset": 9,
        "log_append_time": None,
    }
    partition |= {"log_start_offset": 0, "record_errors": [{"batch_index": 2, "batch_index_error_message": None}]}
    partition |= {"error_message": None, "current_leader": {"leader_id": 2, "leader_epoch": 6}}
    topic = {"name": "t", "topic_id": UUID(TOPIC_ID), "partition_responses": [partition]}
    values = {
        "responses": [topic],
        "throttle_time": timedelta(milliseconds=40),
        "node_endpoints": [{"node_id": 2, "host": "there", "port": 1, "rack": None}],
    }
    response, throttle_ms = answer(request(PRODUCE, version, body()), values)
    assert isinstance(response, ProduceResponse)
    refused = (2,) if version >= 8 else ()
    (told_of,) = response.answers
    assert (told_of.partition, told_of.code) == (PARTITION, ErrorCode.not_leader_or_follower)
    assert (told_of.base_offset, told_of.refused) == (9, refused)
    assert response.leaders == ([PartitionInfo(PARTITION, 2, 6)] if version >= 10 else [])
    assert response.nodes == ([Node(2, "there", 1)] if version >= 10 else [])
    assert (throttle_ms, response.throttle_time_ms) == (40, 40)


@pytest.mark.parametrize("version", [version for version in versions_of(METADATA) if version > 0])
def test_metadata(version: int) -> None:
    sent = request(METADATA, version, MetadataRequest(["t", "other"]))
    message = read(encode(sent, "me", NEWEST))
    assert [topic.name for topic in message.topics] == ["t", "other"]
    assert getattr(message, "allow_auto_topic_creation", True)
    partition: dict[str, Any] = {"error_code": ErrorCode.none, "partition_index": 3, "leader_id": 2, "leader_epoch": 6}
    partition |= {"replica_nodes": (1, 2), "isr_nodes": (2,), "offline_replicas": ()}
    topic = {"error_code": ErrorCode.none, "name": "t", "topic_id": UUID(TOPIC_ID), "is_internal": False}
    topic |= {"partitions": [partition], "topic_authorized_operations": 0}
    values = {
        "throttle_time": timedelta(milliseconds=40),
        "brokers": [{"node_id": 2, "host": "there", "port": 1, "rack": None}],
        "cluster_id": "c",
        "controller_id": 2,
        "topics": [topic],
        "cluster_authorized_operations": 0,
        "error_code": ErrorCode.none,
    }
    response, throttle_ms = answer(sent, values)
    assert isinstance(response, MetadataResponse)
    assert throttle_ms == (40 if version >= 3 else 0)
    assert response.brokers == [Node(2, "there", 1)]
    assert response.cluster_id == ("c" if version >= 2 else None)
    (topic_metadata,) = response.topics
    assert (topic_metadata.name, topic_metadata.topic_id) == ("t", TOPIC_ID if version >= 10 else "")
    assert topic_metadata.partitions == [PartitionMetadata(3, 2, 6 if version >= 7 else -1)]
    assert response.has_reliable_leader_epochs == (version >= 9)


@pytest.mark.parametrize("version", versions_of(API_VERSIONS))
def test_what_a_broker_serves(version: int) -> None:
    sent = request(API_VERSIONS, version, ExpectedBroker("c", 1))
    message = read(encode(sent, "me", NEWEST))
    assert getattr(message, "client_software_version", "4.4.0") == "4.4.0"
    assert (getattr(message, "cluster_id", "c"), getattr(message, "node_id", 1)) == ("c", 1)
    served = [{"api_key": 0, "min_version": 3, "max_version": 9}]
    response, _ = answer(sent, {"error_code": ErrorCode.none, "api_keys": served, "throttle_time": timedelta()})
    assert isinstance(response, BrokerApiVersions)
    assert response.versions == [ApiVersion(0, 3, 9)]
    assert (response.max_version_of(0), response.max_version_of(3)) == (9, 0)
    old, _ = answer(sent, {"error_code": ErrorCode.unsupported_version, "api_keys": served}, version=0)
    assert isinstance(old, BrokerApiVersions)
    assert (old.error, old.versions) == (ErrorCode.unsupported_version, [ApiVersion(0, 3, 9)])


def test_the_answer_to_another_request_is_none() -> None:
    sent = request(API_VERSIONS, 0, None)
    frame = bytes(encode_response(build(response_type(18, 0), {"error_code": ErrorCode.none, "api_keys": []}), 6))
    with pytest.raises(ProtocolError, match="an answer to 6 came where 5 was to be answered"):
        decode(sent, frame[4:])
