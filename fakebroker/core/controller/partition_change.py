"""What becomes of a partition when its ISR, its replicas or its leader are to change: one rule for all occasions.

Theory   First a reassignment is completed if the ISR now allows it: all that are added are in it, and somebody who
         stays. Then a leader is elected among what is left. The leader epoch goes up if the leader changes, or if a
         replica goes.
           ONLINE     the leader stays if it may, else the first in assignment order that is alive and in sync
           PREFERRED  the first replica if it may lead, else as ONLINE
           UNCLEAN    as ONLINE, and as the last resort the first that is alive, as the whole ISR
Source   metadata/.../controller/PartitionChangeBuilder.java @ 4.0: build, completeReassignmentIfNeeded, electLeader,
         triggerLeaderEpochBumpForReplicaReassignmentIfNeeded; PartitionReassignmentReplicas.java
         maybeCompleteReassignment @ 4.4; PartitionReassignmentRevert.java.
Differs  Slip kept: a reassignment that removes whom another one was adding
         leaves it on both lists, and is never over; it has to be taken back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from fakebroker.core.controller.elections import Election, elect_leader
from fakebroker.core.replication.partition import Partition


class Target(NamedTuple):
    """Replicas in assignment order, with those that a reassignment adds and removes."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class PartitionChange(NamedTuple):
    """What the controller decides. `isr` is in assignment order."""

    leader_id: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    target: Target


def current_target(partition: Partition) -> Target:
    return Target(tuple(partition.replica_ids), partition.adding, partition.removing)


def reassigned(partition: Partition, wanted: Sequence[int]) -> Target:
    """What a partition has while it goes over to the replicas `wanted`. Kafka leaves what was being added, or removed,
    where this reassignment adds or removes nobody."""
    current = partition.replica_ids
    removing = tuple(sorted(set(current) - set(wanted)))
    adding = tuple(sorted(set(wanted) - set(current)))
    return Target((*wanted, *removing), adding or partition.adding, removing or partition.removing)


def reverted(partition: Partition) -> tuple[Target, tuple[int, ...], bool]:
    """Without the reassignment that is under way: replicas, ISR, and whether that ISR may lack something."""
    replicas = tuple(broker_id for broker_id in partition.replicas if broker_id not in partition.adding)
    isr = tuple(broker_id for broker_id in partition.isr_ids if broker_id not in partition.adding)
    return Target(replicas), isr or replicas[:1], not isr


def change(
    partition: Partition,
    isr: Collection[int],
    election: Election = Election.ONLINE,
    target: Target | None = None,
    unclean: Collection[int] = (),
) -> PartitionChange:
    """What comes of a partition whose ISR is to become `isr`, and whose replicas `target`. `unclean` are no longer
    eligible to lead."""
    isr, target = _completed(set(isr), target or current_target(partition))
    return PartitionChange(*elect_leader(partition, isr, election, target.replicas, unclean), target)


def _completed(isr: set[int], target: Target) -> tuple[set[int], Target]:
    """The same, with the reassignment over if it may be."""
    if target.adding or target.removing:
        replicas = tuple(broker_id for broker_id in target.replicas if broker_id not in target.removing)
        left = isr - set(target.removing)
        if replicas and left and left.issuperset(target.adding):
            return left, Target(replicas)
    return isr, target
