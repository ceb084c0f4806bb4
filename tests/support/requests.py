"""Requests as frames, built through kio, so that a test says only what it is about."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from fakebroker.protocol.messages import request_frame
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.protocol.sent import requests
from support.messages import decode_response
from support.raw_client import RawClient

PRODUCE, FETCH, METADATA, API_VERSIONS, CREATE_TOPICS, INIT_PRODUCER_ID = 0, 1, 3, 18, 19, 22


def request(
    api_key: int, version: int, values: dict[str, Any], correlation_id: int = 1, client_id: str = "test"
) -> bytes:
    """Return the whole frame of a request; `values` as for the newest version."""
    return request_frame(api_key, version, values, correlation_id, client_id)


def batch(*values: bytes, timestamp_ms: int = 1_700_000_000_000, **header: int) -> bytes:
    """Return a record batch with one record per value."""
    return encode_batch([Record(None, value) for value in values or (b"v",)], base_timestamp_ms=timestamp_ms, **header)


ONE_RECORD = batch()


def produce(
    topic: str | UUID,
    partition: int = 0,
    *,
    acks: int = -1,
    timeout_ms: int = 500,
    records: bytes | None = ONE_RECORD,
    correlation_id: int = 1,
    version: int = 9,
    partitions: dict[int, bytes | None] | None = None,
    client_id: str = "test",
    transactional_id: str | None = None,
) -> bytes:
    """Return the frame of a Produce request; one record if `records` is not given. A UUID names the topic from v13
    on."""
    if partitions is None:
        partitions = {partition: records}
    name = {"topic_id": topic} if isinstance(topic, UUID) else {"name": topic}
    values = {
        "transactional_id": transactional_id,
        "acks": acks,
        "timeout": timedelta(milliseconds=timeout_ms),
        "topic_data": [
            name | {"partition_data": [{"index": index, "records": data} for index, data in partitions.items()]}
        ],
    }
    return request(PRODUCE, version, values, correlation_id, client_id)


class Produced:
    """A Produce answer, flat: correlation id and (error, base offset) per partition."""

    def __init__(self, frame: bytes, version: int = 9) -> None:
        self.correlation_id, self.response = decode_response(PRODUCE, version, frame)
        self.partitions = {
            partition.index: (int(partition.error_code), partition.base_offset)
            for topic in self.response.responses
            for partition in topic.partition_responses
        }

    def __repr__(self) -> str:
        return f"Produced({self.correlation_id}, {self.partitions})"


def init_producer_id(client: RawClient) -> int:
    """Return the id of an idempotent producer without transactions."""
    frame = request(INIT_PRODUCER_ID, 4, {"transactional_id": None, "transaction_timeout": timedelta(seconds=60)})
    _, answer = decode_response(INIT_PRODUCER_ID, 4, client.ask(frame))
    assert answer.error_code == 0
    producer_id: int = answer.producer_id
    return producer_id


def metadata(
    topics: list[str] | None, version: int = 12, *, allow_auto_topic_creation: bool = True, correlation_id: int = 1
) -> bytes:
    named = None if topics is None else [{"name": name} for name in topics]
    values = {"topics": named, "allow_auto_topic_creation": allow_auto_topic_creation}
    return request(METADATA, version, values, correlation_id)


def api_versions(version: int = 3, correlation_id: int = 1, name: str = "test", software_version: str = "1.0") -> bytes:
    values = {"client_software_name": name, "client_software_version": software_version}
    return request(API_VERSIONS, version, values, correlation_id)


def fetch(
    topic: str,
    partition: int = 0,
    offset: int = 0,
    *,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    version: int = 11,
    correlation_id: int = 1,
    max_bytes: int = 1 << 20,
    replica_id: int = -1,
    session_epoch: int = -1,
) -> bytes:
    values = requests.fetch(topic, partition, offset, max_bytes=max_bytes, max_wait_ms=max_wait_ms, min_bytes=min_bytes)
    return request(FETCH, version, values | {"replica_id": replica_id, "session_epoch": session_epoch}, correlation_id)
