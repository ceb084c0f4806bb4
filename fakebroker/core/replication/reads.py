"""Reads from one replica of a partition, by consumers and by followers over the wire.

Theory   A consumer reads below the high watermark of its replica. With read_committed it reads below the last stable
         offset, and gets the aborted transactions there. A follower reads up to the leader's log end. A follower's
         fetch first reads and then reports its position to the leader, so its response carries the earlier high
         watermark. Order of checks: the leader epoch (older 74, newer 75), leadership (6), the replica id (not
         assigned: 75 if the request knew the epoch, else 6), divergence, the offset (1), the broker epoch (6).
Units    offsets count records, sizes are bytes, times milliseconds; record timestamps are wall time.
Source   core/.../server/ReplicaManager.scala readFromLog, getPartitionOrError; core/.../cluster/Partition.scala @ 4.0:
         getLocalLog, fetchRecords, readRecords, followerReplicaOrThrow.
Differs  A fetch with the id of a follower that is not `external` is refused with NOT_LEADER_OR_FOLLOWER.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from fakebroker.core.clock import Now
from fakebroker.core.log.leader_epochs import UNDEFINED_EPOCH
from fakebroker.core.log.log import Log
from fakebroker.core.quota.replication import ReplicationQuotas
from fakebroker.core.replication.fetch import FetchParams, FetchPartition
from fakebroker.core.replication.isr import update_follower_fetch_state_over_wire
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.preferred_replica import find_preferred_read_replica
from fakebroker.core.replication.replica import Replica
from fakebroker.core.replication.wakeups import Wakeups
from fakebroker.protocol.answers.fetch_response import PartitionFetchResponse
from fakebroker.protocol.answers.pieces import NOTHING
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices

PARTITIONS_OF_A_SLICE: Final = 64


@final
class _Reading:
    """The progress of a fetch: its results, and the number of bytes left."""

    __slots__ = ("has_any", "left", "results")

    def __init__(self, max_bytes: int) -> None:
        self.left = max_bytes
        self.has_any = False
        self.results: list[PartitionFetchResponse] = []


class LogReader:
    """The reader of the replicas of one broker. With `has_selector` it sends consumers to the replica in their rack."""

    def __init__(self, broker_id: int, wakeups: Wakeups, quotas: ReplicationQuotas, has_selector: bool = False) -> None:
        self.broker_id = broker_id
        self.quotas = quotas
        self._wakeups = wakeups
        self._has_selector = has_selector

    def read_from_log(
        self, params: FetchParams, partitions: Sequence[FetchPartition], update_fetch_state_at: Now | None = None
    ) -> list[PartitionFetchResponse]:
        """Read each partition, at most `max_bytes` in all but at least one batch. If `update_fetch_state_at` is given,
        note the positions of a follower at that time."""
        reading = _Reading(params.max_bytes)
        for fetch in partitions:
            self._read_next(params, fetch, reading, update_fetch_state_at)
        return reading.results

    def read_in_slices(
        self, params: FetchParams, partitions: Sequence[FetchPartition], update_fetch_state_at: Now | None
    ) -> Slices[list[PartitionFetchResponse]]:
        """Do the work of `read_from_log`; other work may run between two partitions."""
        reading = _Reading(params.max_bytes)
        for fetch in partitions:
            if len(reading.results) % PARTITIONS_OF_A_SLICE == PARTITIONS_OF_A_SLICE - 1:
                yield
            self._read_next(params, fetch, reading, update_fetch_state_at)
        return reading.results

    def _read_next(
        self, params: FetchParams, fetch: FetchPartition, reading: _Reading, update_fetch_state_at: Now | None
    ) -> None:
        wanted = min(fetch.max_bytes, reading.left)
        result = self._read(params, fetch, wanted, update_fetch_state_at)
        size = result.records.size
        if size > 0 and params.is_from_follower and self.should_leader_throttle(fetch.partition, params.replica_id):
            result.records, size = NOTHING, 0
        if size > 0:
            if size > wanted and reading.has_any:
                result.records = NOTHING  # only the first non-empty partition may exceed the limit
            else:
                reading.has_any = True
                reading.left = max(reading.left - size, 0)
        reading.results.append(result)

    def should_leader_throttle(self, partition: Partition, replica_id: int) -> bool:
        """Return True if an out-of-sync follower gets nothing, because this broker has used up its quota for them
        (KIP-73)."""
        config = partition.config
        if not config.leader_replication_throttled_replicas:
            return False
        replica = partition.replicas.get(replica_id)
        if replica is None or replica.is_in_sync:
            return False
        quotas = self.quotas.of(self.broker_id)
        return quotas.throttles_leader(config, partition.topic_partition.partition) and quotas.leader.is_exceeded(
            self.quotas.now_ms
        )

    def _read(
        self, params: FetchParams, fetch: FetchPartition, max_bytes: int, update_fetch_state_at: Now | None
    ) -> PartitionFetchResponse:
        partition = fetch.seen_by(self.broker_id)
        code = hosted_partition_error(partition, self.broker_id)
        if code is None and fetch.error is not ErrorCode.none:
            code = fetch.error
        if code is not None:
            return _failed(partition, code)
        moved = False
        leader_end_offset = partition.replicas[self.broker_id].log.log_end_offset  # before the read
        try:
            if self._has_selector:
                preferred = find_preferred_read_replica(partition, self.broker_id, params, fetch.fetch_offset)
                if preferred >= 0:
                    return _elsewhere(self.broker_id, fetch, preferred)
            result = fetch_records(self.broker_id, params, fetch, max_bytes)
            if params.is_from_follower and update_fetch_state_at is not None and result.diverging_epoch is None:
                moved = update_follower_fetch_state_over_wire(
                    partition,
                    params.replica_id,
                    fetch.fetch_offset,
                    leader_end_offset,
                    update_fetch_state_at.mono_ms,
                    params.replica_epoch,
                )
        except KafkaError as error:
            return _failed(partition, error.code)
        if moved:
            self._wakeups.try_complete_delayed_requests(partition)
        return result


def _failed(partition: Partition, code: ErrorCode) -> PartitionFetchResponse:
    return PartitionFetchResponse(partition.topic_partition.partition, code, aborted_transactions=None)


def _elsewhere(broker_id: int, fetch: FetchPartition, preferred_read_replica: int) -> PartitionFetchResponse:
    """Return a response without records that names another broker to read from."""
    log = local_replica(fetch.partition, broker_id, fetch.current_leader_epoch, require_leader=False).log
    return PartitionFetchResponse(
        fetch.partition.topic_partition.partition,
        ErrorCode.none,
        log.high_watermark,
        log.last_stable_offset,
        log.log_start_offset,
        aborted_transactions=None,
        preferred_read_replica=preferred_read_replica,
    )


def hosted_partition_error(partition: Partition, broker_id: int) -> ErrorCode | None:
    """Return the error for a partition without a replica on this broker (Kafka's getPartitionOrError)."""
    if partition.is_deleted:
        return ErrorCode.unknown_topic_or_partition if partition.truth is None else ErrorCode.not_leader_or_follower
    return None if broker_id in partition.replicas else ErrorCode.not_leader_or_follower


def local_replica(partition: Partition, broker_id: int, current_leader_epoch: int, require_leader: bool) -> Replica:
    """Return the broker's own replica. Raise KafkaError if the request has another epoch, or the broker does not
    lead."""
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
    """Return the offset up to which this kind of reader may read."""
    if params.is_from_follower:
        return log.log_end_offset
    return log.last_stable_offset if params.read_committed else log.high_watermark


def readable_bytes(log: Log, offset: int, end: int, limit: int) -> int:
    """Return the number of bytes that a read from `offset` would give, counted up to `limit`."""
    return min(log.size_between(offset, end), limit)


def diverging_epoch(replica: Replica, fetch: FetchPartition) -> tuple[int, int] | None:
    """Return (epoch, end offset) up to which the reader's log matches this one; None if it matches wholly. Raise
    OFFSET_OUT_OF_RANGE if that is unknown."""
    if fetch.last_fetched_epoch == UNDEFINED_EPOCH:
        return None
    epoch, end = replica.end_offset_for_epoch(fetch.last_fetched_epoch)
    if epoch == UNDEFINED_EPOCH or fetch.fetch_offset < replica.log.log_start_offset:
        raise KafkaError(
            ErrorCode.offset_out_of_range,
            f"offset {fetch.fetch_offset} in epoch {fetch.last_fetched_epoch} of {fetch.partition.topic_partition}: "
            f"the log starts at {replica.log.log_start_offset} and knows the epochs {replica.leader_epochs.entries}",
        )
    return (epoch, end) if epoch < fetch.last_fetched_epoch or end < fetch.fetch_offset else None


def fetch_records(broker_id: int, params: FetchParams, fetch: FetchPartition, max_bytes: int) -> PartitionFetchResponse:
    """Read one partition for a Fetch. Raise KafkaError."""
    partition = fetch.partition
    replica = local_replica(partition, broker_id, fetch.current_leader_epoch, params.fetch_only_leader)
    if params.is_from_follower:
        _check_follower(partition, params.replica_id, fetch)
    log = replica.log
    diverging = diverging_epoch(replica, fetch)
    if diverging is None and not log.log_start_offset <= fetch.fetch_offset <= log.log_end_offset:
        raise KafkaError(
            ErrorCode.offset_out_of_range,
            f"Received request for offset {fetch.fetch_offset} for partition {partition.topic_partition}, but we only "
            f"have log segments in the range {log.log_start_offset} to {log.log_end_offset}.",
        )
    end = end_offset(log, params)
    if max_bytes < 0 and not diverging and fetch.fetch_offset < end:
        # IllegalArgumentException of LogSegment.read.
        raise KafkaError(ErrorCode.unknown_server_error, f"Invalid max size {max_bytes} for log read")
    records = NOTHING if diverging else log.read(fetch.fetch_offset, end, max_bytes)
    aborted = None
    if params.read_committed and diverging is None:
        aborted = log.aborted_transactions(fetch.fetch_offset, records.size)
    return PartitionFetchResponse(
        partition.topic_partition.partition,
        ErrorCode.none,
        log.high_watermark,
        log.last_stable_offset,
        log.log_start_offset,
        records,
        aborted,
        diverging,
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
