"""A week passes: no needless work is done, and necessary work is done at its time."""

from __future__ import annotations

import pytest
from support import doses
from support.requests import produce
from support.simulation import Simulation

DAY_MS = 86_400_000
MINUTE_MS = 60_000


def ticks(simulation: Simulation, days: int) -> int:
    before = simulation.cluster.housekeeping.ticks
    simulation.advance(days * DAY_MS)
    return simulation.cluster.housekeeping.ticks - before


def test_a_week_of_an_idle_cluster_is_a_tick_of_each_task() -> None:
    simulation = Simulation()
    simulation.topic(partitions=4)
    assert ticks(simulation, 7) == 6 + 2 * 3  # and each broker looks twice for transactions that are old


def test_frozen_followers_leave_and_then_nothing_is_looked_at() -> None:
    simulation = Simulation(followers="frozen")
    simulation.topic()
    simulation.connect().send(produce("t", acks=1))
    assert ticks(simulation, 6) < 40
    assert simulation.partition().isr == {1}


@pytest.mark.parametrize("retention_ms", doses.nightly_after(1, [3_600_000, 7 * DAY_MS]))
def test_old_records_go_at_the_tick_at_which_they_would_anyway(retention_ms: int) -> None:
    ends = []
    for skips in (True, False):
        simulation = Simulation()
        simulation.cluster.housekeeping.skips = skips
        simulation.topic(retention_ms=retention_ms)
        simulation.connect().send(produce("t"))
        simulation.advance(retention_ms - 10 * MINUTE_MS)
        while simulation.partition().leader_log.log_start_offset == 0:
            simulation.advance(1_000)
        ends.append(simulation.now.mono_ms)
    assert ends[0] == ends[1]
