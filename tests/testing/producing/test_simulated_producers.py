"""Producers beside a cluster that falls and gets up: each record is called back once, and a seed gives the same."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.producer.client.sending import Sending
from fakebroker.producer.errors import BufferTooSmallError, ProducerClosedError, ProducerError
from fakebroker.producer.producer_batch import Callback, RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.testing.producing.simulated_producers import SimulatedProducer, SimulatedProducers
from fakebroker.testing.simulation import Simulation

_TOPICS = ("t", "u")
_STEPS = 25


class Run:
    """Some producers of a generation, what happens to the cluster, and what each record was told."""

    def __init__(self, generation: str, seed: int) -> None:
        random = self._random = Random(seed)
        self.simulation = Simulation(3, seed=seed, check_every=50, with_tape=True)
        for topic in _TOPICS:
            self.simulation.topic(topic, random.randint(1, 3))
        self.producers = SimulatedProducers(self.simulation, latency_ms=random.choice([0, 1, 7]))
        self.acks = random.choice(["all", "1", "0"])
        settings = {
            "enable.idempotence": False,
            "acks": self.acks,
            "batch.size": random.choice([0, 300]),
            "buffer.memory": 2_000,
            "linger.ms": random.choice([0, 10]),
            "max.block.ms": random.choice([0, 100, 1_000]),
            "max.in.flight.requests.per.connection": random.choice([1, 5]),
            "request.timeout.ms": 400,
            "retries": random.choice([0, 5]),
        }
        if generation != "2.0":
            settings["delivery.timeout.ms"] = 1_000
        self.clients = [self.producers.add(ProducerConfig(generation, settings), at) for at in range(2)]
        self.told: Counter[int] = Counter()
        self.written: dict[int, RecordMetadata] = {}
        self._down: set[int] = set()
        self.sent: list[Sending] = []

    def step(self) -> None:
        random = self._random
        match random.randrange(8):
            case 0:
                self._fault(random.randint(1, 3))
            case 1:
                self.producers.advance(random.choice([1, 50, 400, 401]))
            case _:
                self._send(random.choice(self.clients))
                self.producers.advance(random.choice([0, 0, 1, 10]))
        for client in self.clients:
            client.producer.check_invariants()
            assert client.producer.accumulator.free.available_memory() >= 0

    def end(self) -> None:
        for broker_id in list(self._down):
            self.simulation.start(broker_id)
        self.simulation.followers("instant")
        for client in self.clients:
            client.producer.close(self.producers.now_ms, 5_000)
            client.settle()
        self.producers.advance(5_000)

    def _fault(self, broker_id: int) -> None:
        if broker_id in self._down:
            self.simulation.start(broker_id)
            self._down.remove(broker_id)
        elif len(self._down) < 2:
            self._random.choice([self.simulation.stop, self.simulation.kill])(broker_id)
            self._down.add(broker_id)
        self.simulation.followers(self._random.choice(["instant", "frozen", "lagging:20"]))

    def _send(self, client: SimulatedProducer) -> None:
        record = len(self.sent)
        size = self._random.choice([1, 100, 900, 3_000])
        sending = client.producer.send(
            self._random.choice(_TOPICS), bytes(size), self.simulation.now.wall_ms, self.producers.now_ms,
            callback=self._callback(record),
        )  # fmt: skip
        client.settle()
        self.sent.append(sending)

    def _callback(self, record: int) -> Callback:
        def told(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            assert (metadata is None) != (error is None)
            self.told[record] += 1
            if metadata is not None:
                self.written[record] = metadata

        return told


@given(st.sampled_from(["2.0", "4.3"]), st.integers(0, 2**32))
def test_each_record_is_called_back_once_and_memory_comes_back(generation: str, seed: int) -> None:
    run = Run(generation, seed)
    for _ in range(_STEPS):
        run.step()
    run.end()
    assert all(client.producer.is_closed for client in run.clients)
    for record, sending in enumerate(run.sent):
        assert sending.is_done
        is_thrown = isinstance(sending.error, ProducerClosedError | BufferTooSmallError)
        assert run.told[record] == (0 if is_thrown else 1), (record, sending.error)
    if run.acks == "all":
        places = list(run.written.values())
        assert len(places) == len(set(places)), "no two records are at one place"
    for client in run.clients:
        if client.producer.client.in_flight_request_count_all() == 0:
            assert client.producer.accumulator.free.available_memory() == 2_000


def test_a_seed_always_gives_the_same() -> None:
    for seed in range(3):
        tapes = []
        for _ in range(2):
            run = Run("4.3", seed)
            for _ in range(_STEPS):
                run.step()
            run.end()
            tapes.append(run.simulation.tape_text())
        assert tapes[0] == tapes[1]


def test_what_comes_at_one_time_comes_in_the_order_of_calls_and_with_what_it_brings_about() -> None:
    producers = SimulatedProducers(Simulation(1))
    came: list[str] = []
    producers.at(20, lambda: came.append("last"))

    def first() -> None:
        came.append("first")
        producers.at(10, lambda: came.append("third"))

    producers.at(10, first)
    producers.at(10, lambda: came.append("second"))
    producers.advance(10)
    assert came == ["first", "second", "third"]
    producers.advance(10)
    assert came == ["first", "second", "third", "last"]


def test_one_that_fails_is_over_and_those_behind_it_still_come() -> None:
    producers = SimulatedProducers(Simulation(1))
    came: list[str] = []

    def fail() -> None:
        came.append("one")
        raise ZeroDivisionError

    producers.at(10, fail)
    producers.at(10, lambda: came.append("two"))
    with pytest.raises(ZeroDivisionError):
        producers.advance(10)
    producers.advance(10)
    assert came == ["one", "two"]


class _Timed(Simulation):
    """Tells when the cluster does what is due."""

    def __init__(self) -> None:
        super().__init__(1)
        self.ran_ms: list[int] = []

    def run_until(self, at_ms: int) -> None:
        self.ran_ms.append(at_ms)
        super().run_until(at_ms)


def test_what_is_done_to_the_cluster_meanwhile_has_its_own_time() -> None:
    simulation = _Timed()
    simulation.topic("t", replicas=1)
    producers = SimulatedProducers(simulation)
    producers.at(10, lambda: simulation.script([(7, "frozen"), (9, "instant")]))

    producers.advance(30)

    assert simulation.ran_ms == [17, 19, 30]
