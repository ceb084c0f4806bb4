"""The time line of a record from both journals, to the millisecond."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakebroker.core.journal.journal import Journal
from fakebroker.producer.journal import events
from fakebroker.producer.journal.journal import ProducerJournal
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.testing.producing.simulated_producers import SimulatedProducer, SimulatedProducers
from fakebroker.testing.producing.timeline import Timelines, TimelineStep
from fakebroker.testing.simulation import Simulation


class World:
    """A cluster with a topic of one partition, and one producer, which knows the topic already."""

    def __init__(self, generation: str, brokers: int = 3, **settings: object) -> None:
        self.broker_journal = Journal()
        self.simulation = Simulation(brokers, journal=self.broker_journal)
        self.simulation.topic("orders", 1, brokers)
        self.producers = SimulatedProducers(self.simulation)
        self.journals: list[ProducerJournal] = []
        self.settings = {name.replace("_", "."): value for name, value in settings.items()}
        self.generation = generation
        self.shop = self.producer("shop")
        self.send(b"first")
        self.producers.advance(1_000)

    def producer(self, client_id: str, name: str = "") -> SimulatedProducer:
        config = ProducerConfig(self.generation, {"client.id": client_id, "acks": "all", **self.settings})
        journal = self.producers.new_journal(config, name)
        self.journals.append(journal)
        return self.producers.add(config, journal=journal)

    def send(self, key: bytes, size: int = 1) -> None:
        self.shop.producer.send("orders", bytes(size), 0, self.producers.now_ms, key=key)
        self.shop.settle()

    def timelines(self) -> Timelines:
        return Timelines([event for journal in self.journals for event in journal], self.broker_journal)


def told(steps: list[TimelineStep]) -> list[tuple[int, str, str]]:
    return [(step.elapsed_ms, step.where, step.text) for step in steps]


def test_frozen_followers_time_out_at_the_broker_and_the_batch_is_tried_again() -> None:
    world = World("2.0", retries=3, request_timeout_ms=5_000)
    world.simulation.followers("frozen")
    world.send(b"k")
    world.producers.advance(5_200)
    world.simulation.followers("instant")
    world.producers.advance(5_000)
    steps = world.timelines().of_key("k")
    assert told(steps) == [
        (0, "shop", "record 2 sent to orders, key 'k', 2 bytes"),
        (0, "shop", "record 2 appended to batch 2 of orders-0, which it begins"),
        (0, "shop", "batch 2 drained for node 1, 1 record"),
        (0, "shop", "Produce v6 sent to node 1, acks=all, timeout 5000 ms"),
        (1, "broker 1", "Produce v6 handled"),
        (1, "broker 1", "appended: orders-0, offset 1"),
        (1, "broker 1", "parked, for at most 5000 ms"),
        (5_001, "broker 1", "expired here: its time is over"),
        (5_001, "broker 1", "answered: orders-0 REQUEST_TIMED_OUT, base offset 1"),
        (5_002, "shop", "answer received"),
        (5_002, "shop", "answered, handled: orders-0 REQUEST_TIMED_OUT, base offset 1"),
        (5_002, "shop", "batch 2 queued again: REQUEST_TIMED_OUT, attempt 1 failed"),
        (5_102, "shop", "batch 2 drained for node 1, 1 record"),
        (5_102, "shop", "Produce v6 sent to node 1, acks=all, timeout 5000 ms"),
        (5_103, "broker 1", "Produce v6 handled"),
        (5_103, "broker 1", "appended: orders-0, offset 2"),
        (5_103, "broker 1", "parked, for at most 5000 ms"),
        (5_200, "broker 1", "what it waited for is there"),
        (5_200, "broker 1", "answered: orders-0 NONE, base offset 2"),
        (5_201, "shop", "answer received"),
        (5_201, "shop", "answered, handled: orders-0 NONE, base offset 2"),
        (5_201, "shop", "record 2 called back: orders-0, offset 2"),
    ]
    timelines = world.timelines()
    assert timelines.of_offset("orders", 0, 1) == timelines.of_offset("orders", 0, 2) == timelines.of_record(2) == steps


def expired(world: World, record: int) -> tuple[int, str]:
    """After how long, and since when; it is called back once, and that is all that comes."""
    steps = world.timelines().of_record(record)
    (expiry,) = [step for step in steps if isinstance(step.event, events.BatchExpired)]
    (end,) = [step for step in steps if isinstance(step.event, events.RecordCalledBack)]
    assert steps[-1] == end
    assert end.elapsed_ms == expiry.elapsed_ms
    assert isinstance(end.event, events.RecordCalledBack)
    assert end.event.error == "ProducerTimeoutError"
    assert isinstance(expiry.event, events.BatchExpired)
    assert expiry.event.message == end.event.message
    return expiry.elapsed_ms, expiry.event.since


def test_each_of_the_three_reasons_of_2_0_shows() -> None:
    world = World("2.0", brokers=1, request_timeout_ms=400, linger_ms=10, batch_size=1_000)
    world.simulation.kill(1)
    world.producers.advance(10)
    world.send(b"full", 980)
    world.send(b"alone", 500)
    world.producers.advance(5_000)
    full_ms, since = expired(world, 2)
    assert (since, full_ms > 400) == ("last append", True)
    alone_ms, since = expired(world, 3)
    assert (since, alone_ms > 410) == ("batch creation plus linger time", True)

    world = World("2.0", brokers=1, request_timeout_ms=400, retries=5)
    world.send(b"lost")
    world.simulation.kill(1)
    world.producers.advance(5_000)
    lost_ms, since = expired(world, 2)
    assert (since, lost_ms > 500) == ("last attempt plus backoff time", True)
    texts = [step.text for step in world.timelines().of_record(2)]
    assert "connection to node 1 gone: lost" in texts
    assert "batch 2 queued again: NETWORK_EXCEPTION, attempt 1 failed" in texts


def test_since_kip_91_it_expires_in_flight_too() -> None:
    settings = {"request_timeout_ms": 400, "linger_ms": 0, "delivery_timeout_ms": 500, "retry_backoff_ms": 10}
    world = World("4.3", enable_idempotence=False, **settings)
    world.simulation.followers("frozen")
    world.send(b"k")
    world.producers.advance(5_000)
    assert expired_in_flight(world) == (500, "batch creation", True)


def expired_in_flight(world: World) -> tuple[int, str, bool]:
    steps = world.timelines().of_record(2)
    (expiry,) = [step for step in steps if isinstance(step.event, events.BatchExpired)]
    assert isinstance(expiry.event, events.BatchExpired)
    assert sum(isinstance(step.event, events.RecordCalledBack) for step in steps) == 1
    return expiry.elapsed_ms, expiry.event.since, expiry.event.was_in_flight


def test_a_silent_broker_shows_as_a_connection_that_the_producer_ends() -> None:
    world = World("2.0", brokers=1, request_timeout_ms=400, retries=0)
    world.simulation.pause(1)
    world.send(b"k")
    world.producers.advance(1_000)
    (gone,) = [step for step in world.timelines().of_record(2) if isinstance(step.event, events.Disconnected)]
    assert gone.text == "connection to node 1 gone: no answer in time"
    assert gone.elapsed_ms == 401  # at 400 it has taken exactly as long as it may


def test_a_request_has_all_of_its_batches_and_both_ends() -> None:
    world = World("2.0")
    (sent,) = [event for event in world.journals[0] if isinstance(event, events.RequestSent) and event.batches]
    steps = world.timelines().of_request(sent.correlation_id)
    assert {step.where for step in steps} == {"shop", "broker 1"}
    assert [step.correlation_id for step in steps if step.where == "broker 1"] == [sent.correlation_id] * 5
    assert world.timelines().records() == [1]


def test_what_is_not_there_is_said_in_a_sentence() -> None:
    world = World("2.0")
    timelines = world.timelines()
    mistakes: list[tuple[str, Callable[[], object]]] = [
        ("shop sent no record 7", lambda: timelines.of_record(7)),
        ("no record with the key 'x' was sent", lambda: timelines.of_key("x")),
        ("no journal has a request that wrote offset 7 of orders-0", lambda: timelines.of_offset("orders", 0, 7)),
        ("shop sent no request with the correlation id 99", lambda: timelines.of_request(99)),
        ("there is no producer 'y', there is shop", lambda: timelines.of_record(1, "y")),
        ("the producer's journal is empty", lambda: Timelines([], []).of_record(1)),
    ]
    for text, ask in mistakes:
        with pytest.raises(ValueError, match=text):
            ask()


def test_two_clients_of_one_id_are_not_confused() -> None:
    world = World("2.0")
    twin = world.producer("shop", "twin")
    twin.producer.send("orders", b"v", 0, world.producers.now_ms)
    twin.settle()
    world.producers.advance(1_000)
    with pytest.raises(ValueError, match="there are several producers, name one: shop, twin"):
        world.timelines().of_record(1)
    with pytest.raises(ValueError, match=r"give each producer a client\.id of its own"):
        world.timelines().of_record(1, "shop")
