"""Which replicas a partition has, and which of them are in sync.

Theory   `replicas` are in assignment order; the first is the preferred leader. While a partition is reassigned, those
         that it gets (`adding`) and those that it is to lose (`removing`) are among them.
Source   metadata/.../PartitionRegistration.java; core/.../cluster/Partition.scala updateAssignmentAndIsr @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.log.memory import PartitionMemory
from fakebroker.core.replication.replica import Replica


class Assignment:
    """The replicas of one partition, by broker id. `on_isr_change` is called, if it is there, after the ISR changed
    within a leadership: whoever reassigns the partition waits for that.

    unaware         brokers that do not know of this leadership: they neither lead in it nor follow

    alter_isr       asks the controller for another ISR of a partition; False if there is nothing to wait for
    is_isr_in_flight  the controller has been asked

    elr             who is not in sync, but has all that was acknowledged by all: it may lead if nobody is in sync
    last_known_elr  who led last, while nobody leads
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
        """In assignment order."""
        return [broker_id for broker_id, replica in self.replicas.items() if replica.is_in_sync]

    @property
    def isr(self) -> set[int]:
        """Broker ids of the in-sync replicas. A copy."""
        return set(self.isr_ids)

    def elr_after(self, isr: Collection[int], min_isr: int, unclean: Collection[int] = ()) -> tuple[int, ...]:
        """PartitionChangeBuilder.maybePopulateTargetElr: who is eligible when this is to be the ISR. Below the minimum
        the watermark stands, so whoever leaves then has all that is below it; `unclean` are those of whom that is not
        known any more."""
        if len(isr) >= min_isr or not self.brokers.has_elr():
            return ()
        return tuple(sorted({*self.elr, *self.isr_ids} - set(isr) - set(unclean)))

    def note_last_leader(self, leader_id: int) -> None:
        """Nobody leads any more. Whoever led last may be the last resort."""
        if self.brokers.has_elr() and not self.last_known_elr:
            self.last_known_elr = (leader_id,)

    def clear_elr(self) -> None:
        """ClearElrRecord: with another minimum nobody is known to be eligible."""
        self.elr = self.last_known_elr = ()

    @property
    def offline_ids(self) -> list[int]:
        """Replicas on brokers that are not alive, in assignment order."""
        return [broker_id for broker_id in self.replicas if not self.brokers.is_alive(broker_id)]

    def is_known_to(self, one: int, other: int) -> bool:
        """Whether two brokers know of this leadership."""
        return not self.unaware or (one not in self.unaware and other not in self.unaware)

    @property
    def is_reassigning(self) -> bool:
        return bool(self.adding or self.removing)
