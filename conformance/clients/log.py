"""What is in a partition's log, record by record, read over a raw connection and decoded by aiokafka.

Theory   The decoder is somebody else's, so that a slip of ours in writing is not made good by the same slip in reading.
         Where batches end is not told: it depends on how fast the client was.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple, Self

from aiokafka.record.memory_records import MemoryRecords

from conformance.clients.plan import CODECS, Record
from fakebroker.protocol.build import build
from fakebroker.protocol.messages import decode_response, encode_request, request_type

_FETCH, _METADATA, _OFFSET_FOR_LEADER_EPOCH = 1, 3, 23
_LIMIT_S = 10.0
_PATIENCE_S = 2.0  # for records that were sent with acks=0


class LoggedRecord(NamedTuple):
    """A record and what its batch says of it. `record.partition` is -1: it is not in the log.

    broker_time   the timestamp is of the broker's clock
    sequence      None if the batch has no producer id
    """

    offset: int
    record: Record
    codec: str
    broker_time: bool
    sequence: int | None


class LogReader:
    """Reads from the leaders of a cluster, which it finds through `bootstrap_servers`."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap = bootstrap_servers
        self._sockets: dict[str, socket.socket] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for connection in self._sockets.values():
            connection.close()

    def read(self, topic: str, at_least: Mapping[int, int]) -> dict[int, list[LoggedRecord]]:
        """The records of each partition, once all of the log is committed and it has as many as told, or 2 s later.

        Raises TimeoutError if something is not committed after 10 s, RuntimeError if the broker refuses.
        """
        flags = {"include_cluster_authorized_operations": False, "include_topic_authorized_operations": False}
        answer = self._ask(self._bootstrap.split(",")[0], _METADATA, 9, {"topics": [{"name": topic}]} | flags)
        addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in answer.brokers}
        [found] = answer.topics
        return {
            partition.partition_index: self._read_partition(
                addresses[partition.leader_id],
                topic,
                partition.partition_index,
                partition.leader_epoch,
                at_least.get(partition.partition_index, 0),
            )
            for partition in sorted(found.partitions, key=lambda partition: int(partition.partition_index))
        }

    def _read_partition(self, leader: str, topic: str, partition: int, epoch: int, at_least: int) -> list[LoggedRecord]:
        records: list[LoggedRecord] = []
        start = time.monotonic()
        while True:
            end = self._end_offset(leader, topic, partition, epoch)
            waited_s = time.monotonic() - start
            if len(records) == end and (end >= at_least or waited_s > _PATIENCE_S):
                return records
            if waited_s > _LIMIT_S:
                raise TimeoutError(f"{len(records)} of {end} records of {topic}-{partition} are committed")
            wanted = {"partition": partition, "fetch_offset": len(records), "partition_max_bytes": 1 << 24}
            values = {
                "max_wait": timedelta(milliseconds=100),
                "min_bytes": 1,
                "topics": [{"topic": topic, "partitions": [wanted]}],
                "forgotten_topics_data": [],
            }
            [answer] = self._ask(leader, _FETCH, 11, values).responses[0].partitions
            _check(answer.error_code, f"reading {topic}-{partition}")
            records += [each for each in decode(answer.records or b"") if each.offset >= len(records)]

    def _end_offset(self, leader: str, topic: str, partition: int, epoch: int) -> int:
        wanted = {"partition": partition, "leader_epoch": epoch}
        values = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [wanted]}]}
        [answer] = self._ask(leader, _OFFSET_FOR_LEADER_EPOCH, 3, values).topics[0].partitions
        _check(answer.error_code, f"the end of {topic}-{partition}")
        return int(answer.end_offset)

    def _ask(self, address: str, api_key: int, version: int, values: Mapping[str, Any]) -> Any:
        if address not in self._sockets:
            host, _, port = address.rpartition(":")
            self._sockets[address] = socket.create_connection((host.strip("[]"), int(port)), timeout=_LIMIT_S)
        connection = self._sockets[address]
        connection.sendall(encode_request(build(request_type(api_key, version), dict(values)), 1, "conformance"))
        with connection.makefile("rb") as stream:
            (size,) = struct.unpack(">i", stream.read(4))
            return decode_response(api_key, version, stream.read(size))[1]


def decode(data: bytes) -> list[LoggedRecord]:
    """The records of a record set. Raises ValueError for a wrong CRC."""
    found: list[LoggedRecord] = []
    batches = MemoryRecords(data)
    while batches.has_next():
        batch: Any = batches.next_batch()
        if not batch.validate_crc():
            raise ValueError(f"the batch at offset {batch.base_offset} has a wrong CRC")
        for index, each in enumerate(batch):
            headers = tuple((name, value) for name, value in each.headers)
            record = Record(-1, each.key, each.value, headers, each.timestamp)
            sequence = batch.base_sequence + index if batch.producer_id >= 0 else None
            broker_time = each.timestamp_type == 1
            found.append(LoggedRecord(each.offset, record, CODECS[batch.compression_type], broker_time, sequence))
    return found


def _check(code: Any, what: str) -> None:
    if code != 0:
        raise RuntimeError(f"{what} failed with error {int(code)}")
