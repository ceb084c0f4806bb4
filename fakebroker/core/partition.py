"""A partition as its leader sees it: replicas, in-sync replicas, high watermark.

Theory   An append goes to the leader's log and moves nothing else, unless the leader is alone in the ISR. The
         watermark is the smallest log end offset among the leader, the ISR, and those replicas that are about to
         join it; it moves when a follower's fetch proves progress or when the ISR changes, never backwards, and
         not while the ISR is smaller than the effective min.insync.replicas (KIP-966, 3.7 and later).
Units    times are monotonic milliseconds; offsets count records.
Source   core/.../cluster/Partition.scala @ 4.0: appendRecordsToLeader, maybeIncrementLeaderHW,
         updateFollowerFetchState, maybeShrinkIsr, maybeExpandIsr, checkEnoughReplicasReachOffset.
Differs  One object for the whole cluster instead of one per broker: `leader_id` says who leads. ISR changes apply
         at once (no controller round trip), so committed and maximal ISR are the same set.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from fakebroker.core.clock import Now
from fakebroker.core.config import TopicConfig
from fakebroker.core.log import Log
from fakebroker.core.log_append import prepare_append
from fakebroker.core.log_retention import LogMemory, start_at_most, start_by_size, start_by_time
from fakebroker.core.producer_state import BatchMetadata
from fakebroker.core.replica import Replica
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.topic_partition import TopicPartition


class LeaderHwChange(Enum):
    """What an append did to the leader's high watermark; decides whom it may wake."""

    INCREASED = "increased"
    SAME = "same"
    NONE = "none"


class LogAppendInfo(NamedTuple):
    """Where an append landed. `log_append_time_ms` is -1 on a CreateTime topic."""

    first_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    leader_hw_change: LeaderHwChange


class Partition:
    """State of one partition. `replicas` are in assignment order; the first is the preferred leader."""

    def __init__(
        self,
        topic_partition: TopicPartition,
        broker_ids: Sequence[int],
        config: TopicConfig,
        lag_max_ms: int,
        now_ms: int,
        memory: LogMemory | None = None,
    ) -> None:
        self.topic_partition = topic_partition
        self._memory = memory
        self.config = config
        self.replica_lag_time_max_ms = lag_max_ms
        self.replicas = {broker_id: Replica(broker_id) for broker_id in broker_ids}
        self.leader_id = broker_ids[0]
        self.leader_epoch = 0
        self.leader_epoch_start_offset = 0
        self.isr: set[int] = set(broker_ids)
        for replica in self.replicas.values():
            replica.update_fetch_state(0, now_ms)

    @property
    def leader_log(self) -> Log:
        return self.replicas[self.leader_id].log

    @property
    def high_watermark(self) -> int:
        return self.leader_log.high_watermark

    @property
    def followers(self) -> list[Replica]:
        return [replica for replica in self.replicas.values() if replica.broker_id != self.leader_id]

    @property
    def replica_ids(self) -> list[int]:
        return list(self.replicas)

    @property
    def isr_ids(self) -> list[int]:
        """In assignment order."""
        return [broker_id for broker_id in self.replicas if broker_id in self.isr]

    @property
    def effective_min_isr(self) -> int:
        """min.insync.replicas, but never more than there are replicas (KAFKA-15583, 3.7 and later)."""
        return min(self.config.min_insync_replicas, len(self.replicas))

    @property
    def is_under_min_isr(self) -> bool:
        return len(self.isr) < self.effective_min_isr

    def append_records_to_leader(self, records: bytes, required_acks: int, now: Now) -> LogAppendInfo:
        """Validate and append one batch; raises KafkaError with the partition's error and appends nothing."""
        if required_acks == -1 and self.is_under_min_isr:
            raise KafkaError(
                ErrorCode.not_enough_replicas,
                f"The size of the current ISR {sorted(self.isr)} is insufficient to satisfy the min.isr requirement of "
                f"{self.effective_min_isr} for partition {self.topic_partition}",
            )
        log = self.leader_log
        prepared = prepare_append(log, records, self.config, self.topic_partition, self.leader_epoch, now.wall_ms)
        if isinstance(prepared, BatchMetadata):  # sent again: the answer of the first time, and nothing appended
            return self._append_info(prepared.first_offset, prepared.last_offset, prepared.timestamp_ms, now)
        batch, append_time_ms = prepared
        if self._memory is not None:
            self._memory.make_room(len(batch.data))
        for follower in self.followers:
            # A follower that has everything fetches on and on, and so was caught up until this very append.
            if follower.log_end_offset == batch.base_offset:
                follower.update_fetch_state(batch.base_offset, now.mono_ms)
        log.append(batch)
        self.replicas[self.leader_id].update_fetch_state(log.log_end_offset, now.mono_ms)
        info = self._append_info(batch.base_offset, batch.last_offset, append_time_ms, now)
        if 0 <= self.config.retention_bytes < log.size_in_bytes and "delete" in self.config.cleanup_policy:
            self.delete_records_before(start_by_size(log, self.config.retention_bytes))
        return info

    def _append_info(self, first_offset: int, last_offset: int, append_time_ms: int, now: Now) -> LogAppendInfo:
        increased = self.maybe_increment_leader_hw(now.mono_ms)
        return LogAppendInfo(
            first_offset,
            last_offset,
            append_time_ms,
            self.leader_log.log_start_offset,
            LeaderHwChange.INCREASED if increased else LeaderHwChange.SAME,
        )

    def delete_old_records(self, now_wall_ms: int) -> None:
        """UnifiedLog.deleteOldSegments: by retention.bytes, then by retention.ms. Compacted topics keep theirs."""
        config = self.config
        if "delete" not in config.cleanup_policy or self.leader_id not in self.replicas:
            return
        if config.retention_bytes >= 0:
            self.delete_records_before(start_by_size(self.leader_log, config.retention_bytes))
        if config.retention_ms >= 0:
            self.delete_records_before(start_by_time(self.leader_log, config.retention_ms, now_wall_ms))

    @property
    def size_in_bytes(self) -> int:
        """Of the largest replica: the others share its batches."""
        return max(replica.log.size_in_bytes for replica in self.replicas.values())

    def shrink_to(self, max_bytes: int) -> None:
        """Delete old records until there are no more than `max_bytes`, if the watermark allows; for lack of memory."""
        if self.leader_id in self.replicas:
            self.delete_records_before(start_at_most(self.leader_log, max_bytes))

    def delete_records_before(self, offset: int) -> None:
        """Move the log start, of the followers too: their next fetch would tell them."""
        if self.leader_log.maybe_increment_log_start_offset(min(offset, self.high_watermark)):
            for follower in self.followers:
                follower.log.maybe_increment_log_start_offset(self.leader_log.log_start_offset)

    def remove_expired_producers(self, now_wall_ms: int, expiration_ms: int) -> None:
        """UnifiedLog.removeExpiredProducers, on each replica."""
        for replica in self.replicas.values():
            replica.log.producer_state.remove_expired_producers(now_wall_ms, expiration_ms)

    def maybe_increment_leader_hw(self, now_ms: int) -> bool:
        """Move the high watermark as far as the in-sync replicas allow. True if it moved."""
        if self.is_under_min_isr:
            return False
        leader_end_offset = self.leader_log.log_end_offset
        new_high_watermark = leader_end_offset
        for replica in self.followers:
            waits_for = replica.broker_id in self.isr or replica.is_caught_up(
                leader_end_offset, now_ms, self.replica_lag_time_max_ms
            )
            if waits_for and replica.log_end_offset < new_high_watermark:
                new_high_watermark = replica.log_end_offset
        if new_high_watermark <= self.high_watermark:
            return False
        self.leader_log.update_high_watermark(new_high_watermark)
        return True

    def update_follower_fetch_state(
        self, broker_id: int, fetch_offset: int, caught_up_time_ms: int, now_ms: int
    ) -> bool:
        """A follower fetched from `fetch_offset`, so it has all before it. True if the high watermark moved."""
        replica = self.replicas[broker_id]
        replica.update_fetch_state(fetch_offset, caught_up_time_ms)
        self.maybe_expand_isr(broker_id)
        moved = self.maybe_increment_leader_hw(now_ms)
        # The answer to the fetch carries the leader's watermark.
        replica.log.update_high_watermark(self.high_watermark)
        return moved

    def maybe_expand_isr(self, broker_id: int) -> bool:
        """Take a follower into the ISR once it has reached the watermark and the start of this leadership."""
        offset = self.replicas[broker_id].log_end_offset
        if broker_id in self.isr or offset < self.high_watermark or offset < self.leader_epoch_start_offset:
            return False
        self.isr.add(broker_id)
        return True

    def maybe_shrink_isr(self, now_ms: int) -> bool:
        """Drop followers that have been behind for longer than replica.lag.time.max.ms. True if the high watermark
        moved because of it."""
        end_offset = self.leader_log.log_end_offset
        out_of_sync = {
            replica.broker_id
            for replica in self.followers
            if replica.broker_id in self.isr
            and not replica.is_caught_up(end_offset, now_ms, self.replica_lag_time_max_ms)
        }
        if not out_of_sync:
            return False
        self.isr -= out_of_sync
        return self.maybe_increment_leader_hw(now_ms)

    def check_enough_replicas_reach_offset(self, required_offset: int) -> tuple[bool, ErrorCode]:
        """Whether an acks=-1 append that needs the watermark at `required_offset` is answered now, and with what."""
        if self.high_watermark < required_offset:
            return False, ErrorCode.none
        if self.is_under_min_isr:
            return True, ErrorCode.not_enough_replicas_after_append
        return True, ErrorCode.none

    def check_invariants(self) -> None:
        assert self.leader_id in self.isr
        assert self.isr <= set(self.replicas)
        for replica in self.replicas.values():
            replica.log.check_invariants()
            assert replica.log.log_end_offset == replica.log_end_offset
            assert replica.log.log_end_offset <= self.leader_log.log_end_offset
        assert self.high_watermark <= min(self.replicas[i].log_end_offset for i in self.isr)
