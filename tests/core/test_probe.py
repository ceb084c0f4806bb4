"""The events of a cluster: each is made once, only for a listener, and all listeners receive the same object."""

from __future__ import annotations

from typing import get_args

import pytest
from support.classic_members import ClassicMembers
from support.group_harness import GroupHarness
from support.requests import batch, fetch, produce
from support.simulation import Simulation
from support.transacting import produce as produce_in_transaction
from support.transactions import end, init, with_coordinator

from fakebroker.core.journal.events import Answer, Append, Event, Expired, Parked, Request, WatermarkMoved
from fakebroker.core.journal.journal import Journal


def busy(simulation: Simulation) -> None:
    """Produce to the topic "t" and fetch from it, so that requests succeed, fail, park and time out."""
    client = simulation.connect()
    client.send(produce("t"))
    client.send(produce("t", records=batch()[:-1]))
    client.send(fetch("t", max_wait_ms=100))
    simulation.advance(100)
    simulation.followers("frozen")
    client.send(produce("t", timeout_ms=50))
    simulation.advance(50)


def test_all_listeners_receive_the_same_event() -> None:
    one, other = Journal(), Journal()
    simulation = Simulation(journal=one)
    simulation.cluster.probe.listen(other.append)
    simulation.topic()
    busy(simulation)
    kinds = {type(event) for event in one}
    assert {Request, Append, WatermarkMoved, Parked, Expired, Answer} <= kinds
    assert len(one) == len(other)
    assert all(event is same for event, same in zip(one, other, strict=True))


def test_without_a_listener_no_event_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def count(kind: type, *values: object) -> object:
        made.append(kind.__name__)
        return tuple.__new__(kind, values)

    for kind in get_args(Event):
        monkeypatch.setattr(kind, "__new__", count)
    simulation = with_coordinator()
    busy(simulation)
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    produce_in_transaction(client, (producer_id, epoch))
    end(client, (producer_id, epoch))
    simulation.cluster.lives.kill_broker(1, simulation.now)
    ClassicMembers(GroupHarness()).stable()
    assert made == []
    simulation.cluster.probe.listen(lambda event, subject: None)
    busy(simulation)
    assert made, "the test would not notice an event"


def test_a_journal_that_begins_later_has_the_same_numbers() -> None:
    one, other = Journal(), Journal()
    simulation = Simulation(journal=one)
    simulation.topic()
    busy(simulation)
    simulation.cluster.probe.listen(other.append)
    one.clear()
    busy(simulation)
    assert list(one) == list(other)
    assert min(event.request for event in other if isinstance(event, Request)) > 1
