"""Producers in virtual time report to the judge of histories: it accuses those that lie, and no honest ones."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

import pytest

from fakebroker.core.journal.journal import Journal
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import PartitionResponse
from fakebroker.testing.producers.calls import CallOutcome
from fakebroker.testing.producers.findings import LOST, Finding, describe
from fakebroker.testing.producers.judge import MISPLACED, PRODUCER_KINDS, WRITTEN, ProducerHistory
from fakebroker.testing.producing.simulated_producers import SimulatedProducer, SimulatedProducers
from fakebroker.testing.simulation import Simulation

_SEEDS = 10
_STEPS = 60


class Run:
    """Two producers, each record a value of its own, while brokers die and leaders move."""

    def __init__(self, generation: str, seed: int, settings: dict[str, object]) -> None:
        self._random = Random(seed)
        self.journal = Journal()
        self.history = ProducerHistory()
        self.simulation = Simulation(3, seed=seed, check_every=50, journal=self.journal)
        self.simulation.topic("t", 2)
        self.producers = SimulatedProducers(self.simulation)
        self.clients = [self._add(generation, at, settings) for at in range(2)]
        self._down: set[int] = set()
        self._count = 0

    def _add(self, generation: str, at: int, settings: dict[str, object]) -> SimulatedProducer:
        config = ProducerConfig(generation, {"client.id": f"p{at}", "request.timeout.ms": 400} | settings)
        return self.producers.add(config, at, self.producers.new_journal(config), self.history)

    def carry_out(self) -> None:
        for _ in range(_STEPS):
            self._step()
        for broker_id in sorted(self._down):
            self.simulation.start(broker_id)
        self.simulation.followers("instant")
        self.producers.advance(40_000)

    def send(self, client: SimulatedProducer) -> None:
        now = self.simulation.now
        self._count += 1
        client.producer.send("t", b"%d" % self._count, now.wall_ms, now.mono_ms, partition=self._random.randrange(2))
        client.settle()

    def findings(self, kinds: Collection[str] = PRODUCER_KINDS) -> list[Finding]:
        return self.history.check(self.journal, kinds)

    def _step(self) -> None:
        random = self._random
        match random.randrange(10):
            case 0:
                broker_id = random.randint(1, 3)
                if broker_id in self._down:
                    self.simulation.start(broker_id)
                    self._down.remove(broker_id)
                elif len(self._down) < 2:
                    random.choice([self.simulation.stop, self.simulation.kill])(broker_id)
                    self._down.add(broker_id)
            case 1:
                self.simulation.followers(random.choice(["instant", "frozen", "lagging:20"]))
            case 2:
                random.choice(self.clients).cut()
            case 3:
                self.producers.advance(random.choice([50, 401, 1_100]))
            case _:
                self.send(random.choice(self.clients))
                self.producers.advance(random.choice([0, 0, 1, 10]))


@pytest.mark.parametrize("seed", range(_SEEDS))
def test_an_idempotent_producer_that_takes_its_time_is_not_accused(seed: int) -> None:
    run = Run("4.3", seed, {"delivery.timeout.ms": 2_000_000})
    run.carry_out()
    assert not run.findings(), describe(run.findings())
    assert {call.outcome for call in run.history.calls} == {CallOutcome.OK}


@pytest.mark.parametrize("generation", ["2.0", "4.3"])
@pytest.mark.parametrize("seed", range(_SEEDS))
def test_an_honest_producer_that_gives_up_is_not_accused(generation: str, seed: int) -> None:
    """A producer without sequences may write a record twice, and out of order."""
    settings: dict[str, object] = {"enable.idempotence": False, "acks": "all", "retries": 5, "max.block.ms": 300}
    if generation != "2.0":
        settings["delivery.timeout.ms"] = 1_000
    run = Run(generation, seed, settings)
    run.carry_out()
    findings = run.findings((LOST, MISPLACED, WRITTEN))
    assert not findings, describe(findings)
    assert CallOutcome.OPEN not in {call.outcome for call in run.history.calls}


def test_there_are_refusals_to_look_at() -> None:
    settings: dict[str, object] = {"enable.idempotence": False, "delivery.timeout.ms": 1_000, "max.block.ms": 300}
    outcomes: set[CallOutcome] = set()
    for seed in range(_SEEDS):
        run = Run("4.3", seed, settings)
        run.carry_out()
        outcomes |= {call.outcome for call in run.history.calls}
    assert outcomes == {CallOutcome.OK, CallOutcome.FAILED, CallOutcome.UNKNOWN}


def test_no_record_is_acknowledged_with_acks_0() -> None:
    run = Run("4.3", 0, {"enable.idempotence": False, "acks": "0"})
    run.send(run.clients[0])
    run.producers.advance(1_000)
    assert [call.outcome for call in run.history.calls] == [CallOutcome.UNKNOWN]


@pytest.mark.interpreted  # patches what is compiled
def test_a_producer_that_says_acknowledged_and_sends_nothing_is_found() -> None:
    run = Run("4.3", 0, {})
    liar = run.clients[0].producer.sender

    def lies(node: int, batches: list[ProducerBatch], now_ms: int) -> None:
        for batch in batches:
            liar._completion.complete(batch, PartitionResponse(batch.partition, 0, 0), now_ms, now_ms)

    run.send(run.clients[0])
    run.producers.advance(1_000)
    assert not run.findings()
    liar._send = lies  # type: ignore[method-assign]
    run.send(run.clients[0])
    run.send(run.clients[0])
    run.producers.advance(1_000)
    findings = run.findings()
    assert {finding.kind for finding in findings} == {LOST}
    assert len(findings) == 2, describe(findings)
    assert "client 'p0' was told that it stands here" in findings[0].sentence


@pytest.mark.interpreted  # patches what is compiled
def test_a_producer_that_says_refused_and_has_sent_it_is_found() -> None:
    run = Run("4.3", 0, {"enable.idempotence": False, "retries": 0})
    liar = run.clients[0].producer.sender
    complete = liar._completion.complete

    def lies(batch: ProducerBatch, answer: PartitionResponse, throttle_until_ms: int, now_ms: int) -> None:
        complete(batch, answer.with_code(19), throttle_until_ms, now_ms)  # NOT_ENOUGH_REPLICAS

    liar._completion.complete = lies  # type: ignore[method-assign]
    run.send(run.clients[0])
    run.producers.advance(1_000)
    assert [finding.kind for finding in run.findings()] == [WRITTEN]
