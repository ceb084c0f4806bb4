"""One replica of a partition: its own log, and what the leader knows of it.

Theory   The leader knows a follower by its fetches alone. A fetch from offset x proves that the follower has everything
         below x. `last_caught_up_time_ms` is the latest moment at which the follower had all that the leader had at
         that moment. A fetch from the leader's log end sets it to now. A fetch from the leader's log end at the
         previous fetch sets it to the time of that fetch. A follower that is always a little behind a busy leader
         therefore still counts as caught up.
Units    offsets count records; times are monotonic milliseconds.
Source   core/.../cluster/Replica.scala @ 4.0: updateFetchStateOrThrow, resetReplicaState, isCaughtUp.
Differs  A follower that is modelled in this process (follower.py) reports its caught-up time itself. For one that comes
         over the wire, `log` is the part that the leader knows it to have.
"""

from __future__ import annotations

from typing import Final

from fakebroker.core.broker_registry import RegisteredBroker
from fakebroker.core.crash_loss import CrashLoss
from fakebroker.core.log.leader_epochs import UNDEFINED_EPOCH, LeaderEpochCache
from fakebroker.core.log.log import Log
from fakebroker.core.log.memory import PartitionMemory

UNKNOWN_OFFSET: Final = -1
NEVER_MS: Final = -(1 << 80)  # Kafka says 0; our monotonic clock may start anywhere


class Replica:
    """One replica. `log_end_offset` is what its last fetch proved (UNKNOWN_OFFSET before the first to this leader).
    `log_start_offset` is what the replica reported itself."""

    __slots__ = (
        "broker",
        "broker_epoch",
        "broker_id",
        "is_connected",
        "is_external",
        "is_in_sync",
        "last_caught_up_time_ms",
        "last_fetch_leader_log_end_offset",
        "last_fetch_time_ms",
        "leader_epochs",
        "log",
        "log_dir",
        "log_end_offset",
        "log_start_offset",
        "was_external",
    )

    def __init__(self, broker: RegisteredBroker, memory: PartitionMemory | None = None) -> None:
        self.broker = broker
        self.broker_id = broker.broker_id
        self.is_in_sync = False  # in the ISR
        self.is_connected = True  # its fetches come to the leader
        self.is_external = False  # played by a client, over the wire
        self.was_external = False  # at any time
        self.log = Log(memory)
        self.log_dir = ""  # the log dir it was moved to, if any (core/broker/log_dirs.py)
        self.leader_epochs = LeaderEpochCache()
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.last_caught_up_time_ms = NEVER_MS
        self.last_fetch_leader_log_end_offset = 0
        self.last_fetch_time_ms = NEVER_MS
        self.broker_epoch: int | None = None  # of its last fetch; -1 if that had none

    def set_external(self, is_external: bool) -> None:
        """Set whether a client plays this replica over the wire, or an actor in this process."""
        self.is_external = is_external
        self.was_external |= is_external

    @property
    def fetches_on(self) -> bool:
        """True if the replica is modelled here and reaches the leader: then it has a fetch parked there."""
        return not self.is_external and self.is_connected

    @property
    def is_isr_eligible(self) -> bool:
        """Partition.isReplicaIsrEligible: the broker is neither fenced nor in controlled shutdown, and the fetch came
        from its present life."""
        broker = self.broker
        return broker.is_active and (not self.is_external or self.broker_epoch in (-1, broker.epoch))

    # The leader's view.

    def update_fetch_state(self, fetch_offset: int, caught_up_time_ms: int) -> None:
        """Record a fetch from `fetch_offset`: everything below it is on the replica."""
        self.log_end_offset = fetch_offset
        self.last_caught_up_time_ms = max(self.last_caught_up_time_ms, caught_up_time_ms)

    def begin_empty(self, now_ms: int) -> None:
        """Record that the replica of a new, empty partition has all records, if its broker works."""
        if self.broker.is_working:
            self.update_fetch_state(0, now_ms)
            self.log_start_offset = 0

    def update_fetch_state_over_wire(
        self, fetch_offset: int, leader_end_offset: int, now_ms: int, broker_epoch: int
    ) -> None:
        """Record a fetch over the wire. Two successive fetches give the caught-up time."""
        caught_up_time_ms = NEVER_MS
        if fetch_offset >= leader_end_offset:
            caught_up_time_ms = now_ms
        elif fetch_offset >= self.last_fetch_leader_log_end_offset:
            caught_up_time_ms = self.last_fetch_time_ms
        self.update_fetch_state(fetch_offset, caught_up_time_ms)
        self.last_fetch_leader_log_end_offset = max(leader_end_offset, self.last_fetch_leader_log_end_offset)
        self.last_fetch_time_ms = now_ms
        self.broker_epoch = broker_epoch

    def reset(self, now_ms: int) -> None:
        """Forget the fetches under the last leader. A new leader knows only whether the replica is in the ISR."""
        self.log_end_offset = self.log_start_offset = UNKNOWN_OFFSET
        self.last_caught_up_time_ms = now_ms if self.is_in_sync else NEVER_MS
        self.last_fetch_leader_log_end_offset = UNKNOWN_OFFSET
        self.last_fetch_time_ms = NEVER_MS
        self.broker_epoch = None

    def is_caught_up(self, leader_end_offset: int, now_ms: int, replica_lag_time_max_ms: int) -> bool:
        """Return True if the replica has the leader's log end, or had it within the allowed lag."""
        return (
            self.log_end_offset == leader_end_offset or now_ms - self.last_caught_up_time_ms <= replica_lag_time_max_ms
        )

    def on_skip(self, ms: int) -> None:
        """React to a skip of the clock by `ms`. A client that plays this replica has not lived through that time, so
        the replica is not behind for longer."""
        if self.is_external:
            self.last_caught_up_time_ms += ms
            self.last_fetch_time_ms += ms

    # The replica's own log.

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """Return (epoch, end offset) as UnifiedLog.endOffsetForEpoch does."""
        return self.leader_epochs.end_offset_for(epoch, self.log.log_end_offset)

    def maybe_increment_log_start_offset(self, offset: int) -> bool:
        """Delete what lies below `offset`, epochs too; see `Log`. Return True if the start moved."""
        if not self.log.maybe_increment_log_start_offset(offset):
            return False
        self.leader_epochs.truncate_from_start(self.log.log_start_offset)
        return True

    def copy_from(self, leader: Replica, up_to: int) -> None:
        """Append the leader's batches that end below `up_to`. If the leader has deleted the next records, start anew at
        its first offset."""
        log = self.log
        if log.rewriting != leader.log.rewriting:
            self._take_over(leader)
        if log.log_end_offset < leader.log.log_start_offset:
            log.truncate_fully_and_start_at(leader.log.log_start_offset)
            self.leader_epochs.truncate_from_end(0)
        # Once both agree on the latest epoch, all later batches are of that epoch.
        has_latest_epoch = self.leader_epochs.latest_epoch == leader.leader_epochs.latest_epoch
        only = leader.log.only_batch_from(log.log_end_offset)
        if only is not None and has_latest_epoch and only.last_offset < up_to:
            log.append(only)
            return
        self._copy(leader.log, up_to, has_latest_epoch)

    def _copy(self, leader_log: Log, up_to: int, has_epochs: bool) -> None:
        log = self.log
        if leader_log.is_cold(log.log_end_offset):
            self.copy_cold(leader_log, up_to, has_epochs)
            if leader_log.is_cold(log.log_end_offset):
                return
        for batch in leader_log.batches_from(log.log_end_offset):
            if batch.last_offset >= up_to:
                break
            log.log_end_offset = batch.base_offset  # behind a gap, if the leader's log was compacted
            log.append(batch)
            if not has_epochs:
                self.leader_epochs.assign(batch.leader_epoch, batch.base_offset)

    def _take_over(self, leader: Replica) -> None:
        """Take over the leader's batches up to the present log end, after one of the two logs was compacted."""
        log = self.log
        end_offset = log.log_end_offset
        log.begin_anew(leader.log.log_start_offset, leader.log.rewriting)
        if end_offset > log.log_end_offset:
            self._copy(leader.log, end_offset, has_epochs=True)
            log.log_end_offset = max(log.log_end_offset, end_offset)
        if leader.log.has_transactions:
            aborted = leader.log.producer_state.transactions.aborted
            log.producer_state.transactions.replace_aborted_before(end_offset, aborted)
        log.update_high_watermark(log.high_watermark)

    def copy_cold(self, leader_log: Log, up_to: int, has_epochs: bool = False) -> None:
        """Append the batches of another log that are out of memory and end below `up_to`. This log has nothing in
        memory there."""
        log = self.log
        for part in leader_log.cold_parts_from(log.log_end_offset):
            end_offset, end = part.end_offset, part.end
            if up_to < end_offset:
                if up_to <= part.base_offset:
                    return
                beyond = part.segment.find(up_to)
                end_offset, end = beyond.base_offset, beyond.position
                if end_offset <= part.base_offset:
                    return
            log.copy_cold(part.segment, part.base_offset, end_offset, part.start, end)
            if has_epochs:
                continue
            for epoch, offset in part.segment.epochs_between(part.base_offset, end_offset):
                self.leader_epochs.assign(epoch, offset)

    def truncate_to(self, offset: int) -> None:
        """Drop everything from `offset` on. Truncate the epochs in any case: this replica may have led, and entered an
        epoch at its log end that never got a record."""
        self.log.truncate_to(offset)
        self.leader_epochs.truncate_from_end(min(offset, self.log.log_end_offset))

    def lose(self, loss: CrashLoss) -> None:
        """Drop the records that the broker lost in a crash. The replica must not lead."""
        if loss is CrashLoss.EVERYTHING:
            self.log.truncate_fully_and_start_at(0)
            self.leader_epochs.truncate_from_end(0)
        elif loss is CrashLoss.UNFLUSHED:
            self.truncate_to(max(self.log.recovery_point, self.log.log_start_offset))

    def truncate_to_leader(self, leader: Replica) -> None:
        """Drop what the leader does not have, by comparing epochs (KIP-101, KIP-279). It goes step by step, as a
        follower that receives a diverging epoch with each fetch."""
        while (epoch := self.leader_epochs.latest_epoch) != UNDEFINED_EPOCH:
            end_offset = self.log.log_end_offset
            leader_epoch, leader_offset = leader.end_offset_for_epoch(epoch)
            if leader_epoch >= epoch and leader_offset >= end_offset:
                return
            own_epoch, own_offset = self.end_offset_for_epoch(leader_epoch)
            if own_epoch == leader_epoch:
                own_offset = min(own_offset, leader_offset)
            self.truncate_to(min(own_offset, end_offset))
        # Nothing is left. The start of this log means nothing to a leader with a log that ends before it.
        if self.log.log_end_offset > leader.log.log_end_offset:
            self.log.truncate_fully_and_start_at(leader.log.log_end_offset)

    def check_invariants(self) -> None:
        self.log.check_invariants()
        self.leader_epochs.check_invariants()
        start_offset = self.log.log_start_offset
        for entry in self.leader_epochs.entries:
            assert entry.start_offset >= start_offset
