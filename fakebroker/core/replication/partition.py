"""A partition as its leader sees it: replicas, in-sync replicas, high watermark.

Theory   An append goes to the leader's log and moves nothing else, unless the leader is alone in the ISR. The
         watermark is the smallest log end offset among the leader, the ISR, and those replicas that are about to
         join it; it moves when a follower's fetch proves progress or when the ISR changes, never backwards, and
         not while the ISR is smaller than the effective min.insync.replicas (KIP-966, 3.7 and later).
Units    times are monotonic milliseconds; offsets count records.
Source   core/.../cluster/Partition.scala @ 4.0: makeLeader, appendRecordsToLeader, maybeIncrementLeaderHW,
         updateFollowerFetchState, maybeShrinkIsr, maybeExpandIsr, checkEnoughReplicasReachOffset.
Differs  One object for the whole cluster instead of one per broker: `leader_id` says who leads. ISR changes apply
         at once (no controller round trip), so committed and maximal ISR are the same set. A follower that is alive
         learns a new watermark at once; in Kafka the answer to its next fetch brings it, at most
         replica.fetch.wait.max.ms (500 ms) later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final, final

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.clock import Now
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.log.append import prepare_append
from fakebroker.core.log.log import Log
from fakebroker.core.log.plain_append import PlainRules
from fakebroker.core.log.producer_state import BatchMetadata
from fakebroker.core.log.retention import LogMemory, start_at_most, start_by_size, start_by_time
from fakebroker.core.probe import Probe
from fakebroker.core.replication.replica import UNKNOWN_OFFSET, Replica
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr


class LeaderHwChange(Enum):
    """What an append did to the leader's high watermark; decides whom it may wake."""

    INCREASED = "increased"
    SAME = "same"
    NONE = "none"


_INCREASED: Final = LeaderHwChange.INCREASED
_SAME: Final = LeaderHwChange.SAME
_NO_ERROR: Final = ErrorCode.none


@mypyc_attr(acyclic=True, free_list_len=1)
class LogAppendInfo:
    """Where an append landed. `log_append_time_ms` is -1 on a CreateTime topic."""

    __slots__ = ("first_offset", "last_offset", "leader_hw_change", "log_append_time_ms", "log_start_offset")

    def __init__(
        self,
        first_offset: int,
        last_offset: int,
        log_append_time_ms: int,
        log_start_offset: int,
        leader_hw_change: LeaderHwChange,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.leader_hw_change = leader_hw_change


NO_LEADER: Final = -1


@final
class Partition:
    """State of one partition. `replicas` are in assignment order; the first is the preferred leader.

    While `leader_id` is NO_LEADER nobody may be asked for the leader's log or watermark.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        broker_ids: Sequence[int],
        config: TopicConfig,
        lag_max_ms: int,
        now_ms: int,
        brokers: BrokerRegistry | None = None,
        memory: LogMemory | None = None,
        probe: Probe | None = None,
    ) -> None:
        """Raises ValueError if none of the brokers is alive; `brokers` are all alive if not given. Nothing is told of
        the first leadership: whoever makes the partition known does (`tell_leader`)."""
        self.topic_partition = topic_partition
        self._probe = probe or Probe()
        self._memory = memory
        self.is_deleted = False  # with its topic
        self._derive(config)
        self.replica_lag_time_max_ms = lag_max_ms
        self.brokers = brokers or BrokerRegistry(broker_ids)
        self.replicas = {broker_id: Replica(self.brokers[broker_id]) for broker_id in broker_ids}
        self.leader_id = NO_LEADER
        self._leader = self.replicas[broker_ids[0]]  # the one that leads, or led last
        self.followers = list(self.replicas.values())  # all but the leader
        self.leader_epoch = -1
        self.leader_epoch_start_offset = 0
        self.is_under_min_isr = False
        alive = self.brokers.alive(broker_ids)
        if not alive:
            raise ValueError(f"no broker of {list(broker_ids)} is alive")
        self._begin_leadership(alive[0], alive, now_ms)
        for broker_id in alive:
            self.replicas[broker_id].update_fetch_state(0, now_ms)

    @property
    def leader(self) -> Replica:
        """The replica that leads."""
        return self._leader if self.leader_id == self._leader.broker_id else self.replicas[self.leader_id]

    @property
    def leader_log(self) -> Log:
        return self.leader.log

    @property
    def high_watermark(self) -> int:
        return self.leader_log.high_watermark

    @property
    def replica_ids(self) -> list[int]:
        return list(self.replicas)

    @property
    def isr_ids(self) -> list[int]:
        """In assignment order."""
        return [broker_id for broker_id, replica in self.replicas.items() if replica.is_in_sync]

    @property
    def isr(self) -> set[int]:
        """Broker ids of the in-sync replicas. A copy."""
        return set(self.isr_ids)

    @property
    def offline_ids(self) -> list[int]:
        """Replicas on brokers that are not alive, in assignment order."""
        return [broker_id for broker_id in self.replicas if not self.brokers.is_alive(broker_id)]

    @property
    def effective_min_isr(self) -> int:
        """min.insync.replicas, but never more than there are replicas (KAFKA-15583, 3.7 and later)."""
        return min(self.config.min_insync_replicas, len(self.replicas))

    def configure(self, config: TopicConfig) -> None:
        """The topic has other settings. Nothing moves and nobody is woken: UnifiedLog.updateConfig does no more."""
        self._derive(config)
        self._set_isr(self.isr_ids)

    def _derive(self, config: TopicConfig) -> None:
        """What is kept of the settings in the form in which it is asked for."""
        self.config = config
        self._plain_rules = PlainRules(config)
        self._retention_bytes = config.retention_bytes if "delete" in config.cleanup_policy else -1
        self._min_insync_replicas = config.min_insync_replicas

    def _change_isr(self, isr: Iterable[int]) -> None:
        """Another ISR within a leadership."""
        before = self.isr_ids
        self._set_isr(isr)
        for listener in self._probe.listeners:
            if (after := self.isr_ids) != before:
                listener.isr_changed(self.topic_partition, self.leader_epoch, after)

    def _set_isr(self, isr: Iterable[int]) -> None:
        members = set(isr)
        for replica in self.replicas.values():
            replica.is_in_sync = replica.broker_id in members
        size = len(members)
        self.is_under_min_isr = size < len(self.replicas) and size < self._min_insync_replicas

    # What the controller decides.

    def become_leader(self, broker_id: int, isr: Iterable[int], now_ms: int) -> bool:
        """Begin a new leader epoch. True if the high watermark moved because of it."""
        moved = self._begin_leadership(broker_id, isr, now_ms)
        self.tell_leader()
        return moved

    def _begin_leadership(self, broker_id: int, isr: Iterable[int], now_ms: int) -> bool:
        self.leader_id = broker_id
        self._leader = self.replicas[broker_id]
        self.followers = [replica for replica in self.replicas.values() if replica.broker_id != broker_id]
        self.leader_epoch += 1
        self._set_isr(isr)
        leader = self.replicas[broker_id]
        end_offset = self.leader_epoch_start_offset = leader.log.log_end_offset
        leader.leader_epochs.assign(self.leader_epoch, end_offset)
        for replica in self.replicas.values():
            replica.reset(now_ms)
        leader.update_fetch_state(end_offset, now_ms)
        return self._increment_leader_hw(now_ms)

    def lose_leader(self) -> None:
        """Nobody may lead. The ISR stays: its last member may lead again when it comes back."""
        self.leader_id = NO_LEADER
        self.followers = list(self.replicas.values())
        self.leader_epoch += 1
        self.tell_leader()

    def tell_leader(self) -> None:
        """Say who leads, to whoever listens."""
        for listener in self._probe.listeners:
            log_end_offset = high_watermark = -1
            if self.leader_id != NO_LEADER:
                log_end_offset, high_watermark = self.leader_log.log_end_offset, self.high_watermark
            listener.leader_changed(
                self.topic_partition, self.leader_id, self.leader_epoch, self.isr_ids, log_end_offset, high_watermark
            )

    def update_isr(self, isr: Iterable[int], now_ms: int) -> bool:
        """A new ISR in the same leader epoch. True if the high watermark moved because of it."""
        self._change_isr(isr)
        return self.maybe_increment_leader_hw(now_ms)

    # What the leader does.

    def append_records_to_leader(self, records: bytes, is_plain: bool, required_acks: int, now: Now) -> LogAppendInfo:
        """Validate and append one batch; raises KafkaError with the partition's error and appends nothing. `is_plain`
        as protocol/plain_batch.py has it."""
        if required_acks == -1 and self.is_under_min_isr:
            raise KafkaError(
                ErrorCode.not_enough_replicas,
                f"The size of the current ISR {sorted(self.isr)} is insufficient to satisfy the min.isr requirement of "
                f"{self.effective_min_isr} for partition {self.topic_partition}",
            )
        log = self.leader_log
        prepared = prepare_append(
            log,
            records,
            is_plain,
            self.config,
            self._plain_rules,
            self.topic_partition,
            self.leader_epoch,
            now.wall_ms,
        )
        if isinstance(prepared, BatchMetadata):  # sent again: the answer of the first time, and nothing appended
            return self._append_info(
                prepared.first_offset, prepared.last_offset, prepared.timestamp_ms, now, records, is_duplicate=True
            )
        batch, append_time_ms = prepared
        if self._memory is not None:
            self._memory.make_room(len(batch.records))
        for follower in self.followers:
            # A follower that has everything fetches on and on, and so was caught up until this very append.
            if follower.log_end_offset == batch.base_offset and self._fetches_on(follower):
                follower.update_fetch_state(batch.base_offset, now.mono_ms)
        log.append(batch)
        self._leader.update_fetch_state(log.log_end_offset, now.mono_ms)
        info = self._append_info(batch.base_offset, batch.last_offset, append_time_ms, now, records, is_duplicate=False)
        if 0 <= self._retention_bytes < log.size_in_bytes:
            self.delete_records_before(start_by_size(log, self._retention_bytes))
        return info

    def _append_info(
        self,
        first_offset: int,
        last_offset: int,
        append_time_ms: int,
        now: Now,
        records: bytes,
        is_duplicate: bool,
    ) -> LogAppendInfo:
        for listener in self._probe.listeners:
            listener.appended(
                self.topic_partition,
                self.leader_id,
                self.leader_epoch,
                records,
                first_offset,
                last_offset,
                is_duplicate,
            )
        increased = self.maybe_increment_leader_hw(now.mono_ms)
        return LogAppendInfo(
            first_offset,
            last_offset,
            append_time_ms,
            self.leader_log.log_start_offset,
            _INCREASED if increased else _SAME,
        )

    def delete_old_records(self, now_wall_ms: int) -> None:
        """UnifiedLog.deleteOldSegments: by retention.bytes, then by retention.ms. Compacted topics keep theirs."""
        config = self.config
        if "delete" not in config.cleanup_policy or self.leader_id == NO_LEADER:
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
        if self.leader_id != NO_LEADER:
            self.delete_records_before(start_at_most(self.leader_log, max_bytes))

    def delete_records_before(self, offset: int) -> None:
        """Move the log start, of the followers too: their next fetch would tell them."""
        leader = self.leader
        if leader.maybe_increment_log_start_offset(min(offset, self.high_watermark)):
            for listener in self._probe.listeners:
                listener.log_start_moved(self.topic_partition, leader.log.log_start_offset)
            for follower in self.followers:
                follower.maybe_increment_log_start_offset(leader.log.log_start_offset)

    def remove_expired_producers(self, now_wall_ms: int, expiration_ms: int) -> None:
        """UnifiedLog.removeExpiredProducers, on each replica."""
        for replica in self.replicas.values():
            replica.log.producer_state.remove_expired_producers(now_wall_ms, expiration_ms)

    def note_last_fetch(self, broker_id: int, now_ms: int) -> None:
        """A broker is about to stop: if its replica follows and has everything, it was caught up until now."""
        follower = self.replicas[broker_id]
        if (
            self.leader_id not in (NO_LEADER, broker_id)
            and follower.log_end_offset == self.leader_log.log_end_offset
            and self._fetches_on(follower)
        ):
            follower.update_fetch_state(follower.log_end_offset, now_ms)

    def _fetches_on(self, follower: Replica) -> bool:
        """Whether a follower is modelled here, on a broker that is alive: then it has a fetch waiting at the leader."""
        return not follower.is_external and follower.broker.is_alive

    def maybe_increment_leader_hw(self, now_ms: int) -> bool:
        """Move the high watermark as far as the in-sync replicas allow. True if it moved."""
        moved = self._increment_leader_hw(now_ms)
        if moved:
            log = self.leader_log
            for listener in self._probe.listeners:
                listener.watermark_moved(
                    self.topic_partition, self.leader_epoch, log.high_watermark, log.log_end_offset
                )
        return moved

    def _increment_leader_hw(self, now_ms: int) -> bool:
        if self.is_under_min_isr:
            return False
        leader_log = self.leader_log
        high_watermark = leader_log.high_watermark
        leader_end_offset = leader_log.log_end_offset
        new_high_watermark = leader_end_offset
        followers = self.followers
        for replica in followers:
            if new_high_watermark <= high_watermark:
                return False
            if replica.log_end_offset < new_high_watermark and (
                replica.is_in_sync
                or (
                    replica.is_caught_up(leader_end_offset, now_ms, self.replica_lag_time_max_ms)
                    and self._is_isr_eligible(replica)
                )
            ):
                new_high_watermark = replica.log_end_offset
        if new_high_watermark <= high_watermark:
            return False
        leader_log.update_high_watermark(new_high_watermark)
        for replica in followers:
            if replica.broker.is_alive:
                replica.log.update_high_watermark(new_high_watermark)
        return True

    def update_follower_fetch_state(
        self, replica: Replica, fetch_offset: int, caught_up_time_ms: int, now_ms: int
    ) -> bool:
        """A modelled follower fetched from `fetch_offset`, so it has all before it. True if the high watermark
        moved."""
        previous_offset = replica.log_end_offset
        replica.update_fetch_state(fetch_offset, caught_up_time_ms)
        return self._follower_fetched(replica, previous_offset, now_ms)

    def update_follower_fetch_state_over_wire(
        self, broker_id: int, fetch_offset: int, leader_end_offset: int, now_ms: int, broker_epoch: int
    ) -> bool:
        """The same for a follower that somebody else plays; `leader_end_offset` is that of the read for this fetch.
        Raises NOT_LEADER_OR_FOLLOWER for a fetch from an earlier life of the broker."""
        alive_epoch = self.brokers.alive_broker_epoch(broker_id)
        if broker_epoch != -1 and alive_epoch is not None and alive_epoch > broker_epoch:
            raise KafkaError(
                ErrorCode.not_leader_or_follower,
                f"Received stale fetch state update. broker epoch={broker_epoch} vs expected={alive_epoch}",
            )
        replica = self.replicas[broker_id]
        previous_offset = replica.log_end_offset
        replica.update_fetch_state_over_wire(fetch_offset, leader_end_offset, now_ms, broker_epoch)
        leader = self.leader
        replica.truncate_to_leader(leader)
        replica.truncate_to(fetch_offset)
        replica.copy_from(leader, fetch_offset)
        return self._follower_fetched(replica, previous_offset, now_ms)

    def _follower_fetched(self, replica: Replica, previous_offset: int, now_ms: int) -> bool:
        expanded = not replica.is_in_sync and self.maybe_expand_isr(replica)
        changed = expanded or replica.log_end_offset != previous_offset
        moved = changed and self.maybe_increment_leader_hw(now_ms)
        # The answer to the fetch carries the leader's watermark.
        replica.log.update_high_watermark(self.high_watermark)
        return moved

    def maybe_expand_isr(self, replica: Replica) -> bool:
        """Take a follower into the ISR once it has reached the watermark and the start of this leadership."""
        offset = replica.log_end_offset
        if (
            offset < self.high_watermark
            or offset < self.leader_epoch_start_offset
            or not self._is_isr_eligible(replica)
        ):
            return False
        self._change_isr([*self.isr_ids, replica.broker_id])
        return True

    def _is_isr_eligible(self, replica: Replica) -> bool:
        """Partition.isReplicaIsrEligible: not fenced, and its fetch came from this life of the broker."""
        broker = replica.broker
        return broker.is_alive and (not replica.is_external or replica.broker_epoch in (-1, broker.epoch))

    def maybe_shrink_isr(self, now_ms: int) -> bool:
        """Drop followers that have been behind for longer than replica.lag.time.max.ms. True if the high watermark
        moved because of it."""
        end_offset = self.leader_log.log_end_offset
        out_of_sync = {
            replica.broker_id
            for replica in self.followers
            if replica.is_in_sync and not replica.is_caught_up(end_offset, now_ms, self.replica_lag_time_max_ms)
        }
        if not out_of_sync:
            return False
        self._change_isr(self.isr - out_of_sync)
        return self.maybe_increment_leader_hw(now_ms)

    def check_enough_replicas_reach_offset(self, required_offset: int) -> tuple[bool, ErrorCode]:
        """Whether an acks=-1 append that needs the watermark at `required_offset` is answered now, and with what."""
        if self.high_watermark < required_offset:
            return False, _NO_ERROR
        if self.is_under_min_isr:
            return True, ErrorCode.not_enough_replicas_after_append
        return True, _NO_ERROR

    def check_invariants(self) -> None:
        assert self.isr, "an empty ISR"
        size = len(self.isr)
        assert self.is_under_min_isr == (size < self.effective_min_isr)
        for replica in self.replicas.values():
            replica.check_invariants()
        if self.leader_id == NO_LEADER:
            assert not self.brokers.alive(self.isr), "somebody in the ISR could lead"
            return
        assert self.leader_id in self.isr
        assert len(self.brokers.alive(self.isr)) == len(self.isr), "a stopped broker in the ISR"
        end_offset = self.leader_log.log_end_offset
        assert self.replicas[self.leader_id].leader_epochs.latest_epoch == self.leader_epoch
        for replica in self.followers:
            assert UNKNOWN_OFFSET <= replica.log_end_offset <= end_offset
            if replica.log_end_offset != UNKNOWN_OFFSET and not replica.is_external:
                # Who was external may have gone back to a lower offset, and stays in the ISR for it. On a stopped
                # broker its last fetch counts until the next one, also if it named an offset within a batch.
                was_external, is_alive = replica.was_external, self.brokers.is_alive(replica.broker_id)
                assert replica.log.log_end_offset == replica.log_end_offset or (was_external and not is_alive)
                assert not replica.is_in_sync or self.high_watermark <= replica.log_end_offset or was_external
