"""The unavailability of partitions: the time in which they could not accept records.

Theory   With acks=0 and 1 a partition accepts records while its leader works. With acks=all the ISR must also have
         min.insync.replicas members, and all of them must work: a crashed one delays the acknowledgement until its
         session ends. The state is checked whenever any of this may have changed.
Units    milliseconds; the sum over all partitions.
"""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.core.journal.events import Event, IsrChanged, LeaderChanged
from fakebroker.core.replication.partition import Partition
from fakebroker.testing.simulation import Simulation


class Availability:
    """The unavailability since the start. Call `look` after a broker has crashed. `unavailable_ms` counts up to the
    last call."""

    def __init__(self, simulation: Simulation, partitions: Sequence[Partition], needs_isr: bool) -> None:
        self.unavailable_ms = 0
        self._simulation = simulation
        self._partitions = partitions
        self._needs_isr = needs_isr
        self._unavailable = 0  # number of unavailable partitions, since then:
        self._since_ms = simulation.elapsed_ms
        simulation.cluster.probe.listen(self._hear, IsrChanged, LeaderChanged)

    def look(self) -> None:
        now_ms = self._simulation.elapsed_ms
        self.unavailable_ms += (now_ms - self._since_ms) * self._unavailable
        self._since_ms = now_ms
        self._unavailable = sum(not self._takes(partition) for partition in self._partitions)

    def stop(self) -> None:
        """Update for the last time."""
        self.look()
        self._simulation.cluster.probe.leave(self._hear)

    def _takes(self, partition: Partition) -> bool:
        brokers = partition.brokers
        if partition.leader_id < 0 or not brokers[partition.leader_id].is_working:
            return False
        if not self._needs_isr:
            return True
        return not partition.is_under_min_isr and all(brokers[broker_id].is_working for broker_id in partition.isr)

    def _hear(self, event: Event, subject: object) -> None:
        self.look()
