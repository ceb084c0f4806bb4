"""The time line of one request by the brokers' journal alone."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from support.requests import produce

from fakebroker.core.journal.events import Append, IsrChanged, Parked, Request, WatermarkMoved
from fakebroker.core.journal.journal import Journal
from fakebroker.testing.producing.broker_timeline import steps_of_offset, steps_of_request
from fakebroker.testing.producing.picture import picture
from fakebroker.testing.simulation import Simulation


@pytest.fixture
def journal() -> Journal:
    """Broker 1 leads. Request 1 is completed at once, 2 after 300 ms, while the other partition of the topic is
    written. Request 4 waits behind it on its connection, and 5 stays in the purgatory."""
    journal = Journal()
    simulation = Simulation(journal=journal)
    simulation.topic("t", 1)
    simulation.topic("u", 1)
    first, second = simulation.connect(), simulation.connect()
    leader_of_u = simulation.connect(simulation.partition("u").leader_id)
    first.send(produce("t", correlation_id=11))
    simulation.followers("frozen", "t")
    first.send(produce("t", correlation_id=12), produce("t", correlation_id=13))
    simulation.advance(100)
    leader_of_u.send(produce("u", correlation_id=21))
    simulation.advance(200)
    simulation.followers("instant", "t")
    simulation.followers("frozen", "t")
    second.send(produce("t", correlation_id=31))
    return journal


def numbers(journal: Journal) -> dict[int, int]:
    """The number of each request, by its correlation id."""
    return {event.correlation_id: event.request for event in journal if isinstance(event, Request)}


def test_what_a_broker_did_with_a_request_and_why(journal: Journal) -> None:
    steps = steps_of_request(journal, numbers(journal)[12])
    assert {step.where for step in steps} == {"broker 1"}
    assert {step.correlation_id for step in steps} == {12}
    assert [(step.elapsed_ms, step.text) for step in steps] == [
        (0, "Produce v9 handled"),
        (0, "asks for t-0, acks=all, timeout 500 ms"),
        (0, "appended: t-0, offset 1"),
        (0, "parked, for at most 500 ms"),
        (300, "high watermark of t-0: 2, its log ends at 2"),
        (300, "what it waited for is there"),
        (300, "answered: t-0 NONE, base offset 1"),
    ]


def test_a_timeline_has_the_last_move_of_a_busy_high_watermark(journal: Journal) -> None:
    """A request for two partitions waits for one of them, and others write to the other one all the time."""
    events, request = journal.events(), numbers(journal)[12]
    at = 1 + next(at for at, one in enumerate(events) if isinstance(one, Parked) and one.request == request)
    append = next(one for one in events if isinstance(one, Append) and one.request == request)
    moves = [WatermarkMoved(append.mono_ms, append.wall_ms, "t", 0, 0, place, 99) for place in range(1_000)]
    noted = IsrChanged(append.mono_ms, append.wall_ms, "t", 0, 0, (1, 2))
    steps = steps_of_request([*events[:at], *moves, noted, *moves[:10], *events[at:]], request)
    assert [step.text for step in steps[3:-1]] == [
        "parked, for at most 500 ms",
        "high watermark of t-0: 999, its log ends at 99",
        "in sync on t-0: 1, 2",
        "high watermark of t-0: 2, its log ends at 2",
        "what it waited for is there",
    ]


def test_time_counts_from_when_the_request_came(journal: Journal) -> None:
    steps = steps_of_request(journal, numbers(journal)[13])
    assert (steps[0].elapsed_ms, steps[0].text) == (300, "Produce v9 handled, 300 ms after it came")
    assert "parked, for at most 500 ms" in {step.text for step in steps}


def test_a_request_is_found_by_what_it_wrote(journal: Journal) -> None:
    requests = numbers(journal)
    assert steps_of_offset(journal.events(), "t", 0, 1) == steps_of_request(journal, requests[12])
    assert steps_of_offset(journal.events(), "u", 0, 0) == steps_of_request(journal, requests[21])
    for place in (("t", 0, 99), ("t", 1, 0), ("v", 0, 0)):
        with pytest.raises(ValueError, match=f"that wrote offset {place[2]} of {place[0]}-{place[1]}"):
            steps_of_offset(journal.events(), *place)
    with pytest.raises(ValueError, match="the journal has no request 99"):
        steps_of_request(journal, 99)


def test_it_can_be_drawn(journal: Journal) -> None:
    drawn = picture(steps_of_request(journal, numbers(journal)[13]))
    texts = {text.text for text in ET.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")}
    assert "broker 1" in texts
    assert "request 13 of test" in texts
