"""The leader and the ISR of a partition after brokers came or went.

Theory   The leader stays if it may. Otherwise the first replica in assignment order that is alive and in the ISR leads.
         If the ISR is empty, it is the first that is alive and eligible (KIP-966). Both are clean elections: no record
         acknowledged with acks=all is lost. If no replica is known to be eligible, the last leader leads again; it may
         have lost unflushed records. If unclean.leader.election.enable allows it, the first live replica leads, as the
         whole ISR, whatever it lacks. Otherwise there is no leader. Without eligible leader replicas the ISR keeps its
         last member, which alone may lead again.
Source   metadata/.../controller/PartitionChangeBuilder.java @ 4.4 (read out of the released jars): electAnyLeader,
         electPreferredLeader, isValidNewLeader, canElectLastKnownLeader, tryElection, build;
         ReplicationControlManager.java generateLeaderAndIsrUpdates.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import NamedTuple

from fakebroker.core.replication.partition import NO_LEADER, Partition


class Election(Enum):
    PREFERRED = "preferred"
    ONLINE = "online"
    UNCLEAN = "unclean"


class ElectionResult(NamedTuple):
    """The controller's decision. `isr` is in assignment order, `elr` sorted."""

    leader_id: int
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()


def elect_leader(
    partition: Partition,
    isr: Collection[int],
    election: Election,
    replicas: Collection[int] | None = None,
    unclean: Collection[int] = (),
) -> ElectionResult:
    """Hold Kafka's election for the new ISR `isr` and the new replicas `replicas`. Fenced replicas do not count.
    `unclean` are no longer eligible: they went down without a controlled shutdown."""
    order = list(partition.replicas if replicas is None else replicas)
    in_sync = tuple(broker_id for broker_id in order if broker_id in isr)
    elr = partition.elr_after(in_sync, min(partition.config.min_insync_replicas, len(order)), unclean)
    active = partition.brokers.active(order)
    valid = [broker_id for broker_id in active if broker_id in (in_sync or elr)]
    if valid:
        leader_id = valid[0]
        if election is Election.PREFERRED and order[0] in valid:
            leader_id = order[0]
        elif partition.leader_id in valid:
            leader_id = partition.leader_id
        if in_sync:
            return ElectionResult(leader_id, in_sync, elr)
        return ElectionResult(leader_id, (leader_id,), tuple(broker_id for broker_id in elr if broker_id != leader_id))
    if _may_elect_last_known(partition, in_sync, elr):
        return ElectionResult(partition.last_known_elr[0], partition.last_known_elr)
    if active and election is Election.UNCLEAN:
        return ElectionResult(active[0], (active[0],))
    return ElectionResult(
        NO_LEADER, in_sync if partition.brokers.has_elr() else in_sync or tuple(partition.isr_ids), elr
    )


def _may_elect_last_known(partition: Partition, isr: Collection[int], elr: Collection[int]) -> bool:
    brokers, last = partition.brokers, partition.last_known_elr
    return brokers.has_elr() and not isr and not elr and len(last) == 1 and bool(brokers.active(last))
