"""One cluster of the process, as the control sees it: its journal, its waits, its lease.

Theory   The control observes the cluster from the first call on, or from the start if requested. After a reset it
         observes the new cluster.
Units    milliseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from fakebroker.cluster.cluster import Cluster
from fakebroker.control.cluster_observer import ClusterObserver
from fakebroker.control.journal.event_lines import EventLines
from fakebroker.control.journal.expecting import ProducesSoFar
from fakebroker.control.metrics.counts import by_few
from fakebroker.control.metrics.meter import Meter
from fakebroker.control.sliced_work import SlicedWork
from fakebroker.control.waiting import ChangeSignal, Waiting
from fakebroker.core.replication.partition import Partition
from fakebroker.server.administration import Administration
from fakebroker.server.async_cluster import AsyncFakeCluster
from fakebroker.server.driver import Driver
from fakebroker.server.journal_in_hand import JournalInHand, Snapshot


class HostedCluster:
    """A cluster with its control state. `cluster_id` is None for the main one, which has no lease."""

    def __init__(self, cluster: AsyncFakeCluster, cluster_id: str | None = None) -> None:
        self.cluster = cluster
        cluster.server.set_ups.insert(0, self._begin)
        self.administration = Administration(cluster.server.driver_here)
        self.cluster_id = cluster_id
        self.changes = ChangeSignal()
        self.work = SlicedWork()
        goes = cluster.clock.kind != "manual"
        self.waiting = Waiting(self.changes, self.work, lambda: cluster.clock.elapsed_ms, goes)
        self.streams = 0  # open event streams
        self.lines = EventLines()
        self.journal = JournalInHand(self._snapshot, self._clear)
        self._listens = cluster_id is not None
        self.produces = ProducesSoFar(lambda: self.told, self.work)
        self._told: ClusterObserver | None = None
        self._listened_to: Cluster | None = None

    def end(self) -> None:
        """End the waits and the event streams of a cluster that is about to stop."""
        self.work.end()
        self.changes.end()

    @property
    def driver(self) -> Driver:
        return self.cluster.server.driver

    @property
    def core(self) -> Cluster:
        """Return the cluster without its sockets, for reading."""
        return self.cluster.server.driver.cluster

    @property
    def told(self) -> ClusterObserver:
        """Return the journal and the metrics, which begin now at the latest."""
        core, self._listens = self.core, True
        if self._told is None or self._listened_to is not core:
            self._told = ClusterObserver(core, self.changes.tell)
            self._listened_to = core
            self._tell_isr(self._told.meter, by_few(core))
            for listener in self._told.listeners:
                core.probe.listen(listener)
            core.on_taken = self._told.meter.handed_over
        return self._told

    def _tell_isr(self, meter: Meter, partitions: Iterator[list[Partition]]) -> None:
        """Read the sizes of the ISRs; of very many partitions in turns."""
        few = next(partitions, None)
        if few is not None:
            for partition in few:
                meter.isr_is(partition.topic_partition, partition.leader_id, len(partition.isr_ids))
            asyncio.get_running_loop().call_soon(self._tell_isr, meter, partitions)

    def listen(self) -> None:
        """Begin to observe; if the cluster does not run yet, from its first event on."""
        self._listens = True
        if self.cluster.server.is_running:
            assert self.told

    def _begin(self) -> None:
        """Observe a cluster that was started or reset from its first event on, if this cluster is observed."""
        if self._listens:
            assert self.told

    def _clear(self) -> None:
        self.told.journal.clear()

    def _snapshot(self) -> Snapshot:
        journal = self.told.journal
        return Snapshot(journal.events(), journal.dropped, self.core.metadata.topic_names())


class ClusterLease:
    """A lease by the machine's clock; without a renewal it expires."""

    def __init__(self, lease_ms: int, gone: Callable[[], None]) -> None:
        self.lease_ms = lease_ms
        self._gone = gone
        self._users = 0
        self._timer: asyncio.TimerHandle | None = None
        self.renew()

    def renew(self, lease_ms: int | None = None) -> None:
        """Renew the lease from now on; the default is the duration as before."""
        if lease_ms is not None:
            self.lease_ms = lease_ms
        self.end()
        if not self._users:
            self._timer = asyncio.get_running_loop().call_later(self.lease_ms / 1000, self._gone)

    def __enter__(self) -> None:
        """Begin a request to the cluster: the lease does not expire meanwhile."""
        self._users += 1
        self.end()

    def __exit__(self, *error: object) -> None:
        self._users -= 1
        self.renew()

    def end(self) -> None:
        """Cancel the lease."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
