"""Cuts of the network between brokers."""

from __future__ import annotations

import pytest
from support.answers import NONE, TIMED_OUT, answers
from support.requests import produce
from support.simulation import Simulation

from fakebroker.cluster.arising.state_fault import StateFault
from fakebroker.core.faults.presets import NetworkPartition

SESSION_MS = 9_000
HEARS_MS = 15  # fakebroker.metadata.delay.ms
LAG_MS = 30_000  # replica.lag.time.max.ms


def cut(simulation: Simulation, a: tuple[int, ...], b: tuple[int, ...], controller: str = "both") -> StateFault:
    arisen = simulation.cluster.faults.arising.arise(NetworkPartition(a, b, controller))
    simulation.settle()
    return arisen


def heal(simulation: Simulation, arisen: StateFault) -> None:
    simulation.cluster.now = simulation.now
    simulation.cluster.faults.arising.remove(arisen)
    simulation.settle()


def leads(simulation: Simulation) -> tuple[int, list[int]]:
    partition = simulation.partition()
    return partition.leader_id, partition.isr_ids


@pytest.fixture
def simulation() -> Simulation:
    made = Simulation()
    made.topic()
    return made


def test_followers_do_not_fetch_across_and_leave_the_isr(simulation: Simulation) -> None:
    client = simulation.connect()
    cut(simulation, (1,), (2, 3))
    client.send(produce("t", timeout_ms=60_000))
    simulation.advance(LAG_MS)
    assert leads(simulation) == (1, [1, 2, 3])
    assert answers(client) == []
    simulation.advance(LAG_MS)
    assert leads(simulation) == (1, [1])
    [(at_ms, error, offset)] = answers(client)
    assert (error, offset) == (NONE, 0)
    assert LAG_MS < at_ms <= LAG_MS * 3 // 2


def test_a_follower_on_the_leaders_side_goes_on(simulation: Simulation) -> None:
    client = simulation.connect()
    cut(simulation, (1, 2), (3,))
    client.send(produce("t", acks=1))
    partition = simulation.partition()
    assert [partition.replicas[id_].log.log_end_offset for id_ in (1, 2, 3)] == [1, 1, 0]


def test_after_healing_followers_catch_up_and_parked_requests_complete(simulation: Simulation) -> None:
    client = simulation.connect()
    arisen = cut(simulation, (1,), (2, 3))
    client.send(produce("t", timeout_ms=60_000))
    simulation.advance(5_000)
    heal(simulation, arisen)
    assert answers(client) == [(5_000, NONE, 0)]
    assert (arisen.is_done, arisen.is_over, arisen.hits) == (True, True, 1)


def test_healed_late_they_join_the_isr_again(simulation: Simulation) -> None:
    arisen = cut(simulation, (1,), (2, 3))
    simulation.connect().send(produce("t", acks=1))
    simulation.advance(2 * LAG_MS)
    assert leads(simulation) == (1, [1])
    heal(simulation, arisen)
    assert leads(simulation) == (1, [1, 2, 3])


def test_a_broker_that_does_not_reach_the_controller_loses_its_session(simulation: Simulation) -> None:
    cut(simulation, (1,), (2, 3), controller="b")
    simulation.advance(SESSION_MS - 1)
    assert leads(simulation) == (1, [1, 2, 3])
    simulation.advance(1)
    assert leads(simulation) == (2, [2, 3])
    client = simulation.connect()
    client.send(produce("t", acks=1))
    assert answers(client) == [(SESSION_MS, NONE, 0)]  # which no broker told of the new leader


def test_a_leader_without_its_controller_cannot_shrink_the_isr() -> None:
    simulation = Simulation(config={"replica.lag.time.max.ms": "2000", "broker.session.timeout.ms": "9000"})
    simulation.topic()
    client = simulation.connect()
    cut(simulation, (1,), (2, 3), controller="b")
    client.send(produce("t", timeout_ms=6_000))
    simulation.advance(8_000)
    assert leads(simulation) == (1, [1, 2, 3])
    assert answers(client) == [(6_000, TIMED_OUT, 0)]


def test_what_the_lost_leader_took_alone_is_gone_once_it_is_healed(simulation: Simulation) -> None:
    arisen = cut(simulation, (1,), (2, 3), controller="b")
    client = simulation.connect()
    client.send(produce("t", acks=1))
    assert answers(client) == [(0, NONE, 0)]
    simulation.advance(SESSION_MS)
    simulation.connect(2).send(produce("t", acks=1), produce("t", acks=1))
    heal(simulation, arisen)
    simulation.advance(HEARS_MS)
    partition = simulation.partition()
    assert leads(simulation) == (2, [1, 2, 3])
    assert [replica.log.log_end_offset for replica in partition.replicas.values()] == [2, 2, 2]


def test_healed_in_time_nothing_was_lost(simulation: Simulation) -> None:
    epoch = simulation.cluster.registry[1].epoch
    arisen = cut(simulation, (1,), (2, 3), controller="b")
    simulation.advance(SESSION_MS - 1)
    heal(simulation, arisen)
    simulation.advance(2 * SESSION_MS)
    assert leads(simulation) == (1, [1, 2, 3])
    assert simulation.cluster.registry[1].epoch == epoch


def test_a_follower_without_its_session_is_out_of_the_isr_at_once(simulation: Simulation) -> None:
    arisen = cut(simulation, (3,), (1, 2), controller="b")
    client = simulation.connect()
    client.send(produce("t", timeout_ms=60_000))
    simulation.advance(SESSION_MS)
    assert answers(client) == [(SESSION_MS, NONE, 0)]
    assert leads(simulation) == (1, [1, 2])
    heal(simulation, arisen)
    simulation.advance(HEARS_MS)
    assert leads(simulation) == (1, [1, 2, 3])


def test_two_that_overlap_are_healed_one_by_one(simulation: Simulation) -> None:
    first, second = cut(simulation, (1,), (2, 3), controller="b"), cut(simulation, (1, 2), (3,), controller="b")
    registry = simulation.cluster.registry
    heal(simulation, first)
    reached = [
        (one, other) for one in (1, 2, 3) for other in (1, 2, 3) if one < other and registry.can_reach(one, other)
    ]
    assert reached == [(1, 2)]
    assert not registry[1].is_heard
    heal(simulation, second)
    assert registry.can_reach(1, 3)
    assert registry.can_reach(2, 3)
    assert all(registry[broker_id].is_heard for broker_id in (1, 2, 3))


def test_a_broker_that_does_not_reach_the_controller_can_neither_stop_nor_start(simulation: Simulation) -> None:
    arisen = cut(simulation, (1,), (2, 3), controller="b")
    with pytest.raises(ValueError, match="is cut off from the controller"):
        simulation.stop(1)
    simulation.kill(1)
    simulation.start(1)
    simulation.advance(2 * SESSION_MS)
    assert simulation.cluster.lives.state_of(1) == "starting"
    heal(simulation, arisen)
    assert simulation.cluster.lives.state_of(1) == "running"
    assert leads(simulation) == (2, [1, 2, 3])


def test_killed_and_healed_it_waits_for_its_last_session_as_ever(simulation: Simulation) -> None:
    arisen = cut(simulation, (1,), (2, 3), controller="b")
    simulation.advance(1_000)
    simulation.kill(1)
    simulation.start(1)
    heal(simulation, arisen)
    simulation.advance(SESSION_MS - 1_001)
    assert simulation.cluster.lives.state_of(1) == "starting"
    simulation.advance(1)
    assert simulation.cluster.lives.state_of(1) == "running"


def test_a_broker_resumed_behind_a_cut_loses_its_leadership(simulation: Simulation) -> None:
    simulation.pause(1)
    cut(simulation, (1,), (2, 3), controller="b")
    simulation.advance(1_000)
    simulation.resume(1)
    simulation.advance(SESSION_MS - 1_000)
    assert leads(simulation) == (2, [2, 3])


def test_cut_off_while_it_registers_it_loses_that_session_as_well() -> None:
    simulation = Simulation(config={"fakebroker.controller.delay.ms": "30"})
    simulation.topic()
    simulation.stop(1)
    simulation.advance(1_000)
    simulation.start(1)
    simulation.advance(30)
    cut(simulation, (1,), (2, 3), controller="b")
    simulation.advance(30)
    assert simulation.cluster.registry.is_alive(1)
    simulation.advance(SESSION_MS + 30)
    assert not simulation.cluster.registry.is_alive(1)


def test_a_leader_that_reaches_the_controller_again_expands_its_isr() -> None:
    simulation = Simulation(config={"replica.lag.time.max.ms": "2000"})
    simulation.topic()
    followers = cut(simulation, (1,), (2,))
    simulation.connect().send(produce("t", acks=1))
    simulation.advance(4_000)
    assert leads(simulation) == (1, [1, 3])
    controller = cut(simulation, (1,), (3,), controller="b")
    heal(simulation, followers)
    assert leads(simulation) == (1, [1, 3])
    heal(simulation, controller)
    assert leads(simulation) == (1, [1, 2, 3])


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [((1,), (4,), "there is no broker 4: the ids are 1 to 3"), ((9,), (1,), "there is no broker 9")],
)
def test_unknown_brokers(simulation: Simulation, a: tuple[int, ...], b: tuple[int, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        cut(simulation, a, b)
    assert simulation.cluster.faults.arising.arisen == []
