"""A partition as its leader sees it: replicas, in-sync replicas, high watermark.

Theory   An append changes only the leader's log, unless the leader is alone in the ISR. The high watermark is the
         smallest log end offset among the leader, the ISR, and the replicas about to join it. It moves when a
         follower's fetch proves progress or when the ISR changes. It never moves backwards, and does not move while the
         ISR is smaller than the effective min.insync.replicas (KIP-966, 3.7 and later). For the progress of followers
         and its effect on the ISR, see isr.py.
Units    times are monotonic milliseconds; offsets count records.
Source   core/.../cluster/Partition.scala @ 4.0: makeLeader, updateAssignmentAndIsr, appendRecordsToLeader,
         maybeIncrementLeaderHW, checkEnoughReplicasReachOffset; metadata/.../PartitionRegistration.java.
Differs  One object for all brokers; a broker that does not learn of a new leader has one that is `stale`
         (stale_views.py). Committed and maximal ISR are the same set (alter_partition.py). A follower that reaches its
         leader learns a new high watermark at once, in Kafka up to replica.fetch.wait.max.ms (500 ms) later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, final

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.clock import HasNow, Now
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.journal.appends import tell_append
from fakebroker.core.journal.events import IsrChanged, LeaderChanged, LogStartMoved, ReplicasChanged, WatermarkMoved
from fakebroker.core.log.append import prepare_append
from fakebroker.core.log.eviction import move_out
from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.log.memory import LogMemory, PartitionMemory
from fakebroker.core.log.plain_append import PlainRules
from fakebroker.core.log.producer_entry import BatchMetadata
from fakebroker.core.log.retention import start_by_memory, start_by_size
from fakebroker.core.log.store import Store
from fakebroker.core.log.transactions.points import tell_stable_offset, tell_transaction
from fakebroker.core.log.transactions.verification import NO_GUARD
from fakebroker.core.probe import Probe
from fakebroker.core.replication.append_info import LeaderHwChange, LogAppendInfo
from fakebroker.core.replication.replica import Replica
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.topic_partition import TopicPartition

_INCREASED: Final = LeaderHwChange.INCREASED
_NO_ERROR: Final = ErrorCode.none
NO_LEADER: Final = -1


@final
class Partition:
    """State of one partition. While `leader_id` is NO_LEADER, the leader's log and high watermark must not be read.

    replicas    in assignment order, the preferred leader first; during a reassignment with those gained (`adding`) and
                those to be lost (`removing`)
    elr         replicas out of sync that have all records acknowledged with acks=all: one may lead if none is in sync
    last_known_elr    the last leader while there is none: the last resort
    unaware           brokers that do not know of this leadership: they neither lead in it nor follow
    on_isr_change     is called after the ISR changed within a leadership: a reassignment waits for that
    alter_isr         asks the controller for another ISR; returns False if there is nothing to wait for
    is_isr_in_flight  a request to the controller is in flight
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
        first_leader_epoch: int = 0,
    ) -> None:
        """Create a partition and begin its first leadership. Raise ValueError if none of the brokers is alive;
        `brokers` are all alive if not given. The caller reports the first leadership (`tell_leader`) when it makes the
        partition known."""
        self._memory = PartitionMemory(memory or LogMemory(), self)
        self.brokers = brokers or BrokerRegistry(broker_ids)
        self.replicas = {broker_id: Replica(self.brokers[broker_id], self._memory) for broker_id in broker_ids}
        self.adding: tuple[int, ...] = ()
        self.removing: tuple[int, ...] = ()
        self.elr: tuple[int, ...] = ()
        self.last_known_elr: tuple[int, ...] = ()
        self.unaware: frozenset[int] = frozenset()
        self.on_isr_change: Callable[[], None] | None = None
        self.alter_isr: Callable[[Partition, list[int]], bool] | None = None
        self.is_isr_in_flight = False
        self.topic_partition = topic_partition
        self._probe = probe or Probe(HasNow(Now(0, 0)))
        self.is_deleted = False  # with its topic; or it was stale, and no broker has this view any more
        self.truth: Partition | None = None  # of a stale one
        self.stale: dict[int, Partition] | None = None  # the stale views, by broker
        self._derive(config)
        self.replica_lag_time_max_ms = lag_max_ms
        self.leader_id = NO_LEADER
        self.last_leader = self.replicas[broker_ids[0]]  # the present leader, or the last one
        self.followers = list(self.replicas.values())  # all but the leader
        self.leader_epoch, self.leader_epoch_start_offset = first_leader_epoch - 1, 0
        self.is_under_min_isr = False
        alive = self.brokers.active(broker_ids)
        if not alive:
            raise ValueError(f"no broker of {list(broker_ids)} is alive")
        self._begin_leadership(alive[0], alive, now_ms)
        for broker_id in alive:
            self.replicas[broker_id].begin_empty(now_ms)

    def as_seen_by(self, broker_id: int) -> Partition:
        """Return the broker's view of this partition."""
        truth = self.truth or self
        return truth if truth.stale is None else truth.stale.get(broker_id, truth)

    @property
    def replica_ids(self) -> list[int]:
        return list(self.replicas)

    @property
    def isr_ids(self) -> list[int]:
        """The in-sync replicas in assignment order."""
        return [broker_id for broker_id, replica in self.replicas.items() if replica.is_in_sync]

    @property
    def isr(self) -> set[int]:
        return set(self.isr_ids)

    @property
    def is_reassigning(self) -> bool:
        return bool(self.adding or self.removing)

    def elr_after(self, isr: Collection[int], min_isr: int, unclean: Collection[int] = ()) -> tuple[int, ...]:
        """Return the eligible leader replicas for this ISR (PartitionChangeBuilder.maybePopulateTargetElr). Below the
        minimum the high watermark stays: a replica that leaves the ISR has all records below it, if not `unclean`."""
        if len(isr) >= min_isr or not self.brokers.has_elr():
            return ()
        return tuple(sorted({*self.elr, *self.isr_ids} - set(isr) - set(unclean)))

    @property
    def leader(self) -> Replica:
        assert self.leader_id != NO_LEADER
        return self.last_leader

    @property
    def leader_log(self) -> Log:  # not by way of `leader`: read a dozen times for each produce
        return self.last_leader.log

    @property
    def high_watermark(self) -> int:
        return self.last_leader.log.high_watermark

    @property
    def effective_min_isr(self) -> int:
        """min.insync.replicas, but never more than the number of replicas (KAFKA-15583, 3.7 and later)."""
        return min(self.config.min_insync_replicas, len(self.replicas))

    def configure(self, config: TopicConfig) -> None:
        """Apply other settings. No watermark moves and no request completes: UnifiedLog.updateConfig does no more."""
        if config.min_insync_replicas != self.config.min_insync_replicas:
            self.elr = self.last_known_elr = ()  # ClearElrRecord: with another minimum none is known to be eligible
        self._derive(config)
        self._set_isr(self.isr_ids)

    def _derive(self, config: TopicConfig) -> None:
        """Keep the values derived from the settings."""
        self.config = config
        self.plain_rules = PlainRules(config)
        self._retention_bytes = config.retention_bytes if "delete" in config.cleanup_policy else -1
        self._min_insync_replicas = config.min_insync_replicas

    def change_isr(self, isr: Iterable[int]) -> None:
        """Change the ISR within a leadership."""
        before, isr = self.isr_ids, list(isr)
        self.elr = self.elr_after(isr, self.effective_min_isr)
        self._set_isr(isr)
        if self._probe.listeners and (after := self.isr_ids) != before:
            self._probe.tell(IsrChanged(*self._probe.times, *self.topic_partition, self.leader_epoch, tuple(after)))
        if self.on_isr_change is not None:
            self.on_isr_change()

    def _set_isr(self, isr: Iterable[int]) -> None:
        members = set(isr)
        for replica in self.replicas.values():
            replica.is_in_sync = replica.broker_id in members
        size = len(members)
        self.is_under_min_isr = size < len(self.replicas) and size < self._min_insync_replicas

    # Decisions of the controller.

    def set_replicas(
        self, broker_ids: Sequence[int], adding: Sequence[int], removing: Sequence[int], now_ms: int
    ) -> list[Replica]:
        """Set the replicas of the partition and return those removed. Readers may use the log of a removed leader until
        the next leadership begins."""
        before = self.replicas
        self.replicas = {
            broker_id: before.get(broker_id) or Replica(self.brokers[broker_id], self._memory)
            for broker_id in broker_ids
        }
        self.adding, self.removing = tuple(adding), tuple(removing)
        for broker_id in self.replicas.keys() - before.keys():
            self.replicas[broker_id].reset(now_ms)
        self.followers = [replica for replica in self.replicas.values() if replica.broker_id != self.leader_id]
        self._set_isr(self.isr_ids)
        if self._probe.listeners:
            changed = tuple(self.replica_ids), self.adding, self.removing
            self._probe.tell(ReplicasChanged(*self._probe.times, *self.topic_partition, *changed))
        return [before[broker_id] for broker_id in before.keys() - self.replicas.keys()]

    def become_leader(self, broker_id: int, isr: Iterable[int], now_ms: int) -> bool:
        """Begin a new leader epoch. Return True if the high watermark moved because of it."""
        moved = self._begin_leadership(broker_id, isr, now_ms)
        self.tell_leader()
        return moved

    def _begin_leadership(self, broker_id: int, isr: Iterable[int], now_ms: int) -> bool:
        self.leader_id = broker_id
        leader = self.last_leader = self.replicas[broker_id]
        self.followers = [replica for replica in self.replicas.values() if replica.broker_id != broker_id]
        self.leader_epoch += 1
        self.last_known_elr = ()
        self._set_isr(isr)
        end_offset = self.leader_epoch_start_offset = leader.log.log_end_offset
        leader.leader_epochs.assign(self.leader_epoch, end_offset)
        for replica in self.replicas.values():
            replica.reset(now_ms)
        leader.update_fetch_state(end_offset, now_ms)
        return self._increment_leader_hw(self.leader_log, now_ms)

    def lose_leader(self, isr: Iterable[int] | None = None) -> None:
        """Leave the partition without a leader. The ISR becomes `isr`, or stays."""
        if self.brokers.has_elr() and not self.last_known_elr:
            self.last_known_elr = (self.leader_id,)
        self._set_isr(self.isr_ids if isr is None else isr)
        self.leader_id = NO_LEADER
        self.followers = list(self.replicas.values())
        self.leader_epoch += 1
        self.tell_leader()

    def tell_leader(self) -> None:
        """Report the leader to the listeners."""
        probe, tp = self._probe, self.topic_partition
        if probe.listeners:
            has_leader = self.leader_id != NO_LEADER
            offsets = (self.leader_log.log_end_offset, self.high_watermark) if has_leader else (-1, -1)
            leader = self.leader_id, self.leader_epoch
            probe.tell(LeaderChanged(*probe.times, *tp, *leader, tuple(self.isr_ids), *offsets))
            if has_leader:
                tell_stable_offset(probe, tp, self.leader_epoch, self.leader_log, -1)

    def update_isr(self, isr: Iterable[int], now_ms: int) -> bool:
        """Set a new ISR in the same leader epoch. Return True if the high watermark moved because of it."""
        self.change_isr(isr)
        return self.maybe_increment_leader_hw(now_ms)

    # Work of the leader.

    def append_records_to_leader(
        self, records: bytes, is_plain: bool, required_acks: int, now: Now, guard: int = NO_GUARD
    ) -> LogAppendInfo:
        """Validate and append one batch. Raise KafkaError with the partition's error and append nothing. See
        protocol/plain_batch.py for `is_plain`. For a batch that may take long: append_in_slices.py."""
        self.check_min_isr(required_acks)
        log, epoch, tp = self.leader_log, self.leader_epoch, self.topic_partition
        prepared = prepare_append(log, records, is_plain, self.config, self.plain_rules, tp, epoch, now.wall_ms, guard)
        return self.append_prepared(log, prepared, records, now)

    def check_min_isr(self, required_acks: int) -> None:
        if required_acks == -1 and self.is_under_min_isr:
            raise KafkaError(
                ErrorCode.not_enough_replicas,
                f"The size of the current ISR {sorted(self.isr)} is insufficient to satisfy the min.isr requirement of "
                f"{self.effective_min_isr} for partition {self.topic_partition}",
            )

    def append_prepared(
        self, log: Log, prepared: tuple[LoggedBatch, int] | BatchMetadata, records: bytes, now: Now
    ) -> LogAppendInfo:
        """Append a batch prepared for this end of the leader's log. `records` are the bytes of the request."""
        if isinstance(prepared, BatchMetadata):  # a duplicate: the response of the first time, and nothing appended
            first, last, timestamp_ms = prepared.first_offset, prepared.last_offset, prepared.timestamp_ms
            return self._append_info(first, last, timestamp_ms, now, records, None)
        batch, append_time_ms = prepared
        self.last_leader.broker.check_disk()
        self._memory.make_room(batch.size)
        for follower in self.followers:
            # A follower that has everything fetches on and on, and so was caught up until this append.
            if follower.log_end_offset == batch.base_offset and follower.fetches_on:
                follower.update_fetch_state(batch.base_offset, now.mono_ms)
        log.append(batch)
        self.last_leader.update_fetch_state(log.log_end_offset, now.mono_ms)
        info = self._append_info(batch.base_offset, batch.last_offset, append_time_ms, now, records, batch)
        if 0 <= self._retention_bytes < log.size_in_bytes:
            self.delete_records_before(start_by_size(log, self._retention_bytes))
        return info

    def _append_info(
        self, first_offset: int, last_offset: int, append_ms: int, now: Now, records: bytes, batch: LoggedBatch | None
    ) -> LogAppendInfo:
        probe = self._probe
        if probe.listeners:
            tp, leader = self.topic_partition, (self.leader_id, self.leader_epoch)
            tell_append(probe, tp, leader, records, (first_offset, last_offset), batch is None)
            tell_transaction(probe, tp, self.leader_id, self.leader_log, batch)
        hw_change = _INCREASED if self.maybe_increment_leader_hw(now.mono_ms) else LeaderHwChange.SAME
        return LogAppendInfo(first_offset, last_offset, append_ms, self.leader_log.log_start_offset, hw_change)

    def move_out(self, max_bytes: int, store: Store) -> None:
        move_out([replica.log for replica in self.replicas.values()], max_bytes, store)

    def delete_oldest(self, max_bytes: int) -> None:
        if self.leader_id != NO_LEADER:
            self.delete_records_before(start_by_memory(self.leader_log, max_bytes))

    def drop_records(self) -> None:
        """Drop all records of a deleted partition: its logs have no readers any more."""
        for replica in self.replicas.values():
            replica.log.truncate_fully_and_start_at(replica.log.log_end_offset)
        self._memory.drop()

    def delete_records_before(self, offset: int) -> None:
        """Move the log start of the leader, and of the followers: their next fetch would make them move it."""
        leader = self.leader
        if leader.maybe_increment_log_start_offset(min(offset, self.high_watermark)):
            if (probe := self._probe).listeners:
                probe.tell(LogStartMoved(*probe.times, *self.topic_partition, leader.log.log_start_offset))
            for follower in self.followers:
                follower.maybe_increment_log_start_offset(leader.log.log_start_offset)

    def maybe_increment_leader_hw(self, now_ms: int) -> bool:
        """Move the high watermark as far as the in-sync replicas allow. Return True if it moved."""
        probe, log = self._probe, self.leader_log
        stable_before = log.last_stable_offset if probe.listeners else -1
        moved = self._increment_leader_hw(log, now_ms)
        if moved and probe.listeners:
            tp, epoch = self.topic_partition, self.leader_epoch
            probe.tell(WatermarkMoved(*probe.times, *tp, epoch, log.high_watermark, log.log_end_offset))
            tell_stable_offset(probe, tp, epoch, log, stable_before)
        return moved

    def _increment_leader_hw(self, leader_log: Log, now_ms: int) -> bool:
        if self.is_under_min_isr or not self.last_leader.broker.is_working:
            return False
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
                    and replica.is_isr_eligible
                )
            ):
                new_high_watermark = replica.log_end_offset
        if new_high_watermark <= high_watermark:
            return False
        leader_log.update_high_watermark(new_high_watermark)
        for replica in followers:
            if replica.is_connected:
                replica.log.update_high_watermark(new_high_watermark)
        return True

    def check_enough_replicas_reach_offset(self, required_offset: int) -> tuple[bool, ErrorCode]:
        """Return (True, error code) if an acks=-1 append up to this offset completes now, else (False, NONE)."""
        if self.high_watermark < required_offset:
            return False, _NO_ERROR
        return True, ErrorCode.not_enough_replicas_after_append if self.is_under_min_isr else _NO_ERROR
