"""What is read from one replica of a partition: by consumers, by followers over the wire, and by questions for offsets.

Theory   A consumer reads below the high watermark of the replica that it asks, a follower up to the leader's log end. A
         follower's fetch first reads and then tells the leader how far it has come, so its answer carries the watermark
         from before. Order of checks: the leader epoch (older 74, newer 75), leadership (6), the replica id (not
         assigned: 75 if the request knew the epoch, else 6), divergence, the offset (1), the broker epoch (6).
Units    offsets count records, sizes are bytes, times milliseconds; record timestamps are wall time.
Source   core/.../cluster/Partition.scala @ 4.0: getLocalLog, fetchRecords, readRecords, followerReplicaOrThrow,
         fetchOffsetForTimestamp, lastOffsetForLeaderEpoch; UnifiedLog.scala fetchOffsetByTimestamp.
Differs  No transactions: the last stable offset is the watermark. A fetch with the id of a follower that is not
         `external` is refused with NOT_LEADER_OR_FOLLOWER.
"""

from __future__ import annotations

from typing import NamedTuple

from fakebroker.apis.context import (
    CONSUMER_REPLICA_ID,
    DEBUGGING_REPLICA_ID,
    FetchParams,
    FetchPartition,
    FetchResult,
    OffsetQuery,
    TimestampAndOffset,
)
from fakebroker.core.clock import Now
from fakebroker.core.log.leader_epochs import UNDEFINED_EPOCH
from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.log.log_validator import MAX_DECOMPRESSED_BYTES
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.replica import Replica
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


class LogReadInfo(NamedTuple):
    """A result, and whether the read moved the leader's high watermark."""

    result: FetchResult
    moved_high_watermark: bool = False


def local_replica(partition: Partition, broker_id: int, current_leader_epoch: int, require_leader: bool) -> Replica:
    """The broker's own replica; raises KafkaError if the asker lives in another epoch, or the broker does not lead."""
    if current_leader_epoch != UNDEFINED_EPOCH and current_leader_epoch != partition.leader_epoch:
        older = current_leader_epoch < partition.leader_epoch
        raise KafkaError(
            ErrorCode.fenced_leader_epoch if older else ErrorCode.unknown_leader_epoch,
            f"{partition.topic_partition} is in leader epoch {partition.leader_epoch}, not {current_leader_epoch}",
        )
    if require_leader and partition.leader_id != broker_id:
        raise KafkaError(
            ErrorCode.not_leader_or_follower, f"broker {broker_id} does not lead {partition.topic_partition}"
        )
    return partition.replicas[broker_id]


def end_offset(log: Log, params: FetchParams) -> int:
    """Up to where this kind of reader may read."""
    return log.log_end_offset if params.is_from_follower else log.high_watermark


def readable_bytes(log: Log, offset: int, end: int, limit: int) -> int:
    """How much a read from `offset` would give, counted up to `limit`."""
    return min(log.size_between(offset, end), limit)


def diverging_epoch(replica: Replica, fetch: FetchPartition) -> tuple[int, int] | None:
    """(epoch, end offset) up to which the reader's log is this one's, if it is not wholly so. Raises
    OFFSET_OUT_OF_RANGE if that cannot be told."""
    if fetch.last_fetched_epoch == UNDEFINED_EPOCH:
        return None
    epoch, end = replica.end_offset_for_epoch(fetch.last_fetched_epoch)
    if epoch == UNDEFINED_EPOCH or fetch.fetch_offset < replica.log.log_start_offset:
        raise KafkaError(
            ErrorCode.offset_out_of_range,
            f"offset {fetch.fetch_offset} in epoch {fetch.last_fetched_epoch} of {fetch.topic_partition}: the log "
            f"starts at {replica.log.log_start_offset} and knows the epochs {replica.leader_epochs.entries}",
        )
    return (epoch, end) if epoch < fetch.last_fetched_epoch or end < fetch.fetch_offset else None


def fetch_records(
    partition: Partition,
    broker_id: int,
    params: FetchParams,
    fetch: FetchPartition,
    max_bytes: int,
    update_fetch_state_at: Now | None,
) -> LogReadInfo:
    """Read for a Fetch; raises KafkaError. A follower's position is noted at the time given, if one is."""
    replica = local_replica(partition, broker_id, fetch.current_leader_epoch, params.fetch_only_leader)
    if params.is_from_follower:
        _check_follower(partition, params.replica_id, fetch)
    log = replica.log
    leader_end_offset = log.log_end_offset
    diverging = diverging_epoch(replica, fetch)
    if diverging is None and not log.log_start_offset <= fetch.fetch_offset <= leader_end_offset:
        raise KafkaError(
            ErrorCode.offset_out_of_range,
            f"Received request for offset {fetch.fetch_offset} for partition {fetch.topic_partition}, but we only have "
            f"log segments in the range {log.log_start_offset} to {leader_end_offset}.",
        )
    end = end_offset(log, params)
    if max_bytes < 0 and not diverging and fetch.fetch_offset < end:
        # IllegalArgumentException of LogSegment.read.
        raise KafkaError(ErrorCode.unknown_server_error, f"Invalid max size {max_bytes} for log read")
    records = b"" if diverging else log.read(fetch.fetch_offset, end, max_bytes)
    result = FetchResult(
        fetch.topic_partition,
        ErrorCode.none,
        log.high_watermark,
        log.high_watermark,
        log.log_start_offset,
        records,
        diverging,
    )
    if not params.is_from_follower or update_fetch_state_at is None or diverging:
        return LogReadInfo(result)
    return LogReadInfo(
        result,
        partition.update_follower_fetch_state_over_wire(
            params.replica_id,
            fetch.fetch_offset,
            leader_end_offset,
            update_fetch_state_at.mono_ms,
            params.replica_epoch,
        ),
    )


def _check_follower(partition: Partition, replica_id: int, fetch: FetchPartition) -> None:
    replica = partition.replicas.get(replica_id)
    if replica is None or replica_id == partition.leader_id:
        knew_epoch = fetch.current_leader_epoch != UNDEFINED_EPOCH
        raise KafkaError(
            ErrorCode.unknown_leader_epoch if knew_epoch else ErrorCode.not_leader_or_follower,
            f"Replica {replica_id} is not recognized as a valid replica of {partition.topic_partition} in leader epoch "
            f"{partition.leader_epoch}",
        )
    if not replica.is_external:
        raise KafkaError(
            ErrorCode.not_leader_or_follower,
            f"Replica {replica_id} of {partition.topic_partition} is played by this cluster; make it external first",
        )


def last_offset_for_leader_epoch(
    partition: Partition, broker_id: int, current_leader_epoch: int, leader_epoch: int
) -> tuple[int, int]:
    """(the largest epoch up to `leader_epoch`, its end offset), both -1 if there is none; raises KafkaError."""
    replica = local_replica(partition, broker_id, current_leader_epoch, require_leader=True)
    return replica.end_offset_for_epoch(leader_epoch)


def fetch_offset_for_timestamp(partition: Partition, broker_id: int, query: OffsetQuery) -> TimestampAndOffset:
    """The first offset at or after a time, or a special one. Raises KafkaError: OFFSET_NOT_AVAILABLE for a consumer
    that asks for the end while the watermark has not reached the start of this leadership."""
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
    for batch in log.batches:
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
