"""Questions for offsets: where does an epoch end, which record was the first at a time, where do readers stand.

Theory   A consumer is told of nothing that it could not read: below the high watermark. Errors as for a read.
Units    offsets count records; record timestamps are milliseconds of wall time.
Source   core/.../cluster/Partition.scala @ 4.0: fetchOffsetForTimestamp, lastOffsetForLeaderEpoch; UnifiedLog.scala
         fetchOffsetByTimestamp.
Differs  No transactions: the last stable offset is the watermark. Nothing is tiered.
"""

from __future__ import annotations

from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.log.log_validator import MAX_DECOMPRESSED_BYTES
from fakebroker.core.replication.fetch import (
    CONSUMER_REPLICA_ID,
    DEBUGGING_REPLICA_ID,
    OffsetQuery,
    TimestampAndOffset,
)
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.reads import local_replica
from fakebroker.protocol.compression import decompress
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import RECORD_BATCH_OVERHEAD, read_batch_header
from fakebroker.protocol.record_walk import record_facts

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6


def last_offset_for_leader_epoch(
    partition: Partition, broker_id: int, current_leader_epoch: int, leader_epoch: int
) -> tuple[int, int]:
    """(the largest epoch up to `leader_epoch`, its end offset), both -1 if there is none; raises KafkaError."""
    replica = local_replica(partition, broker_id, current_leader_epoch, require_leader=True)
    return replica.end_offset_for_epoch(leader_epoch)


def fetch_offset_for_timestamp(broker_id: int, query: OffsetQuery) -> TimestampAndOffset:
    """The first offset at or after a time, or a special one. Raises KafkaError: OFFSET_NOT_AVAILABLE for a consumer
    that asks for the end while the watermark has not reached the start of this leadership."""
    partition = query.partition
    require_leader = query.replica_id != DEBUGGING_REPLICA_ID
    replica = local_replica(partition, broker_id, query.current_leader_epoch, require_leader)
    log = replica.log
    is_consumer = query.replica_id == CONSUMER_REPLICA_ID
    last_fetchable_offset = log.high_watermark if is_consumer else log.log_end_offset
    lags_behind_election = is_consumer and partition.leader_epoch_start_offset > log.high_watermark
    if query.timestamp_ms in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        epoch = replica.leader_epochs.epoch_for_offset(log.log_start_offset)
        return TimestampAndOffset(-1, log.log_start_offset, epoch)
    if query.timestamp_ms in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
        return TimestampAndOffset()  # nothing is tiered
    if query.timestamp_ms == LATEST_TIMESTAMP:
        if not lags_behind_election:
            return TimestampAndOffset(-1, last_fetchable_offset, partition.leader_epoch)
    else:
        is_maximum = query.timestamp_ms == MAX_TIMESTAMP
        found = _at_max_timestamp(log) if is_maximum else _at_or_after(log, query.timestamp_ms)
        if found is not None and found.offset < last_fetchable_offset:
            return found
    if lags_behind_election:
        raise KafkaError(
            ErrorCode.offset_not_available,
            f"Failed to fetch offsets for partition {partition.topic_partition} with leader epoch "
            f"{partition.leader_epoch} as this partition's high watermark ({log.high_watermark}) is lagging behind the "
            f"start offset from the beginning of this epoch ({partition.leader_epoch_start_offset}).",
        )
    return TimestampAndOffset()


def _at_or_after(log: Log, timestamp_ms: int) -> TimestampAndOffset | None:
    for batch in log.batches_since(timestamp_ms):
        header = read_batch_header(batch.records)
        if header.max_timestamp_ms >= timestamp_ms:
            for record_ms, offset in _timestamps(batch):
                if record_ms >= timestamp_ms and offset >= log.log_start_offset:
                    return TimestampAndOffset(record_ms, offset, batch.leader_epoch)
    return None


def _at_max_timestamp(log: Log) -> TimestampAndOffset | None:
    batches = log.batches
    if not batches:
        return None
    # The first of those that share the maximum.
    largest = [read_batch_header(batch.records).max_timestamp_ms for batch in batches]
    maximum_ms = max(largest)
    batch = batches[largest.index(maximum_ms)]
    for record_ms, offset in _timestamps(batch):
        if record_ms == maximum_ms:
            return TimestampAndOffset(maximum_ms, offset, batch.leader_epoch)
    return None


def _timestamps(batch: LoggedBatch) -> list[tuple[int, int]]:
    """(timestamp, offset) of each record."""
    header = read_batch_header(batch.records)
    data, start = batch.records, RECORD_BATCH_OVERHEAD
    if header.compression:
        data, start = decompress(header.compression, data[RECORD_BATCH_OVERHEAD:], MAX_DECOMPRESSED_BYTES), 0
    return [
        (
            header.max_timestamp_ms if header.has_log_append_time else record.timestamp_ms,
            batch.base_offset + record.offset_delta,
        )
        for record in record_facts(data, start, header.record_count, header.base_timestamp_ms)
    ]
