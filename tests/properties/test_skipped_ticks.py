"""A cluster that skips what it has not to do, beside one that does everything every time as Kafka does: the same
histories, byte for byte."""

from __future__ import annotations

import pytest
from support import doses

from fakebroker.core.journal import events
from fakebroker.core.journal.journal import Journal
from fakebroker.testing.plan import Action, random_plan
from fakebroker.testing.run import Run

STEPS = 60
MINUTES = 25


def history(seed: int, skips: bool) -> tuple[list[str], int]:
    """Return the broker's decisions, and the number of ticks. Between some steps half an hour passes."""
    journal = Journal(100_000)
    run = Run(seed, journal=journal)
    for number, action in enumerate(random_plan(seed, STEPS)):
        # A jump goes to the next tick, which is another one.
        run.perform(Action("advance", (15_000,)) if action.name == "jump" else action)
        run.simulation.cluster.housekeeping.skips = skips
        if number % 20 == 19:
            for _ in range(MINUTES):
                run.perform(Action("advance", (60_000,)))
    texts = [repr(event) for event in journal if not isinstance(event, events.TimerFired)]
    return texts, run.simulation.cluster.housekeeping.ticks


@pytest.mark.parametrize("seed", range(doses.count(1, 12)))
def test_the_same_happens(seed: int) -> None:
    texts, ticks = history(seed, True)
    told_by_all, all_ticks = history(seed, False)
    assert texts == told_by_all
    assert ticks < all_ticks
