"""Pending deadlines: when the clock's owner has to advance it next, and whether a client waits for that."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.answers import NONE, answers
from support.requests import fetch, metadata, produce
from support.simulation import START_MONO_MS, Simulation

from fakebroker.core.quota.quota import QuotaEntity


@pytest.fixture
def simulation() -> Simulation:
    simulated = Simulation()
    simulated.topic()
    return simulated


def park_produce(simulation: Simulation) -> None:
    simulation.followers("frozen")
    simulation.connect().send(produce("t", timeout_ms=200))


def send_to_a_lagging_follower(simulation: Simulation) -> None:
    simulation.followers("lagging:200")
    simulation.connect().send(produce("t", acks=1))


def throttle(simulation: Simulation) -> None:
    simulation.cluster.members.client_quotas.alter(QuotaEntity(None, "test"), {"producer_byte_rate": 5})
    simulation.connect().send(produce("t", acks=1))


def park_fetch(simulation: Simulation) -> None:
    simulation.connect().send(fetch("t", max_wait_ms=200))


def script(simulation: Simulation) -> None:
    simulation.script([(200, "frozen")])


# Pending deadlines, and whether skipping time would unblock a client.
PENDING: dict[str, tuple[Callable[[Simulation], None], bool]] = {
    "a produce that waits": (park_produce, True),
    "a batch on its way": (send_to_a_lagging_follower, True),
    "a muted connection": (throttle, True),
    "a fetch that waits": (park_fetch, False),
    "a script": (script, False),
}


def test_housekeeping_is_no_deadline(simulation: Simulation) -> None:
    simulation.connect().send(metadata([]))

    assert simulation.cluster.next_deadline_ms() is not None
    assert not simulation.cluster.has_deadlines
    assert not simulation.cluster.is_awaited


@pytest.mark.parametrize(("begin", "is_awaited"), PENDING.values(), ids=PENDING.keys())
def test_what_is_pending_is_a_deadline_until_it_is_met(
    simulation: Simulation, begin: Callable[[Simulation], None], is_awaited: bool
) -> None:
    begin(simulation)
    before = (simulation.cluster.has_deadlines, simulation.cluster.is_awaited, simulation.cluster.deadlines.met)
    simulation.advance(600_000)
    after = (simulation.cluster.has_deadlines, simulation.cluster.is_awaited)

    assert before == (True, is_awaited, 0)
    assert after == (False, False)
    assert simulation.cluster.deadlines.met > 0


def test_housekeeping_meets_no_deadline(simulation: Simulation) -> None:
    simulation.connect()
    simulation.advance(3_600_000)  # the idle connection is closed, too

    assert simulation.cluster.deadlines.met == 0


@pytest.mark.parametrize("behaviour", ["instant", "frozen"])
def test_a_script_that_another_command_ends_is_pending_all_the_same(simulation: Simulation, behaviour: str) -> None:
    simulation.script([(100, "frozen"), (200, "instant")])
    simulation.followers(behaviour)
    simulation.connect().send(fetch("t", max_wait_ms=50))

    assert simulation.cluster.has_deadlines
    assert not simulation.cluster.is_awaited
    simulation.advance(200)
    assert not simulation.cluster.has_deadlines


def test_a_peer_that_goes_takes_its_throttling_along(simulation: Simulation) -> None:
    simulation.cluster.members.client_quotas.alter(QuotaEntity(None, "test"), {"producer_byte_rate": 5})
    client = simulation.connect()
    client.send(produce("t", acks=1))
    client.disconnect()

    assert not simulation.cluster.has_deadlines


def test_at_the_same_millisecond_a_batch_arrives_before_the_isr_is_looked_at(simulation: Simulation) -> None:
    """A fetch at the very millisecond of the check is in time, whenever it was sent."""
    simulation = Simulation(config={"replica.lag.time.max.ms": "1000"})
    simulation.topic()
    simulation.followers("frozen")
    client = simulation.connect()
    client.send(produce("t", timeout_ms=60_000))
    simulation.advance(1_400)
    simulation.followers("lagging:100", topic="t")
    simulation.advance(99)
    waiting = answers(client)
    simulation.advance(1)

    assert waiting == []
    assert simulation.now.mono_ms - START_MONO_MS == 1_500  # the first check after the maximum lag
    assert answers(client) == [(1_500, NONE, 0)]
    assert simulation.partition().isr_ids == [1, 2, 3]
