"""Streams: Produce requests one burst behind the other, for as long as each is dealt with at once."""

from __future__ import annotations

import pytest

from fakebroker.testing.plan import from_text, random_plan, random_stream_plan
from fakebroker.testing.run import Run

PIPELINING, WELL_BEHAVED = 1, 0
HEALTHY = "cluster 3 1000; topic 1 3 2 0"


def sent(text: str) -> int:
    run = Run()
    for action in from_text(text):
        run.perform(action)
    requests = run.requests
    run.finish()
    return requests


@pytest.mark.parametrize("client", [PIPELINING, WELL_BEHAVED])
@pytest.mark.parametrize("acks", [-1, 1, 0])
def test_with_all_brokers_up_every_record_of_the_stream_is_sent(client: int, acks: int) -> None:
    assert sent(f"{HEALTHY}; stream {client} {acks} 700 0 103") == 103


@pytest.mark.parametrize(("client", "burst"), [(PIPELINING, 5), (WELL_BEHAVED, 1)])
def test_it_ends_with_the_burst_that_waits(client: int, burst: int) -> None:
    frozen = f"{HEALTHY}; followers 1 -1 -1 -1; stream {client} -1 700 0 103"
    assert sent(frozen) == burst
    assert sent(f"{frozen}; stream {client} -1 700 0 103") == burst


@pytest.mark.parametrize("acks", [-1, 0])
def test_a_paused_broker_gets_a_bounded_number_of_requests(acks: int) -> None:
    assert sent(f"{HEALTHY}; pause 0; stream {PIPELINING} {acks} 700 0 103; stream {PIPELINING} {acks} 700 0 9") == 5


def test_it_ends_with_its_connection() -> None:
    """A burst without a listener is sent again twice."""
    assert sent(f"{HEALTHY}; stream {PIPELINING} 1 700 0 5; kill 0; stream {PIPELINING} 1 700 0 103") == 5 + 5 * 3


def test_plans_of_streams_send_much_more() -> None:
    runs = {}
    for draw in (random_plan, random_stream_plan):
        runs[draw] = run = Run(3)
        for action in draw(3, 40):
            run.perform(action)
        run.finish()
    assert runs[random_stream_plan].requests > 10 * runs[random_plan].requests > 0


def test_a_longer_plan_of_streams_begins_with_the_shorter_one() -> None:
    longer = random_stream_plan(5, 60)
    assert random_stream_plan(5, 40) == longer[: len(random_stream_plan(5, 40))]
    assert "stream" not in {step.name for step in random_stream_plan(5, 60, frozenset({"stream"}))}
    assert "stream" not in {step.name for seed in range(20) for step in random_plan(seed, 200)}
