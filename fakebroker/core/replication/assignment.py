"""The replicas of a partition, and which of them are in sync.

Theory   `replicas` are in assignment order; the first is the preferred leader. During a reassignment they include the
         replicas that the partition gains (`adding`) and those that it is to lose (`removing`).
Source   metadata/.../PartitionRegistration.java; core/.../cluster/Partition.scala updateAssignmentAndIsr @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.log.memory import PartitionMemory
from fakebroker.core.replication.replica import Replica


class ReplicaAssignment:
    """The replicas of one partition, by broker id. `on_isr_change`, if set, is called after the ISR changed within a
    leadership: a reassignment waits for that.

    unaware         brokers that do not know of this leadership: they neither lead in it nor follow

    alter_isr       asks the controller for another ISR of a partition; False if there is nothing to wait for
    is_isr_in_flight  a request to the controller is in flight

    elr             replicas out of sync that have all records acknowledged with acks=all: one may lead if no replica is
                    in sync
    last_known_elr  the last leader, while there is no leader
    """

    def __init__(self, broker_ids: Sequence[int], brokers: BrokerRegistry, memory: PartitionMemory) -> None:
        self.brokers = brokers
        self.replicas = {broker_id: Replica(brokers[broker_id], memory) for broker_id in broker_ids}
        self.adding: tuple[int, ...] = ()
        self.removing: tuple[int, ...] = ()
        self.elr: tuple[int, ...] = ()
        self.last_known_elr: tuple[int, ...] = ()
        self.unaware: frozenset[int] = frozenset()
        self.on_isr_change: Callable[[], None] | None = None
        self.alter_isr: Callable[[Any, list[int]], bool] | None = None
        self.is_isr_in_flight = False

    @property
    def replica_ids(self) -> list[int]:
        return list(self.replicas)

    @property
    def isr_ids(self) -> list[int]:
        """The in-sync replicas in assignment order."""
        return [broker_id for broker_id, replica in self.replicas.items() if replica.is_in_sync]

    @property
    def isr(self) -> set[int]:
        """Broker ids of the in-sync replicas. A copy."""
        return set(self.isr_ids)

    def elr_after(self, isr: Collection[int], min_isr: int, unclean: Collection[int] = ()) -> tuple[int, ...]:
        """Return the eligible leader replicas for this ISR (PartitionChangeBuilder.maybePopulateTargetElr). Below the
        minimum the high watermark does not move, so a replica that leaves the ISR then has all records below it.
        `unclean` are replicas that may no longer have them."""
        if len(isr) >= min_isr or not self.brokers.has_elr():
            return ()
        return tuple(sorted({*self.elr, *self.isr_ids} - set(isr) - set(unclean)))

    def note_last_leader(self, leader_id: int) -> None:
        """Record the last leader when the partition loses its leader. It may be the last resort."""
        if self.brokers.has_elr() and not self.last_known_elr:
            self.last_known_elr = (leader_id,)

    def clear_elr(self) -> None:
        """Clear the eligible replicas (ClearElrRecord): with another minimum none is known to be eligible."""
        self.elr = self.last_known_elr = ()

    @property
    def offline_ids(self) -> list[int]:
        """Replicas on brokers that are not alive, in assignment order."""
        return [broker_id for broker_id in self.replicas if not self.brokers.is_alive(broker_id)]

    def is_known_to(self, one: int, other: int) -> bool:
        """Return True if both brokers know of this leadership."""
        return not self.unaware or (one not in self.unaware and other not in self.unaware)

    @property
    def is_reassigning(self) -> bool:
        return bool(self.adding or self.removing)
