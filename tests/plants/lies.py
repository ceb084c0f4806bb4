"""Brokers that lie: each is Kafka but for one thing, and each patches the append of a leader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakebroker.core.replication.append_info import LeaderHwChange, LogAppendInfo
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import Record, decode_records, encode_batch

Append = Callable[..., LogAppendInfo]
TOPIC = "t"

honest_append = Partition.append_records_to_leader


def as_if(partition: Partition, offset: int) -> LogAppendInfo:
    """What an append at this offset would have said."""
    return LogAppendInfo(offset, offset, -1, partition.leader_log.log_start_offset, LeaderHwChange.SAME)


def loses(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    """All but the first. Told NONE, with an offset that is there: that of the record before it."""
    if partition.leader_log.log_end_offset == 0:
        return append(partition, records, *rest)
    return as_if(partition, partition.leader_log.log_end_offset - 1)


def times_out_without_append(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    return as_if(partition, partition.leader_log.log_end_offset)


class LosesOneIn:
    def __init__(self, each: int) -> None:
        self._each = each
        self._count = 0

    def __call__(self, append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
        self._count += 1
        if self._count % self._each == 0:
            return as_if(partition, partition.leader_log.log_end_offset)
        return append(partition, records, *rest)


def appends_twice(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    append(partition, records, *rest)
    return append(partition, records, *rest)


def tells_offsets_too_high(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    info = append(partition, records, *rest)
    info.first_offset += 1_000
    return info


class SwapsOffsets:
    """Two answers tell each other's offset."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
        info = append(partition, records, *rest)
        info.first_offset += 1 - 2 * (self._count % 2)
        self._count += 1
        return info


def stores_other_bytes(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    (record,) = decode_records(records)
    value = (record.value or b"").replace(b".", b"!", 1)
    return append(partition, encode_batch([record._replace(value=value)], base_timestamp_ms=0), *rest)


class StoresElsewhere:
    def __init__(self) -> None:
        self.partitions: dict[int, Partition] = {}

    def __call__(self, append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
        index = partition.topic_partition.partition
        self.partitions[index] = partition
        other = self.partitions.get(1 - index, partition)
        return append(other, records, *rest)


class Reorders:
    """A record is kept back, and stands behind the next one of its partition, whose offset it had told."""

    def __init__(self) -> None:
        self._kept: dict[Partition, bytes] = {}

    def __call__(self, append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
        kept = self._kept.pop(partition, None)
        if kept is None:
            self._kept[partition] = records
            return as_if(partition, partition.leader_log.log_end_offset + 1)
        info = append(partition, records, *rest)
        append(partition, kept, *rest)
        return info


def refuses_what_it_wrote(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    append(partition, records, *rest)
    raise KafkaError(ErrorCode.not_enough_replicas, "it says")


def writes_of_its_own(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    info = append(partition, records, *rest)
    append(partition, encode_batch([Record(None, b"nobody sent this")], base_timestamp_ms=0), *rest)
    return info


def told(lie: Any) -> Callable[..., LogAppendInfo]:
    """In place of `Partition.append_records_to_leader`: lies for the one topic, and is honest for all others."""

    def append(self: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
        if self.topic_partition.topic != TOPIC:
            return honest_append(self, records, *rest)
        info: LogAppendInfo = lie(honest_append, self, records, *rest)
        return info

    return append
