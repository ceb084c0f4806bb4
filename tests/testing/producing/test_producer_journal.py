"""The journal of a simulated producer: whole, the same for a seed, and without any effect."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from support import doses

from fakebroker.producer.journal import events
from fakebroker.producer.journal.events import ProducerEvent, to_lines
from fakebroker.producer.journal.journal import ProducerJournal
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.testing.producing.simulated_producers import SimulatedProducers
from fakebroker.testing.simulation import START_WALL_MS, Simulation

_STEPS = 60
_SEEDS = doses.count(2, 12)
_LONG_MS = 20_000


def run(
    generation: str, seed: int, with_journal: bool, is_idempotent: bool = False
) -> tuple[bytes, list[ProducerJournal]]:
    """Two producers among faults. What went over the wire, and their journals."""
    random = Random(seed)
    simulation = Simulation(3, seed=seed, check_every=50, with_tape=True)
    simulation.topic("t", 2)
    producers = SimulatedProducers(simulation, latency_ms=random.choice([0, 1, 7]))
    settings: dict[str, object] = {
        "enable.idempotence": is_idempotent,
        "batch.size": random.choice([0, 300]),
        "buffer.memory": random.choice([1_000, 100_000]),
        "linger.ms": random.choice([0, 10]),
        "max.block.ms": random.choice([100, 1_000]),
        "max.in.flight.requests.per.connection": random.choice([1, 5]),
        "request.timeout.ms": 400,
        "retries": 5,
    }
    if generation != "2.0":
        settings["delivery.timeout.ms"] = 1_000
    journals = []
    clients = []
    for at in range(2):
        config = ProducerConfig(generation, {**settings, "client.id": f"client-{at}"})
        journal = producers.new_journal(config)
        journals.append(journal)
        clients.append(producers.add(config, at, journal if with_journal else None))
    down: set[int] = set()
    for _ in range(_STEPS):
        broker_id = random.randint(1, 3)
        match random.randrange(10):
            case 0 if broker_id in down:
                simulation.start(broker_id)
                down.remove(broker_id)
            case 0 if len(down) < 2:
                random.choice([simulation.stop, simulation.kill])(broker_id)
                down.add(broker_id)
            case 1:
                simulation.followers(random.choice(["instant", "frozen"]))
            case 2:
                producers.advance(random.choice([50, 401, 1_100]))
            case _:
                client = random.choice(clients)
                value = bytes(random.choice([1, 100]))
                partition = random.choice([None, 0, 1])
                client.producer.send("t", value, simulation.now.wall_ms, producers.now_ms, partition=partition)
                client.settle()
                producers.advance(random.choice([0, 0, 1, 10]))
    for broker_id in sorted(down):
        simulation.start(broker_id)
    simulation.followers("instant")
    producers.advance(_LONG_MS)
    return simulation.tape_text(), journals


@pytest.mark.parametrize("is_idempotent", [False, True])
@pytest.mark.parametrize("generation", ["2.0", "2.4", "4.3"])
@pytest.mark.parametrize("seed", range(_SEEDS))
def test_a_journal_is_whole_and_the_same_for_a_seed_and_changes_nothing(
    generation: str, seed: int, is_idempotent: bool
) -> None:
    tape, journals = run(generation, seed, True, is_idempotent)
    again, others = run(generation, seed, True, is_idempotent)
    without, empty = run(generation, seed, False, is_idempotent)
    assert tape == again
    assert tape == without
    assert not any(map(len, empty))
    for journal, other in zip(journals, others, strict=True):
        assert list(to_lines(journal)) == list(to_lines(other))
        check(journal)


def check(journal: ProducerJournal) -> None:
    ends: Counter[int] = Counter()
    sent = set()
    requests = set()
    responses = []
    for event in journal:
        assert event.producer == journal.name
        assert event.wall_ms - event.mono_ms == START_WALL_MS - 5_000_000
        match event:
            case events.RecordSent():
                sent.add(event.record)
            case events.RecordCalledBack():
                ends[event.record] += 1
            case events.RecordRefused(is_thrown=True):
                ends[event.record] += 1
            case events.RequestSent():
                requests.add(event.correlation_id)
            case events.ResponseHandled():
                responses.append(event.correlation_id)
    times = [event.mono_ms for event in journal]
    assert times == sorted(times)
    assert sent
    assert sent == set(ends)
    assert set(ends.values()) == {1}
    assert len(responses) == len(set(responses))
    assert set(responses) <= requests


def test_it_is_a_ring_and_counts_what_it_dropped() -> None:
    heard: list[ProducerEvent] = []
    journal = ProducerJournal("me", size=2, on_event=heard.append)
    for connection in range(3):
        journal.append(events.Connecting(0, 0, "me", connection, 1))
    assert [event.connection for event in journal if isinstance(event, events.Connecting)] == [1, 2]
    assert (journal.dropped, len(journal), len(heard), journal.name) == (1, 2, 3, "me")
