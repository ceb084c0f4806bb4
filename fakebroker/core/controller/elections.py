"""Who leads a partition, and who is in its ISR, after brokers came or went.

Theory   The leader stays if it may. Otherwise the first replica in assignment order that is alive and in the ISR: a
         clean election, nothing acknowledged by all is lost. If there is none: nobody, and the ISR keeps its last
         member, who alone may lead again; or, where unclean.leader.election.enable allows it, the first replica that is
         alive, as the whole ISR, whatever it lacks.
Source   metadata/.../controller/PartitionChangeBuilder.java @ 4.0: electAnyLeader, tryElection, build;
         ReplicationControlManager.java generateLeaderAndIsrUpdates.
Differs  No eligible leader replicas (KIP-966 part 2, off by default in 4.0).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fakebroker.core.replication.partition import NO_LEADER, Partition


class Election(NamedTuple):
    """What the controller decides. `isr` is in assignment order."""

    leader_id: int
    isr: tuple[int, ...]


def elect_any_leader(
    partition: Partition,
    target_isr: Iterable[int],
    target_replicas: Iterable[int] | None = None,
    is_unclean: bool | None = None,
) -> Election:
    """The election that Kafka holds when the ISR is to become `target_isr`; those in it that are dead do not count. The
    replicas are to be `target_replicas`; whether the election may be unclean is asked of the topic, if not said."""
    wanted = set(target_isr)
    replicas = list(partition.replicas if target_replicas is None else target_replicas)
    isr = tuple(broker_id for broker_id in replicas if broker_id in wanted)
    alive = partition.brokers.alive(replicas)
    candidates = [broker_id for broker_id in alive if broker_id in wanted]
    if partition.leader_id in candidates:
        return Election(partition.leader_id, isr)
    if candidates:
        return Election(candidates[0], isr)
    if alive and (partition.config.unclean_leader_election_enable if is_unclean is None else is_unclean):
        return Election(alive[0], (alive[0],))
    return Election(NO_LEADER, isr or tuple(partition.isr_ids))
