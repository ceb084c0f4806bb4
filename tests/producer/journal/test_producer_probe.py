"""The events of a producer: each is made once, only for listeners of its kind, and all are handed the same one."""

from __future__ import annotations

from functools import partial
from typing import Any, get_args

import pytest

from fakebroker.producer.client.sending import Sending
from fakebroker.producer.errors import ProducerClosedError, ProducerTimeoutError, RecordTooLargeError
from fakebroker.producer.journal import events
from fakebroker.producer.journal.events import ProducerEvent
from fakebroker.producer.journal.journal import ProducerJournal
from fakebroker.producer.producer_batch import ProducerBatch, RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.testing.producing.simulated_producers import SimulatedProducers
from fakebroker.testing.simulation import Simulation

_SETTINGS = {
    "client.id": "shop",
    "acks": "all",
    "linger.ms": 0,
    "request.timeout.ms": 400,
    "delivery.timeout.ms": 1_000,
    "max.block.ms": 100,
    "max.request.size": 300,
}


class World:
    """A producer beside three brokers. `ends` has what its callbacks were called with."""

    def __init__(self, **settings: object) -> None:
        self.simulation = Simulation(3)
        self.simulation.topic("t", 1, 3)
        self.producers = SimulatedProducers(self.simulation)
        given = _SETTINGS | {name.replace("_", "."): value for name, value in settings.items()}
        self.client = self.producers.add(ProducerConfig("4.3", given))
        self.ends: list[object] = []

    def heard(self, *kinds: type[ProducerEvent]) -> list[tuple[Any, Any]]:
        """Listen for these kinds. Return the list that receives the events and their subjects."""
        heard: list[tuple[ProducerEvent, object]] = []
        self.client.producer.listen(lambda event, subject: heard.append((event, subject)), *kinds)
        return heard

    def send(self, value: bytes = b"v", topic: str = "t") -> Sending:
        def called_back(metadata: RecordMetadata | None, error: Exception | None) -> None:
            self.ends.append(error if metadata is None else metadata)

        now_ms = self.producers.now_ms
        sending = self.client.producer.send(topic, value, 0, now_ms, b"k", callback=called_back)
        self.client.settle()
        return sending

    def busy(self) -> None:
        """Records that are written, refused, retried and expire, and connections that break."""
        self.send()
        self.producers.advance(100)
        self.send(bytes(1_000))
        self.send(topic="unknown")
        self.simulation.followers("frozen")
        self.send()
        self.producers.advance(500)
        self.client.cut()
        self.producers.advance(2_000)
        self.simulation.followers("instant")
        self.producers.advance(100)


def test_all_listeners_are_handed_the_same_event_and_subject_in_their_order() -> None:
    world = World()
    one, other = world.heard(), world.heard()
    order: list[int] = []

    def heard_by(number: int, event: ProducerEvent, subject: object) -> None:
        order.append(number)

    for number in range(3):
        world.client.producer.listen(partial(heard_by, number), events.Connecting)
    world.busy()
    kinds = {type(event) for event, _ in one}
    assert {events.RecordSent, events.RecordRefused, events.BatchExpired, events.Disconnected} <= kinds
    assert len(one) == len(other)
    for (event, subject), (same_event, same_subject) in zip(one, other, strict=True):
        assert event is same_event
        assert subject is same_subject
    assert order
    assert order == [0, 1, 2] * (len(order) // 3)


def test_without_a_listener_of_its_kind_no_event_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: set[str] = set()

    def make(kind: type, *values: object) -> object:
        made.add(kind.__name__)
        return tuple.__new__(kind, values)

    for kind in get_args(ProducerEvent):
        monkeypatch.setattr(kind, "__new__", make)
    world = World()
    world.busy()
    assert made == set()
    assert world.client.producer.probe is None
    world.heard(events.BatchExpired)
    world.busy()
    frequent = {
        kind.__name__
        for kind in (
            events.RecordSent, events.RecordAppended, events.RecordCalledBack, events.BatchDrained, events.RequestSent,
            events.AnswerReceived, events.ResponseHandled,
        )
    }  # fmt: skip
    assert "BatchExpired" in made
    assert not frequent & made
    world.heard()
    world.busy()
    assert frequent <= made, "the test would not notice an event"


@pytest.mark.parametrize("kind", get_args(ProducerEvent))
def test_a_listener_of_one_kind_is_handed_what_a_listener_of_all_is(kind: type[ProducerEvent]) -> None:
    """The fields of an event are kept for it even if no other kind has a listener."""
    alone, beside = World(), World()
    heard = alone.heard(kind)
    everything = beside.heard()
    for world in (alone, beside):
        world.busy()
    assert [event for event, _ in heard] == [event for event, _ in everything if type(event) is kind]


def test_a_record_that_is_called_back_is_told_before_its_callback() -> None:
    world = World()
    ends_then: list[int] = []
    world.client.producer.listen(lambda event, subject: ends_then.append(len(world.ends)), events.RecordCalledBack)
    for _ in range(3):
        world.send()
        world.producers.advance(100)
    assert ends_then == [0, 1, 2]
    assert len(world.ends) == 3


def test_the_subjects_are_the_record_and_the_error_and_the_batch() -> None:
    world = World()
    heard = world.heard()
    written, refused = world.send(), world.send(bytes(1_000))
    world.producers.advance(100)
    world.simulation.followers("frozen")
    world.send()
    world.producers.advance(2_000)
    subjects: dict[type, list[Any]] = {}
    for event, subject in heard:
        subjects.setdefault(type(event), []).append(subject)
    assert subjects[events.RecordSent][:2] == [written, refused]
    assert type(refused.error) is RecordTooLargeError
    assert subjects[events.RecordRefused] == [refused.error]
    ((batch, error),) = subjects[events.BatchExpired]
    assert isinstance(batch, ProducerBatch)
    assert type(error) is ProducerTimeoutError
    assert subjects[events.RecordCalledBack] == [refused.error, None, error]
    with_subject = {events.RecordSent, events.RecordRefused, events.RecordCalledBack, events.BatchExpired}
    assert {type(event) for event, subject in heard if subject is not None} == with_subject


def test_an_error_of_a_broker_has_its_kafka_name() -> None:
    world = World(enable_idempotence=False, retries=0)
    heard = world.heard(events.RecordCalledBack)
    world.simulation.followers("frozen")
    world.send()
    world.producers.advance(700)
    ((event, error),) = heard
    assert isinstance(error, BrokerError)
    assert (event.error, event.offset, event.partition) == ("REQUEST_TIMED_OUT", -1, 0)


def test_a_record_with_an_error_that_is_thrown_has_no_callback() -> None:
    world = World()
    world.send()
    world.producers.advance(100)
    world.ends.clear()
    heard = world.heard(events.RecordRefused, events.RecordCalledBack)
    called_back = world.send(bytes(1_000))
    world.client.producer.close(world.producers.now_ms, 0)
    thrown = world.send()
    assert isinstance(thrown.error, ProducerClosedError)
    assert [(type(event), event.record) for event, _ in heard] == [
        (events.RecordRefused, called_back.number),
        (events.RecordCalledBack, called_back.number),
        (events.RecordRefused, thrown.number),
    ]
    assert [event.is_thrown for event, _ in heard if isinstance(event, events.RecordRefused)] == [False, True]
    assert world.ends == [called_back.error]


def test_a_late_listener_has_no_number_for_earlier_records() -> None:
    world = World()
    world.simulation.followers("frozen")
    world.send()
    world.producers.advance(50)
    journal = ProducerJournal("late")
    world.client.producer.listen(journal.append)
    sending = world.send()
    assert sending.number == 1
    world.simulation.followers("instant")
    world.producers.advance(100)
    assert [event.record for event in journal if isinstance(event, events.RecordSent)] == [1]
    assert [event.record for event in journal if isinstance(event, events.RecordCalledBack)] == [1]
    assert len(world.ends) == 2


def test_a_record_that_has_ended_keeps_nothing_alive() -> None:
    world = World()
    world.heard()
    sending = world.send()
    assert sending.callback is not None
    world.producers.advance(100)
    assert sending.callback is None
