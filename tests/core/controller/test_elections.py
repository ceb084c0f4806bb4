"""Who leads after brokers came or went, row by row (PartitionChangeBuilder.electAnyLeader)."""

from __future__ import annotations

import pytest

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.controller.elections import Election, elect_any_leader
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.protocol.topic_partition import TopicPartition


def partition(leader: int, isr: set[int], alive: set[int], unclean: bool) -> Partition:
    """Replicas 2, 3, 1 in this order."""
    brokers = BrokerRegistry([1, 2, 3])
    config = TopicConfig(unclean_leader_election_enable=unclean)
    made = Partition(TopicPartition("t", 0), [2, 3, 1], config, 30_000, 0, brokers)
    made.update_isr(isr, 0)
    if leader == NO_LEADER:
        made.lose_leader()
    made.leader_id = leader
    for broker_id in {1, 2, 3} - alive:
        brokers.fence(broker_id)
    return made


@pytest.mark.parametrize(
    ("name", "leader", "isr", "target_isr", "alive", "unclean", "leads", "new_isr"),
    [
        ("a follower goes", 2, {1, 2, 3}, {2, 3}, {2, 3}, False, 2, (2, 3)),
        ("the leader stays though it is not the preferred one", 3, {1, 2, 3}, {2, 3}, {2, 3}, False, 3, (2, 3)),
        ("the leader goes: the next in assignment order", 2, {1, 2, 3}, {1, 3}, {1, 3}, False, 3, (3, 1)),
        ("the next is not in sync: the one after", 2, {1, 2}, {1}, {1, 3}, False, 1, (1,)),
        ("the last in sync goes: nobody, and it stays", 2, {2}, set(), {1, 3}, False, NO_LEADER, (2,)),
        ("the same, unclean: the first alive, alone", 2, {2}, set(), {1, 3}, True, 3, (3,)),
        ("unclean is the last resort only", 2, {1, 2}, {1}, {1, 3}, True, 1, (1,)),
        ("nobody is alive", 2, {2}, set(), set(), True, NO_LEADER, (2,)),
        ("the last in sync comes back", NO_LEADER, {2}, {2}, {1, 2}, False, 2, (2,)),
        ("somebody else comes back", NO_LEADER, {2}, {2}, {1}, False, NO_LEADER, (2,)),
        ("somebody else comes back, unclean", NO_LEADER, {2}, {2}, {1}, True, 1, (1,)),
    ],
)
def test_who_leads(
    name: str,
    leader: int,
    isr: set[int],
    target_isr: set[int],
    alive: set[int],
    unclean: bool,
    leads: int,
    new_isr: tuple[int, ...],
) -> None:
    assert elect_any_leader(partition(leader, isr, alive, unclean), target_isr) == Election(leads, new_isr)
