"""Eligible leader replicas (KIP-966) as brokers stop and die: what Kafka 4.4 shows of them, step by step."""

from __future__ import annotations

from support.simulation import Simulation

from fakebroker.core.controller.features import ELIGIBLE_LEADER_REPLICAS_VERSION

SESSION_MS = 9_000
NOBODY = -1

Shown = tuple[int, int, list[int], list[int], list[int]]


def shown(simulation: Simulation, topic: str = "t") -> Shown:
    """Return leader, leader epoch, ISR, ELR, last known ELR."""
    partition = simulation.partition(topic)
    elr, last = list(partition.elr), list(partition.last_known_elr)
    return partition.leader_id, partition.leader_epoch, partition.isr_ids, elr, last


def test_the_only_replica_is_stopped_and_comes_back() -> None:
    simulation = Simulation(brokers=1)
    simulation.topic(replicas=1)
    simulation.stop(1)
    assert shown(simulation) == (NOBODY, 1, [], [1], [1])
    simulation.start(1)
    assert shown(simulation) == (1, 2, [1], [], [])


def test_the_only_replica_is_killed_and_comes_back_as_the_last_known_leader() -> None:
    simulation = Simulation(brokers=2, config={"fakebroker.controller.delay.ms": "10"})
    simulation.topic(replicas=1)
    simulation.kill(1)
    simulation.advance(SESSION_MS + 10)
    seen = [shown(simulation)]
    simulation.start(1)
    for _ in range(2):
        simulation.advance(10)
        seen.append(shown(simulation))
    assert seen == [
        (NOBODY, 1, [], [1], [1]),
        (NOBODY, 1, [], [], [1]),  # it has registered, and cannot say that it went in order
        (1, 2, [1], [], []),
    ]


def test_a_replica_that_leaves_below_the_minimum_is_eligible_until_it_returns() -> None:
    simulation = Simulation()
    simulation.topic(min_insync_replicas=3)
    simulation.stop(2)
    assert shown(simulation) == (1, 0, [1, 3], [2], [])
    simulation.start(2)
    assert shown(simulation) == (1, 0, [1, 2, 3], [], [])


def test_at_the_minimum_no_replica_is_eligible() -> None:
    simulation = Simulation()
    simulation.topic(min_insync_replicas=2)
    simulation.stop(1)
    assert shown(simulation) == (2, 1, [2, 3], [], [])


def test_an_eligible_one_leads_before_the_last_leader_is_back() -> None:
    simulation = Simulation()
    simulation.topic(min_insync_replicas=2)
    for broker in (3, 2, 1):
        simulation.stop(broker)
    assert shown(simulation) == (NOBODY, 1, [], [1, 2], [1])
    simulation.start(3)  # it left while there were enough
    assert shown(simulation)[0] == NOBODY
    simulation.start(2)
    assert shown(simulation) == (2, 2, [2, 3], [], [])


def test_a_killed_replica_is_no_longer_eligible() -> None:
    simulation = Simulation()
    simulation.topic(min_insync_replicas=2)
    simulation.stop(3)
    simulation.kill(2)
    simulation.advance(SESSION_MS)
    simulation.stop(1)
    assert shown(simulation) == (NOBODY, 1, [], [1, 2], [1])
    simulation.start(2)
    assert shown(simulation) == (NOBODY, 1, [], [1], [1])
    simulation.start(1)
    assert shown(simulation) == (1, 2, [1, 2], [], [])


def test_another_minimum_clears_them() -> None:
    simulation = Simulation()
    simulation.topic(min_insync_replicas=3)
    simulation.stop(2)
    simulation.cluster.admin.alter_topic_configs("t", {"min.insync.replicas": "2"}, simulation.now)
    assert shown(simulation) == (1, 0, [1, 3], [], [])


def test_without_the_feature_the_isr_keeps_its_last_member() -> None:
    simulation = Simulation(brokers=1)
    simulation.cluster.controller.features.format({ELIGIBLE_LEADER_REPLICAS_VERSION: 0})
    simulation.topic(replicas=1)
    simulation.stop(1)
    assert shown(simulation) == (NOBODY, 1, [1], [], [])
