"""Situations, each by a plan that leads there and by nothing else."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from fakebroker.core.journal.events import Event
from fakebroker.core.journal.journal import Journal
from fakebroker.testing.groups.plan import GroupRun, random_group_plan
from fakebroker.testing.plan import from_text
from fakebroker.testing.run import Run
from fakebroker.testing.seeds import KINDS, names_of, run_seed
from fakebroker.testing.seeds.situations import Situations
from fakebroker.testing.transactions.plan import TransactionRun, random_transaction_plan

# Three replicas, two of which must be in sync; followers copy nothing. Client 0 is one that waits for its answer.
PARKED = "cluster 3 1000; topic 1 3 2 0; followers 1 -1 -1 -1; produce 0 -1 700 1 1 0"

REACHED = {
    "parked, and its time was over": f"{PARKED}; advance 701",
    "parked, and all in sync had it": f"{PARKED}; followers 0 -1 -1 -1; advance 1",
    "parked while the ISR shrank": "cluster 3 300; topic 1 3 1 0; followers 1 -1 -1 -1; produce 0 -1 2000 1 1 0;"
    " advance 1000",
    "parked while the leader moved": f"{PARKED}; move 0 1",
    "parked while its topic went": f"{PARKED}; recreate 0 1",
    "parked while its client went": f"{PARKED}; disconnect 0",
    "parked while a broker was killed": f"{PARKED}; kill 1",
    "parked while a broker stood still": f"{PARKED}; pause 1",
    "parked while a broker stopped": f"{PARKED}; stop 1",
    "parked while nobody could lead": "cluster 2 30000; topic 1 2 1 0; followers 1 -1 -1 -1;"
    " produce 0 -1 60000 1 1 0; kill 1; pause 0; advance 20000",
    "answered NOT_ENOUGH_REPLICAS": "cluster 2 1000; topic 1 2 2 0; stop 1; produce 0 -1 700 1 1 0",
    "answered INVALID_REQUIRED_ACKS": "cluster 1 1000; topic 1 1 1 0; produce 0 2 700 1 1 0",
    "answered CORRUPT_MESSAGE": "cluster 1 1000; topic 1 1 1 0; produce 4 1 700 1 1 4",
}


def reached(text: str) -> Situations:
    situations = Situations()
    run = Run(journal=Journal(1, situations.tell))
    for action in from_text(text):
        run.perform(action)
    return situations


@pytest.mark.parametrize(("name", "text"), REACHED.items(), ids=REACHED.keys())
def test_a_plan_leads_there(name: str, text: str) -> None:
    assert reached(text).counts[name]
    assert name in names_of("cluster")


def test_what_does_not_happen_is_not_counted() -> None:
    counts = reached(PARKED).counts
    assert counts == {"parked": 1}


def test_what_is_parked_elsewhere_is_not_meant() -> None:
    other = "cluster 3 1000; topic 2 3 2 0; followers 1 -1 -1 -1; produce 0 -1 700 1 1 0; move 1 1"
    assert reached(other).counts["parked while the leader moved"] == 0


def test_requests_are_counted() -> None:
    situations = reached("cluster 1 1000; topic 1 1 1 0; produce 0 1 700 1 1 0; fetch 0 0 1 0")
    assert (situations.requests, situations.produced) == (2, 1)


@pytest.mark.parametrize(
    "run",
    [
        partial(GroupRun, random_group_plan(3, 40), 3),
        partial(TransactionRun, random_transaction_plan(3, 40), 3),
    ],
    ids=["groups", "transactions"],
)
def test_events_are_heard_as_they_come_and_not_from_a_journal_that_forgets(run: Any) -> None:
    heard: list[Event] = []
    done = run(on_event=heard.append)
    done.run()
    assert heard
    assert heard == list(done.world.journal)


@pytest.mark.nightly  # every day: the seeds of tests/properties, and the plans above
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_few_names_are_never_reached(kind: str) -> None:
    """A name that nothing can lead to would always be told as a gap."""
    seeds = range({"cluster": 60, "streams": 40}.get(kind, 16))
    results = [run_seed(kind, seed, 200, swarm=seed % 2 == 0) for seed in seeds]
    assert not [result.violation for result in results if result.violation]
    seen = {name for result in results for name in result.situations}
    never = [name for name in names_of(kind) if name not in seen]
    assert len(never) <= 5, never
