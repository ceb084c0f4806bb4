"""The change of a partition when its ISR, its replicas or its leader are to change: one rule for all occasions.

Theory   First a reassignment is completed if the ISR now allows it: the ISR has all added replicas, and one that stays.
         Then a leader is elected among the rest. The leader epoch goes up if the leader changes, or if a replica is
         removed.

           ONLINE     the leader stays if it may, else the first in assignment order that is alive and in sync
           PREFERRED  the first replica if it may lead, else as ONLINE
           UNCLEAN    as ONLINE, and as the last resort the first that is alive, as the whole ISR

Source   metadata/.../controller/PartitionChangeBuilder.java @ 4.0: build, completeReassignmentIfNeeded, electLeader,
         triggerLeaderEpochBumpForReplicaReassignmentIfNeeded; PartitionReassignmentReplicas.java
         maybeCompleteReassignment @ 4.4; PartitionReassignmentRevert.java.
Differs  A bug of Kafka is kept: a reassignment may remove a replica that another one was adding. That leaves the
         replica on both lists, and the reassignment never completes; it has to be cancelled.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from fakebroker.core.controller.elections import Election, elect_leader
from fakebroker.core.replication.partition import Partition


class TargetReplicas(NamedTuple):
    """Replicas in assignment order, with those that a reassignment adds and removes."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class PartitionChange(NamedTuple):
    """The controller's decision. `isr` is in assignment order."""

    leader_id: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    target: TargetReplicas


def current_target(partition: Partition) -> TargetReplicas:
    return TargetReplicas(tuple(partition.replica_ids), partition.adding, partition.removing)


def reassigned(partition: Partition, wanted: Sequence[int]) -> TargetReplicas:
    """Return the replicas during a reassignment to `wanted`. If this one adds or removes none, Kafka keeps the replicas
    that were being added or removed."""
    current = partition.replica_ids
    removing = tuple(sorted(set(current) - set(wanted)))
    adding = tuple(sorted(set(wanted) - set(current)))
    return TargetReplicas((*wanted, *removing), adding or partition.adding, removing or partition.removing)


def reverted(partition: Partition) -> tuple[TargetReplicas, tuple[int, ...], bool]:
    """Return the state without the present reassignment: replicas, ISR, and True if that ISR may lack records."""
    replicas = tuple(broker_id for broker_id in partition.replicas if broker_id not in partition.adding)
    isr = tuple(broker_id for broker_id in partition.isr_ids if broker_id not in partition.adding)
    return TargetReplicas(replicas), isr or replicas[:1], not isr


def change(
    partition: Partition,
    isr: Collection[int],
    election: Election = Election.ONLINE,
    target: TargetReplicas | None = None,
    unclean: Collection[int] = (),
) -> PartitionChange:
    """Return the change of a partition for the new ISR `isr` and the new replicas `target`. `unclean` are no longer
    eligible to lead."""
    isr, target = _completed(set(isr), target or current_target(partition))
    return PartitionChange(*elect_leader(partition, isr, election, target.replicas, unclean), target)


def _completed(isr: set[int], target: TargetReplicas) -> tuple[set[int], TargetReplicas]:
    """Return ISR and target, with the reassignment completed if possible."""
    if target.adding or target.removing:
        replicas = tuple(broker_id for broker_id in target.replicas if broker_id not in target.removing)
        left = isr - set(target.removing)
        if replicas and left and left.issuperset(target.adding):
            return left, TargetReplicas(replicas)
    return isr, target
