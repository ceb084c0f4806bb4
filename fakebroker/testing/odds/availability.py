"""For how long a partition could not take a record.

Theory   With acks=0 and 1 a partition takes a record while a broker that works leads it. With acks=all it can be
         acknowledged if, besides, the ISR has min.insync.replicas members, and all of them work: one that is dead is
         waited for until its session ends. Looked at whenever any of that may have changed.
Units    milliseconds; the sum over all partitions.
"""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.core.probe import Listener
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.testing.simulation import Simulation


class Availability(Listener):
    """Call `look` when a broker has died. `unavailable_ms` is up to the last look."""

    def __init__(self, simulation: Simulation, partitions: Sequence[Partition], needs_isr: bool) -> None:
        self.unavailable_ms = 0
        self._simulation = simulation
        self._partitions = partitions
        self._needs_isr = needs_isr
        self._unavailable = 0  # partitions, since then:
        self._since_ms = simulation.elapsed_ms
        simulation.cluster.probe.listeners.append(self)

    def look(self) -> None:
        now_ms = self._simulation.elapsed_ms
        self.unavailable_ms += (now_ms - self._since_ms) * self._unavailable
        self._since_ms = now_ms
        self._unavailable = sum(not self._takes(partition) for partition in self._partitions)

    def stop(self) -> None:
        """Look for the last time."""
        self.look()
        self._simulation.cluster.probe.listeners.remove(self)

    def _takes(self, partition: Partition) -> bool:
        brokers = partition.brokers
        if partition.leader_id < 0 or not brokers[partition.leader_id].is_working:
            return False
        if not self._needs_isr:
            return True
        return not partition.is_under_min_isr and all(brokers[broker_id].is_working for broker_id in partition.isr)

    def leader_changed(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        leader_epoch: int,
        isr: Sequence[int],
        log_end_offset: int,
        high_watermark: int,
    ) -> None:
        self.look()

    def isr_changed(self, topic_partition: TopicPartition, leader_epoch: int, isr: Sequence[int]) -> None:
        self.look()
