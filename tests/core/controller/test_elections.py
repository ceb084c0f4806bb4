"""The elected leader after brokers left or came back, row by row (PartitionChangeBuilder.electAnyLeader)."""

from __future__ import annotations

import pytest

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.controller.elections import Election, ElectionResult, elect_leader
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.protocol.topic_partition import TopicPartition


def partition(leader: int, isr: set[int], alive: set[int], unclean: bool) -> Partition:
    """Return a partition with replicas 2, 3, 1 in this order."""
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
        ("the last in-sync replica goes: no leader", 2, {2}, set(), {1, 3}, False, NO_LEADER, (2,)),
        ("the same, unclean: the first alive, alone", 2, {2}, set(), {1, 3}, True, 3, (3,)),
        ("unclean is the last resort only", 2, {1, 2}, {1}, {1, 3}, True, 1, (1,)),
        ("no replica is alive", 2, {2}, set(), set(), True, NO_LEADER, (2,)),
        ("the last in sync comes back", NO_LEADER, {2}, {2}, {1, 2}, False, 2, (2,)),
        ("a replica that is not in sync comes back", NO_LEADER, {2}, {2}, {1}, False, NO_LEADER, (2,)),
        ("a replica that is not in sync comes back, unclean", NO_LEADER, {2}, {2}, {1}, True, 1, (1,)),
    ],
)
def test_the_elected_leader(
    name: str,
    leader: int,
    isr: set[int],
    target_isr: set[int],
    alive: set[int],
    unclean: bool,
    leads: int,
    new_isr: tuple[int, ...],
) -> None:
    election = Election.UNCLEAN if unclean else Election.ONLINE
    assert elect_leader(partition(leader, isr, alive, unclean), target_isr, election) == ElectionResult(leads, new_isr)


@pytest.mark.parametrize(
    ("name", "leader", "isr", "elr", "last", "target_isr", "alive", "unclean", "elected"),
    [
        ("below the minimum, one is eligible", 2, {2, 3, 1}, (), (), {2}, {2}, False, ElectionResult(2, (2,), (1, 3))),
        ("at the minimum, no replica is eligible", 2, {2, 3, 1}, (), (), {2, 3}, {2, 3}, False,
         ElectionResult(2, (2, 3))),
        ("the last in-sync replica goes: no leader, empty ISR", 2, {2}, (), (), set(), {1, 3}, False,
         ElectionResult(NO_LEADER, (), (2,))),
        ("an eligible replica leads, in assignment order", 2, {2}, (1, 3), (), set(), {1, 3}, False,
         ElectionResult(3, (3,), (1, 2))),
        ("an in-sync replica comes first", NO_LEADER, {1}, (2, 3), (2,), {1}, {1, 2}, False,
         ElectionResult(1, (1,), (2, 3))),
        ("eligible comes before unclean", 2, {2}, (1,), (), set(), {1, 3}, True, ElectionResult(1, (1,), (2,))),
        ("unclean as the last resort, and no ELR", 2, {2}, (), (), set(), {1}, True,
         ElectionResult(1, (1,))),
        ("without an ELR the last leader leads", NO_LEADER, set(), (), (3,), set(), {1, 3}, False,
         ElectionResult(3, (3,))),
        ("with an ELR it waits", NO_LEADER, set(), (1,), (3,), set(), {3}, False, ElectionResult(NO_LEADER, (), (1,))),
        ("a last leader that is not alive", NO_LEADER, set(), (), (3,), set(), {1}, False,
         ElectionResult(NO_LEADER, ())),
    ],
)  # fmt: skip
def test_the_elected_leader_with_eligible_leader_replicas(
    name: str,
    leader: int,
    isr: set[int],
    elr: tuple[int, ...],
    last: tuple[int, ...],
    target_isr: set[int],
    alive: set[int],
    unclean: bool,
    elected: ElectionResult,
) -> None:
    made = with_elr(leader, isr, elr, last, alive)
    assert elect_leader(made, target_isr, Election.UNCLEAN if unclean else Election.ONLINE) == elected


def test_a_replica_that_crashed_is_not_eligible() -> None:
    made = with_elr(NO_LEADER, set(), (1, 2), (2,), {3})
    assert elect_leader(made, (), Election.ONLINE, unclean=(2,)) == ElectionResult(NO_LEADER, (), (1,))


def test_the_preferred_leader_may_be_an_eligible_one() -> None:
    made = with_elr(NO_LEADER, set(), (1, 2), (3,), {1, 2})
    assert elect_leader(made, (), Election.PREFERRED) == ElectionResult(2, (2,), (1,))


def with_elr(leader: int, isr: set[int], elr: tuple[int, ...], last: tuple[int, ...], alive: set[int]) -> Partition:
    """Return a partition with replicas 2, 3, 1 in this order and a minimum of two in-sync replicas."""
    brokers = BrokerRegistry([1, 2, 3])
    brokers.has_elr = lambda: True
    made = Partition(TopicPartition("t", 0), [2, 3, 1], TopicConfig(min_insync_replicas=2), 30_000, 0, brokers)
    made.update_isr(isr, 0)
    made.elr, made.last_known_elr, made.leader_id = elr, last, leader
    for broker_id in {1, 2, 3} - alive:
        brokers.fence(broker_id)
    return made
