"""Read the log of a partition over a raw connection, record by record. aiokafka decodes it.

Theory   The decoder is not ours, so that a mistake of ours in writing is not hidden by the same mistake in reading.
         Ends of batches are left out: they depend on how fast the client was.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from aiokafka.record.memory_records import MemoryRecords

from conformance.clients.plan import CODECS, Record
from conformance.clients.wire import Wire, check

_FETCH, _OFFSET_FOR_LEADER_EPOCH = 1, 23
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


class LogReader(Wire):
    """Reads from the leaders of a cluster, which it finds through `bootstrap_servers`."""

    def read(self, topic: str, at_least: Mapping[int, int]) -> dict[int, list[LoggedRecord]]:
        """The records of each partition, once all of the log is committed and it has as many as told, or 2 s later.

        Raises TimeoutError if something is not committed after 10 s, RuntimeError if the broker refuses.
        """
        addresses, metadata = self.described(topic)
        return {
            partition.partition_index: self._read_partition(
                addresses[partition.leader_id],
                topic,
                partition.partition_index,
                partition.leader_epoch,
                at_least.get(partition.partition_index, 0),
            )
            for partition in sorted(metadata.partitions, key=lambda partition: int(partition.partition_index))
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
            }
            [answer] = self.ask(leader, _FETCH, 11, values).responses[0].partitions
            check(answer.error_code, f"reading {topic}-{partition}")
            records += [record for record in decode(answer.records or b"") if record.offset >= len(records)]

    def _end_offset(self, leader: str, topic: str, partition: int, epoch: int) -> int:
        wanted = {"partition": partition, "leader_epoch": epoch}
        values = {"replica_id": -1, "topics": [{"topic": topic, "partitions": [wanted]}]}
        [answer] = self.ask(leader, _OFFSET_FOR_LEADER_EPOCH, 3, values).topics[0].partitions
        check(answer.error_code, f"the end of {topic}-{partition}")
        return int(answer.end_offset)


def decode(data: bytes) -> list[LoggedRecord]:
    """The records of a record set. Raises ValueError for a wrong CRC."""
    records: list[LoggedRecord] = []
    batches = MemoryRecords(data)
    while batches.has_next():
        batch: Any = batches.next_batch()
        if not batch.validate_crc():
            raise ValueError(f"the batch at offset {batch.base_offset} has a wrong CRC")
        for index, stored in enumerate(batch):
            headers = tuple((name, value) for name, value in stored.headers)
            record = Record(-1, stored.key, stored.value, headers, stored.timestamp)
            sequence = batch.base_sequence + index if batch.producer_id >= 0 else None
            broker_time = stored.timestamp_type == 1
            records.append(LoggedRecord(stored.offset, record, CODECS[batch.compression_type], broker_time, sequence))
    return records
