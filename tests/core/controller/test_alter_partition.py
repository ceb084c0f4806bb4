"""A leader requests another ISR, and the controller responds after a delay."""

from __future__ import annotations

import pytest
from support.answers import NONE, answers
from support.requests import produce
from support.simulation import Simulation

DELAY_MS = 50
LAG_MS = 30_000  # replica.lag.time.max.ms
LOOKS_MS = 15_000  # how often


@pytest.fixture
def simulation() -> Simulation:
    simulation = Simulation(config={"fakebroker.controller.delay.ms": str(DELAY_MS)})
    simulation.topic()
    return simulation


def out_of_sync(simulation: Simulation) -> int:
    """Let broker 3 fall behind until its leader requests its removal. Return the time of that."""
    simulation.followers("frozen", broker=3)
    simulation.connect().send(produce("t", acks=1))
    simulation.advance(LAG_MS + LOOKS_MS)
    assert simulation.partition().is_isr_in_flight
    return LAG_MS + LOOKS_MS


def test_until_the_controller_has_decided_the_isr_is_what_it_was(simulation: Simulation) -> None:
    out_of_sync(simulation)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=60_000))
    simulation.advance(DELAY_MS - 1)
    seen = [(simulation.partition().isr_ids, simulation.partition().high_watermark, answers(client))]
    simulation.advance(1)
    seen.append((simulation.partition().isr_ids, simulation.partition().high_watermark, answers(client)))
    decided_ms = LAG_MS + LOOKS_MS + DELAY_MS
    assert seen == [([1, 2, 3], 0, []), ([1, 2], 2, [(decided_ms, NONE, 1)])]


def test_a_follower_joins_the_isr_when_it_has_caught_up(simulation: Simulation) -> None:
    out_of_sync(simulation)
    simulation.advance(DELAY_MS)
    simulation.followers("instant", broker=3)
    simulation.advance(DELAY_MS - 1)
    seen = [simulation.partition().isr_ids]
    simulation.advance(1)
    seen.append(simulation.partition().isr_ids)
    assert seen == [[1, 2], [1, 2, 3]]


def test_a_follower_that_catches_up_during_the_shrink_rejoins_the_isr(simulation: Simulation) -> None:
    out_of_sync(simulation)
    simulation.followers("instant", broker=3)
    simulation.advance(DELAY_MS)
    seen = [simulation.partition().isr_ids]
    simulation.advance(DELAY_MS)
    seen.append(simulation.partition().isr_ids)
    assert seen == [[1, 2], [1, 2, 3]]


def test_another_leader_by_then_is_not_told(simulation: Simulation) -> None:
    out_of_sync(simulation)
    simulation.move_leader(2)
    simulation.advance(DELAY_MS)
    assert (simulation.partition().isr_ids, simulation.partition().leader_id) == ([1, 2, 3], 2)
    simulation.cluster.check_invariants()


def test_a_follower_that_stopped_meanwhile_does_not_join_the_isr(simulation: Simulation) -> None:
    out_of_sync(simulation)
    simulation.advance(DELAY_MS)
    simulation.followers("instant", broker=3)
    simulation.stop(3)  # takes a step, which is decided first
    simulation.advance(DELAY_MS)
    assert simulation.partition().isr_ids in ([1, 2], [1, 2, 3])
    simulation.advance(DELAY_MS)
    assert simulation.partition().isr_ids == [1, 2]
    simulation.cluster.check_invariants()


def test_a_topic_may_go_meanwhile(simulation: Simulation) -> None:
    out_of_sync(simulation)
    simulation.delete_topic()
    simulation.advance(DELAY_MS)
    simulation.cluster.check_invariants()
