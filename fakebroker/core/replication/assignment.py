"""Which replicas a partition has, and which of them are in sync.

Theory   `replicas` are in assignment order; the first is the preferred leader. While a partition is reassigned, those
         that it gets (`adding`) and those that it is to lose (`removing`) are among them.
Source   metadata/.../PartitionRegistration.java; core/.../cluster/Partition.scala updateAssignmentAndIsr @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.log.memory import PartitionMemory
from fakebroker.core.replication.replica import Replica


class Assignment:
    """The replicas of one partition, by broker id. `on_isr_change` is called, if it is there, after the ISR changed
    within a leadership: whoever reassigns the partition waits for that."""

    def __init__(self, broker_ids: Sequence[int], brokers: BrokerRegistry, memory: PartitionMemory) -> None:
        self.brokers = brokers
        self.replicas = {broker_id: Replica(brokers[broker_id], memory) for broker_id in broker_ids}
        self.adding: tuple[int, ...] = ()
        self.removing: tuple[int, ...] = ()
        self.on_isr_change: Callable[[], None] | None = None

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
    def is_reassigning(self) -> bool:
        return bool(self.adding or self.removing)
