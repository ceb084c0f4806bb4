"""AlterPartition: a leader asks the controller for another ISR.

Theory   A leader sends AlterPartition when a follower has caught up or has been behind for too long. Until the
         response, the old ISR counts everywhere: acks=all, the high watermark, the metadata. The leader sends no second
         request for that partition meanwhile. The request has no effect if another leader or another ISR was set by
         then, or if a joining replica may no longer join; the leader then checks again.
Units    monotonic milliseconds. It takes `fakebroker.controller.delay.ms`; with 0 the ISR changes at once.
Source   core/.../server/AlterPartitionManager.scala; core/.../cluster/Partition.scala maybeExpandIsr, maybeShrinkIsr,
         submitAlterPartition, PendingPartitionChange; metadata/.../controller/ReplicationControlManager.java
         alterPartition, validateAlterPartitionData @ 4.0.
Differs  A follower that is about to join counts for the high watermark if it is caught up; in Kafka in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from fakebroker.core.clock import NEVER_MS, Now
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.replication.isr import update_follower_fetch_state
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.core.replication.replica import UNKNOWN_OFFSET
from fakebroker.core.replication.wakeups import Wakeups
from timingwheel import SystemTimer, TimerTask


class _Decision(TimerTask):
    """The delayed decision of the controller, with the state at the time of the request."""

    __slots__ = ("_isr", "_isr_before", "_leader_epoch", "_manager", "_partition")

    def __init__(self, delay_ms: int, manager: AlterPartitionManager, partition: Partition, isr: list[int]) -> None:
        super().__init__(delay_ms)
        self._manager = manager
        self._partition = partition
        self._isr = isr
        self._isr_before = partition.isr_ids
        self._leader_epoch = partition.leader_epoch

    def run(self) -> None:
        partition = self._partition
        partition.is_isr_in_flight = False
        may_join = partition.brokers.active(self._isr) == self._isr
        is_same = partition.leader_epoch == self._leader_epoch and partition.isr_ids == self._isr_before
        if not partition.is_deleted and partition.leader_id != NO_LEADER:
            self._manager.decided(partition, self._isr if may_join and is_same else None)


@final
class AlterPartitionManager:
    """The AlterPartition requests of all leaders."""

    def __init__(
        self, configs: DynamicBrokerConfig, timer: SystemTimer, wakeups: Wakeups, read_now: Callable[[], Now]
    ) -> None:
        self._configs = configs
        self._timer = timer
        self._wakeups = wakeups
        self._read_now = read_now

    def submit(self, partition: Partition, isr: list[int]) -> bool:
        """Request this ISR. Return False if it takes no time: then the caller changes the ISR itself."""
        delay_ms = self._configs.current.fakebroker_controller_delay_ms
        if delay_ms == 0:
            return False
        partition.is_isr_in_flight = True
        self._timer.add(_Decision(delay_ms, self, partition, isr), self._read_now().mono_ms)
        return True

    def decided(self, partition: Partition, isr: list[int] | None) -> None:
        """Apply the decision: the ISR becomes `isr`, or stays if None. The leader then checks whether it needs
        another."""
        now = self._read_now()
        moved = isr is not None and partition.update_isr(isr, now.mono_ms)
        if look_again(partition, now) or moved:
            self._wakeups.try_complete_delayed_requests(partition)


def look_again(partition: Partition, now: Now) -> bool:
    """Let followers that have caught up meanwhile join the ISR. Return True if the high watermark moved."""
    moved = False
    for replica in partition.followers:
        offset = replica.log_end_offset
        if offset != UNKNOWN_OFFSET and replica.fetches_on and not replica.is_in_sync:
            moved |= update_follower_fetch_state(partition, replica, offset, NEVER_MS, now.mono_ms)
    return moved
