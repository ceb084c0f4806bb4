"""Time that is skipped in a simulation, as `clock="auto"` does when all is quiet."""

from __future__ import annotations

from collections.abc import Callable

from support.requests import produce
from support.simulation import Simulation

FROZEN = "frozen"


def make_frozen_topic(simulation: Simulation) -> None:
    """Make a topic with an ISR that has shrunk below the minimum, so that Produce requests time out."""
    simulation.topic(FROZEN, 1, 3, min_insync_replicas=3)


def skip(simulation: Simulation) -> bool:
    """Skip to the next deadline. False, and nothing is skipped, if no client waits for anything."""
    cluster = simulation.cluster
    deadline_ms = cluster.next_skip_ms()
    if deadline_ms is None:
        return False
    ms = max(deadline_ms - simulation.now.mono_ms, 0)
    simulation.skipped_ms += ms
    cluster.skip(ms)
    cluster.advance_to(simulation.now)
    simulation.settle()
    return True


def time_out(simulation: Simulation, timeout_ms: int, act: Callable[[], object] = lambda: None) -> None:
    """Park a Produce request to the frozen topic, and skip until it times out. `act` is called whenever a skip ends."""
    simulation.followers("instant", FROZEN)
    simulation.followers("frozen", FROZEN)
    act()
    client = simulation.connect(simulation.partition(FROZEN).leader_id)
    before_ms = simulation.now.mono_ms
    client.send(produce(FROZEN, timeout_ms=timeout_ms))
    while not client.answers:
        assert skip(simulation), "a parked request is a reason to skip"
        act()
    assert simulation.now.mono_ms - before_ms == timeout_ms
    client.disconnect()
