"""Offset queries: the end of an epoch, the first record at or after a time, the end of what readers may read.

Theory   A consumer gets no offset of a record that it could not read: at or above the high watermark, or the last
         stable offset. Errors as for a read. The records of a batch are read as a stream, in slices, up to the first
         that matches.
Units    offsets count records; record timestamps are milliseconds of wall time.
Source   core/.../cluster/Partition.scala @ 4.0: fetchOffsetForTimestamp, lastOffsetForLeaderEpoch; UnifiedLog.scala
         fetchOffsetByTimestamp.
Differs  Nothing is tiered.
"""

from __future__ import annotations

from mypy_extensions import i64

from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.log.records.record_source import EACH_BYTES, RecordSource
from fakebroker.core.log.time_search import batch_of_max_timestamp, first_batch_reaching, max_timestamp_ms
from fakebroker.core.replication.fetch import (
    CONSUMER_REPLICA_ID,
    DEBUGGING_REPLICA_ID,
    OffsetQuery,
    TimestampAndOffset,
)
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.reads import hosted_partition_error, local_replica
from fakebroker.core.replication.replica import Replica
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import BatchHeader, read_batch_header
from fakebroker.protocol.record_stream.walks import FactsStream
from fakebroker.protocol.record_walk import wrap_int64
from fakebroker.protocol.slices import Slices

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6


def last_offset_for_leader_epoch(
    partition: Partition, broker_id: int, current_leader_epoch: int, leader_epoch: int
) -> tuple[int, int]:
    """Return (the largest epoch up to `leader_epoch`, its end offset), both -1 if there is none. Raise KafkaError."""
    replica = local_replica(partition, broker_id, current_leader_epoch, require_leader=True)
    return replica.end_offset_for_epoch(leader_epoch)


def fetch_offset_for_timestamp(broker_id: int, query: OffsetQuery) -> Slices[TimestampAndOffset]:
    """Return the first offset at or after a time, or a special one. Raise KafkaError: OFFSET_NOT_AVAILABLE for a
    consumer that asks for the end while the high watermark has not reached the start of this leadership."""
    partition = query.partition
    replica = _asked_replica(broker_id, query)
    timestamp_and_offset: TimestampAndOffset | None = None
    if query.timestamp_ms == MAX_TIMESTAMP:
        timestamp_and_offset = yield from _at_max_timestamp(replica.log, partition)
    elif query.timestamp_ms >= 0:
        timestamp_and_offset = yield from _at_or_after(replica.log, partition, query.timestamp_ms)
    # In Kafka nothing changes during the search. Here the present state decides.
    replica = _asked_replica(broker_id, query)
    log = replica.log
    is_consumer = query.replica_id == CONSUMER_REPLICA_ID
    last_fetchable_offset = log.log_end_offset
    if is_consumer:
        last_fetchable_offset = log.last_stable_offset if query.read_committed else log.high_watermark
    lags_behind_election = is_consumer and partition.leader_epoch_start_offset > log.high_watermark
    if query.timestamp_ms in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        epoch = replica.leader_epochs.epoch_for_offset(log.log_start_offset)
        return TimestampAndOffset(-1, log.log_start_offset, epoch)
    if query.timestamp_ms in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
        return TimestampAndOffset()  # nothing is tiered
    if query.timestamp_ms == LATEST_TIMESTAMP:
        if not lags_behind_election:
            return TimestampAndOffset(-1, last_fetchable_offset, partition.leader_epoch)
    elif timestamp_and_offset is not None and timestamp_and_offset.offset < last_fetchable_offset:
        return timestamp_and_offset
    if lags_behind_election:
        raise KafkaError(
            ErrorCode.offset_not_available,
            f"Failed to fetch offsets for partition {partition.topic_partition} with leader epoch "
            f"{partition.leader_epoch} as this partition's high watermark ({log.high_watermark}) is lagging behind the "
            f"start offset from the beginning of this epoch ({partition.leader_epoch_start_offset}).",
        )
    return TimestampAndOffset()


def _asked_replica(broker_id: int, query: OffsetQuery) -> Replica:
    code = hosted_partition_error(query.partition, broker_id)
    if code is not None:
        raise KafkaError(code, f"broker {broker_id} has no replica of {query.partition.topic_partition}")
    require_leader = query.replica_id != DEBUGGING_REPLICA_ID
    return local_replica(query.partition, broker_id, query.current_leader_epoch, require_leader)


def _at_or_after(log: Log, partition: Partition, timestamp_ms: int) -> Slices[TimestampAndOffset | None]:
    offset = log.log_start_offset
    while True:
        batch = yield from first_batch_reaching(log, timestamp_ms, offset)
        if batch is None:
            return None
        timestamp_and_offset = yield from _first_in(batch, partition, timestamp_ms, log.log_start_offset)
        if timestamp_and_offset is None:
            offset = batch.last_offset + 1  # its only matching records are before the start of the log
        elif timestamp_and_offset.offset >= log.log_start_offset:  # otherwise they were deleted during the search
            return timestamp_and_offset


def _at_max_timestamp(log: Log, partition: Partition) -> Slices[TimestampAndOffset | None]:
    batch = yield from batch_of_max_timestamp(log)
    if batch is None:
        return None
    return (yield from _first_in(batch, partition, max_timestamp_ms(batch), -1))


def _first_in(
    batch: LoggedBatch, partition: Partition, timestamp_ms: int, offset: int
) -> Slices[TimestampAndOffset | None]:
    """Return the first record of a batch at or after a time and an offset."""
    records = batch.records
    header = read_batch_header(records)
    search = _Search(header, batch.base_offset, timestamp_ms, offset)
    yield from RecordSource(records, header, partition.topic_partition).feed_all(search, EACH_BYTES)
    if search.found_offset < 0:
        return None
    return TimestampAndOffset(search.found_ms, search.found_offset, batch.leader_epoch)


class _Search(FactsStream):
    """A search for the first record at or after a time and an offset."""

    def __init__(self, header: BatchHeader, base_offset: int, timestamp_ms: int, offset: int) -> None:
        super().__init__(header.record_count)
        self.found_ms: int = -1
        self.found_offset: int = -1
        self._base_ms: int = header.base_timestamp_ms
        self._max_ms: int = header.max_timestamp_ms
        self._has_log_append_time = header.has_log_append_time
        self._base_offset: int = base_offset
        self._timestamp_ms: int = timestamp_ms
        self._offset: int = offset

    def on_facts(self, delta_ms: int, offset_delta: i64, key_size: i64, value_size: i64) -> None:
        timestamp_ms: int = self._max_ms if self._has_log_append_time else wrap_int64(self._base_ms + delta_ms)
        if timestamp_ms >= self._timestamp_ms:
            offset: int = self._base_offset + int(offset_delta)
            if offset >= self._offset:
                self.found_ms, self.found_offset = timestamp_ms, offset
                self.is_stopped = True
