"""The content of a partition's log, read over a raw connection without a client library."""

from __future__ import annotations

from fakebroker import FakeCluster
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.protocol.record_batch import decode_records, read_batch_header
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import FETCH, METADATA, fetch, metadata


def leader_of(kafka: FakeCluster, topic: str, partition: int = 0) -> NodeEndpoint:
    """Return the address of the partition's leader, by Metadata."""
    endpoints = {endpoint.node_id: endpoint for endpoint in kafka.endpoints}
    with RawClient(kafka.endpoints[0]) as client:
        _, answer = decode_response(METADATA, 12, client.ask(metadata([topic], allow_auto_topic_creation=False)))
    (topic_,) = answer.topics
    return endpoints[topic_.partitions[partition].leader_id]


def read_log(kafka: FakeCluster, topic: str, partition: int = 0) -> list[tuple[int, bytes | None]]:
    """Return (offset, value) of every record that a consumer can see, in the order of the log."""
    records: list[tuple[int, bytes | None]] = []
    with RawClient(leader_of(kafka, topic, partition)) as client:
        while True:
            offset = records[-1][0] + 1 if records else 0
            _, answer = decode_response(FETCH, 11, client.ask(fetch(topic, partition, offset)))
            (partition_data,) = answer.responses[0].partitions
            assert partition_data.error_code == 0, partition_data
            if not partition_data.records:
                return records
            records += _in_set(partition_data.records)


def read_values(kafka: FakeCluster, topic: str, partition: int = 0) -> list[bytes | None]:
    """Return the values of every record that a consumer can see; their offsets must be 0, 1, 2..."""
    records = read_log(kafka, topic, partition)
    assert [offset for offset, _ in records] == list(range(len(records)))
    return [value for _, value in records]


def _in_set(records: bytes) -> list[tuple[int, bytes | None]]:
    pairs = []
    while records:
        header = read_batch_header(records)
        for index, record in enumerate(decode_records(records[: header.size_in_bytes])):
            pairs.append((header.base_offset + index, record.value))
        records = records[header.size_in_bytes :]
    return pairs
