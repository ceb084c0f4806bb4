"""Frames for cases: requests of every API and version from plain values, and record batches good and bad.

Everything here is a pure function of its arguments, so that a case is the same bytes on every run.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from crc32c import crc32c

from fakebroker.protocol.compression import compress
from fakebroker.protocol.messages import request_frame
from fakebroker.protocol.record_batch import (
    RECORD_BATCH_OVERHEAD,
    Record,
    encode_batch,
    pack_batch,
    read_batch_header,
)
from fakebroker.protocol.sent import requests
from fakebroker.protocol.sent.produce_frame import encode_produce_request

PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS, CREATE_TOPICS, DELETE_TOPICS = 0, 1, 2, 3, 18, 19, 20
INIT_PRODUCER_ID, OFFSET_FOR_LEADER_EPOCH = 22, 23
CLIENT_ID = "conformance"
TIMESTAMP_MS = 1_700_000_000_000
EARLIEST = -2  # of ListOffsets

_CRC_AT, _ATTRIBUTES_AT = 17, 21  # in a batch of magic 2


def request(
    api_key: int, version: int, values: Mapping[str, Any], correlation_id: int = 1, client_id: str | None = CLIENT_ID
) -> bytes:
    """The whole frame of a request; `values` as for the newest version, what this one lacks is left out."""
    return request_frame(api_key, version, values, correlation_id, client_id)


def batch(*values: bytes, codec: int = 0, timestamp_ms: int = TIMESTAMP_MS, **header: Any) -> bytes:
    """A batch with one record without key per value; header fields can be overwritten, the CRC fits."""
    return batch_of([Record(None, value) for value in values or (b"v",)], codec, timestamp_ms, **header)


def batch_of(
    records: Sequence[Record],
    codec: int = 0,
    timestamp_ms: int = TIMESTAMP_MS,
    *,
    body: bytes | None = None,
    raw: bytes | None = None,
    **header: int,
) -> bytes:
    """Return a batch of these records with some fields of the header overwritten. The length and the CRC fit.

    `body` replaces the bytes of the records before they are compressed, `raw` what is behind the header at all.
    """
    plain = encode_batch(records, base_timestamp_ms=timestamp_ms)
    attributes = header.pop("attributes", 0) | codec
    fields = read_batch_header(plain)._replace(attributes=attributes, **header)
    data = plain[RECORD_BATCH_OVERHEAD:] if body is None else body
    return pack_batch(fields, compress(codec, data) if raw is None else raw)


def patched(data: bytes, at: int, new: bytes, *, crc: bool = True) -> bytes:
    """A batch with bytes replaced, and its CRC set right again unless told otherwise."""
    changed = data[:at] + new + data[at + len(new) :]
    return with_crc(changed) if crc else changed


def with_crc(data: bytes) -> bytes:
    """A batch of magic 2 with the CRC that its bytes have."""
    return data[:_CRC_AT] + struct.pack(">I", crc32c(data[_ATTRIBUTES_AT:])) + data[_ATTRIBUTES_AT:]


def produce(
    topic: str | UUID,
    records: bytes | Mapping[int, bytes | None] | None = None,
    *,
    version: int = 9,
    acks: int = -1,
    timeout_ms: int = 5_000,
    correlation_id: int = 1,
    transactional_id: str | None = None,
    client_id: str | None = CLIENT_ID,
) -> bytes:
    """A Produce request to one topic: records for partition 0, or by partition. A UUID names the topic (v13)."""
    by_partition = records if isinstance(records, Mapping) else {0: records}
    return produce_many({topic: by_partition}, version, acks, timeout_ms, correlation_id, transactional_id, client_id)


def produce_many(
    topics: Mapping[str | UUID, Mapping[int, bytes | None]],
    version: int = 9,
    acks: int = -1,
    timeout_ms: int = 5_000,
    correlation_id: int = 1,
    transactional_id: str | None = None,
    client_id: str | None = CLIENT_ID,
) -> bytes:
    """A Produce request to several topics: {topic: {partition: records}}."""
    data = [(topic, list(partitions.items())) for topic, partitions in topics.items()]
    return encode_produce_request(version, correlation_id, client_id, acks, timeout_ms, data, transactional_id)


def metadata(topics: list[str | UUID] | None, version: int = 12, correlation_id: int = 1, **flags: bool) -> bytes:
    """A Metadata request; None asks for all topics. Flags: allow_auto_topic_creation, include_..._operations."""
    named = None
    if topics is not None:
        named = [
            {"name": None, "topic_id": topic} if isinstance(topic, UUID) else {"name": topic, "topic_id": None}
            for topic in topics
        ]
    values = {"topics": named, "allow_auto_topic_creation": False}
    return request(METADATA, version, values | flags, correlation_id)


def api_versions(
    version: int = 3,
    correlation_id: int = 1,
    name: str = "test",
    software_version: str = "1.0",
    cluster_id: str | None = None,
    node_id: int = -1,
) -> bytes:
    values = {
        "client_software_name": name,
        "client_software_version": software_version,
        "cluster_id": cluster_id,
        "node_id": node_id,
    }
    return request(API_VERSIONS, version, values, correlation_id)


def fetch(
    topic: str | UUID,
    offset: int = 0,
    partition: int = 0,
    *,
    version: int = 11,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 26,
    current_leader_epoch: int = -1,
    correlation_id: int = 1,
    client_id: str = CLIENT_ID,
    session_epoch: int = -1,
    isolation_level: int = 0,
) -> bytes:
    """A consumer's Fetch of one partition, outside of sessions or as the first of one (epoch 0). A UUID names the
    topic (v13 and later)."""
    values = requests.fetch(
        topic,
        partition,
        offset,
        max_bytes=max_bytes,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        isolation_level=isolation_level,
        current_leader_epoch=current_leader_epoch,
    )
    return request(FETCH, version, values | {"session_epoch": session_epoch}, correlation_id, client_id)


def list_offsets(
    topic: str,
    timestamp: int,
    partition: int = 0,
    *,
    version: int = 7,
    correlation_id: int = 1,
    isolation_level: int = 0,
) -> bytes:
    """-1 asks for the latest offset, -2 for the earliest, -3 for the one with the largest timestamp."""
    part = {"partition_index": partition, "timestamp": timestamp}
    values = {"replica_id": -1, "isolation_level": isolation_level, "topics": [{"name": topic, "partitions": [part]}]}
    return request(LIST_OFFSETS, version, values, correlation_id)


def end_offset(topic: str, partition: int = 0, leader_epoch: int = 0, *, correlation_id: int = 1) -> bytes:
    """OffsetForLeaderEpoch v4: where an epoch ends."""
    part = {"partition": partition, "leader_epoch": leader_epoch}
    values = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [part]}]}
    return request(OFFSET_FOR_LEADER_EPOCH, 4, values, correlation_id)


def init_producer_id(*, version: int = 4, correlation_id: int = 1, **values: Any) -> bytes:
    defaults = {"transactional_id": None, "transaction_timeout": timedelta(minutes=1)}
    return request(INIT_PRODUCER_ID, version, defaults | values, correlation_id)


def create_topics(topics: list[Mapping[str, Any]], *, version: int = 7, correlation_id: int = 1, **flags: Any) -> bytes:
    """CreateTopics; a topic is {"name", "num_partitions", "replication_factor", "assignments", "configs"}."""
    defaults = {"num_partitions": -1, "replication_factor": -1}
    values = {"topics": [defaults | dict(topic) for topic in topics], "timeout": timedelta(seconds=30)}
    return request(CREATE_TOPICS, version, values | flags, correlation_id)


def delete_topics(names: list[str], *, version: int = 5, correlation_id: int = 1) -> bytes:
    values = {
        "topics": [{"name": name, "topic_id": None} for name in names],
        "topic_names": names,
        "timeout": timedelta(seconds=30),
    }
    return request(DELETE_TOPICS, version, values, correlation_id)
