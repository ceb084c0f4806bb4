"""Time lines of journals that were written by different clocks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakebroker.core.journal.journal import Journal
from fakebroker.producer.journal.events import ProducerEvent, RequestSent
from fakebroker.producer.journal.journal import ProducerJournal
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.testing.producing.simulated_producers import SimulatedProducers
from fakebroker.testing.producing.timeline import Timelines, TimelineStep
from fakebroker.testing.simulation import Simulation

Clock = Callable[[ProducerEvent], int]
OTHER_MACHINE_MS = 86_400_000
PARKED_MS = 5_000


def _right(event: ProducerEvent) -> int:
    return 0


class Shop:
    """Two producers, each of which writes a record; the first one's is parked for PARKED_MS."""

    def __init__(self) -> None:
        self.broker_journal = Journal()
        simulation = Simulation(3, journal=self.broker_journal)
        simulation.topic("orders", 1, 3)
        producers = SimulatedProducers(simulation)
        self.journals: list[ProducerJournal] = []
        for name in ("shop", "till"):
            settings = {"client.id": name, "acks": "all", "retries": 0, "request.timeout.ms": PARKED_MS}
            config = ProducerConfig("2.0", settings)
            self.journals.append(producers.new_journal(config))
            producer = producers.add(config, journal=self.journals[-1])
            producer.producer.send("orders", b"v", 0, producers.now_ms, key=name.encode())
            producer.settle()
            simulation.followers("frozen" if name == "shop" else "instant")
            producers.advance(2 * PARKED_MS)
            simulation.followers("instant")
            producers.advance(1_000)

    def events(self, wall: dict[str, Clock] | None = None) -> list[ProducerEvent]:
        """Return events of other machines: with their own monotonic clock, and these wall clocks."""
        return [
            event._replace(
                mono_ms=event.mono_ms + OTHER_MACHINE_MS,
                wall_ms=event.wall_ms + (wall or {}).get(event.producer, _right)(event),
            )
            for journal in self.journals
            for event in journal
        ]

    def true(self) -> Timelines:
        return Timelines([event for journal in self.journals for event in journal], self.broker_journal)


def order(steps: list[TimelineStep]) -> list[tuple[str, str]]:
    return [(step.where, step.text) for step in steps]


@pytest.fixture(scope="module")
def shop() -> Shop:
    return Shop()


def test_monotonic_clocks_of_two_machines_are_refused(shop: Shop) -> None:
    with pytest.raises(ValueError, match=r"shop and the brokers have different clocks: .* go by wall time \(--wall"):
        Timelines(shop.events(), shop.broker_journal)
    behind = [event._replace(mono_ms=event.mono_ms - 2 * OTHER_MACHINE_MS) for event in shop.events()]
    with pytest.raises(ValueError, match=r"request 0 was received before it was answered, by 86,399,999 ms"):
        Timelines(behind, shop.broker_journal)


def test_wall_time_puts_them_in_order(shop: Shop) -> None:
    by_wall = Timelines(shop.events(), shop.broker_journal, by_wall_clock=True)
    assert by_wall.shifts == {}
    for steps, expected in (
        (by_wall.of_key("shop"), shop.true().of_key("shop")),
        (by_wall.of_run(), shop.true().of_run()),
    ):
        assert order(steps) == order(expected)
        assert [step.elapsed_ms for step in steps] == [step.elapsed_ms for step in expected]


@pytest.mark.parametrize(("off_ms", "shift_ms"), [(-250, 249), (250, -249), (-1, 0), (1, 0)])
def test_a_wall_clock_that_is_off_is_shifted_by_what_is_certain(shop: Shop, off_ms: int, shift_ms: int) -> None:
    """A request and an answer take 1 ms each, so that much remains unknown."""
    skewed = Timelines(shop.events({"shop": lambda _: off_ms}), shop.broker_journal, by_wall_clock=True)
    assert skewed.shifts == ({"shop": shift_ms} if shift_ms else {})
    steps = skewed.of_key("shop")
    assert order(steps) == order(shop.true().of_key("shop"))
    (parked,) = (step.elapsed_ms for step in steps if "parked" in step.text)
    (answered,) = (step.elapsed_ms for step in steps if "answered: " in step.text)
    assert answered - parked == PARKED_MS, "the brokers' own times are as they were"
    assert order(skewed.of_key("till")) == order(shop.true().of_key("till"))


def test_each_producer_has_a_clock_of_its_own(shop: Shop) -> None:
    off: dict[str, Clock] = {"shop": lambda _: -250, "till": lambda _: 4_000}
    skewed = Timelines(shop.events(off), shop.broker_journal, by_wall_clock=True)
    assert skewed.shifts == {"shop": 249, "till": -3_999}
    for key in ("shop", "till"):
        assert order(skewed.of_key(key)) == order(shop.true().of_key(key))
    assert sorted(order(skewed.of_run())) == sorted(order(shop.true().of_run())), "requests of one millisecond may swap"


def test_a_wall_clock_that_was_set_meanwhile_is_refused(shop: Shop) -> None:
    requests = [event for event in shop.journals[0] if isinstance(event, RequestSent)]
    set_ms = requests[-1].wall_ms
    off: dict[str, Clock] = {"shop": lambda event: 5_000 if event.wall_ms >= set_ms else -5_000}
    with pytest.raises(ValueError, match=r"the wall clock of shop or of the brokers was set while they wrote: request"):
        Timelines(shop.events(off), shop.broker_journal, by_wall_clock=True)


def test_clocks_that_are_rounded_apart_are_one(shop: Shop) -> None:
    """A broker rounds up the time at which it answers, the producer that at which it hears of it down."""
    heard = {
        journal.name: max(event.mono_ms for event in journal if isinstance(event, RequestSent))
        for journal in shop.journals
    }
    events = [
        event._replace(mono_ms=event.mono_ms - (3 if event.mono_ms > heard[event.producer] else 0))
        for journal in shop.journals
        for event in journal
    ]
    with pytest.raises(ValueError, match="have different clocks"):
        Timelines(events, shop.broker_journal)
    # Each way takes 1 ms here: an answer that seems to come 1 ms before it was sent is 2 ms early.
    events = [
        event._replace(mono_ms=event.mono_ms - (2 if event.mono_ms > heard[event.producer] else 0))
        for journal in shop.journals
        for event in journal
    ]
    assert order(Timelines(events, shop.broker_journal).of_key("till")) == order(shop.true().of_key("till"))


@pytest.mark.parametrize("off_ms", [{"sent": 2}, {"received": -2}, {"sent": 2, "received": -1}, {"sent": 1}])
def test_wall_clocks_that_are_rounded_apart_do_not_change_the_order(shop: Shop, off_ms: dict[str, int]) -> None:
    """Each way takes 1 ms here. A request that is sent 1 ms after it was handled is told before it all the same."""
    sent = {
        journal.name: max(event.mono_ms for event in journal if isinstance(event, RequestSent))
        for journal in shop.journals
    }

    def off(event: ProducerEvent) -> int:
        return off_ms.get("received" if event.mono_ms > sent[event.producer] else "sent", 0)

    skewed = Timelines(shop.events({"shop": off, "till": off}), shop.broker_journal, by_wall_clock=True)
    for key in ("shop", "till"):
        steps = skewed.of_key(key)
        assert order(steps) == order(shop.true().of_key(key))
        elapsed = [step.elapsed_ms for step in steps]
        assert elapsed == sorted(elapsed)
