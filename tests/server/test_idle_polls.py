"""Idle polls of consumers, by the events that the cluster gives to its listeners."""

from __future__ import annotations

import pytest
from support.requests import batch, fetch, metadata, produce
from support.simulation import SimulatedClient, Simulation

from fakebroker.server.skipping import IdlePolls

WAIT_MS = 500


@pytest.fixture
def simulation() -> Simulation:
    made = Simulation(1)
    made.topic("t", 1, 1)
    return made


@pytest.fixture
def consumer(simulation: Simulation) -> SimulatedClient:
    return simulation.connect(1)


@pytest.fixture
def polls(simulation: Simulation, consumer: SimulatedClient) -> IdlePolls:
    return IdlePolls(simulation.cluster.probe)


def test_nothing_is_no_poll(polls: IdlePolls) -> None:
    assert not polls.take()


def test_a_poll_that_waits_is_idle_and_so_is_its_empty_end(
    simulation: Simulation, consumer: SimulatedClient, polls: IdlePolls
) -> None:
    consumer.send(fetch("t", max_wait_ms=WAIT_MS))
    assert polls.take()
    simulation.advance(WAIT_MS)
    assert len(consumer.answers) == 1
    assert polls.take()
    assert not polls.take(), "each is told once"


def test_a_poll_that_gets_records_is_not(simulation: Simulation, consumer: SimulatedClient, polls: IdlePolls) -> None:
    simulation.connect(1).send(produce("t"))
    polls.take()
    consumer.send(fetch("t", max_wait_ms=WAIT_MS))
    assert not polls.take()


def test_records_that_end_a_poll_are_not(simulation: Simulation, consumer: SimulatedClient, polls: IdlePolls) -> None:
    producer = simulation.connect(1)
    consumer.send(fetch("t", max_wait_ms=WAIT_MS))
    polls.take()
    producer.send(produce("t"))
    assert len(consumer.answers) == 1
    assert not polls.take()


def test_the_end_of_a_poll_for_many_bytes_may_have_records(
    simulation: Simulation, consumer: SimulatedClient, polls: IdlePolls
) -> None:
    simulation.connect(1).send(produce("t", records=batch(b"few")))
    polls.take()
    consumer.send(fetch("t", max_wait_ms=WAIT_MS, min_bytes=10_000))
    assert polls.take()
    simulation.advance(WAIT_MS)
    assert b"few" in consumer.answers[0][1]
    assert not polls.take()


@pytest.mark.parametrize("what", ["metadata", "produce", "connection"])
def test_whatever_else_happens_with_it_is_not(
    simulation: Simulation, consumer: SimulatedClient, polls: IdlePolls, what: str
) -> None:
    other = simulation.connect(1)
    polls.take()
    consumer.send(fetch("t", max_wait_ms=WAIT_MS))
    if what == "connection":
        other.disconnect()
    else:
        other.send(metadata([]) if what == "metadata" else produce("t", acks=1))
    assert not polls.take()


def test_a_produce_that_is_parked_is_not() -> None:
    made = Simulation(3)
    made.topic("t", 1, 3)
    made.followers("frozen")
    polls = IdlePolls(made.cluster.probe)
    made.connect(made.partition("t").leader_id).send(produce("t", timeout_ms=WAIT_MS))
    assert not polls.take()
    made.advance(WAIT_MS)
    assert not polls.take()
