"""Callers of simulated producers: `send` blocks them, so their records keep their order."""

from __future__ import annotations

import pytest

from fakebroker.producer.errors import ProducerError
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.protocol.record_batch import decode_records
from fakebroker.testing.producing.simulated_producers import SimulatedProducers
from fakebroker.testing.simulation import Simulation

LARGE, SMALL = b"large" * 200, b"small"
both = pytest.mark.parametrize("generation", ["2.0", "4.3"])


class World:
    """A producer with memory for a large record and a small batch, and not for two large ones."""

    def __init__(self, generation: str, **settings: object) -> None:
        self.simulation = Simulation(1)
        self.simulation.topic("t", 1, 1)
        self.producers = SimulatedProducers(self.simulation)
        given: dict[str, object] = {
            "buffer.memory": 1_500,
            "batch.size": 100,
            "linger.ms": 0,
            "enable.idempotence": False,
        }
        given |= {name.replace("_", "."): value for name, value in settings.items()}
        config = ProducerConfig(generation, given)
        self.shop = self.producers.add(config)
        self.told: list[tuple[int, str]] = []

    def heard(self, metadata: RecordMetadata | None, error: ProducerError | None) -> None:
        self.told.append((self.simulation.elapsed_ms, "" if error is None else type(error).__name__))

    def log(self) -> list[bytes]:
        log = self.simulation.partition().leader_log
        return [record.value or b"" for batch in log.batches_from(0) for record in decode_records(batch.data)]


@both
def test_a_record_does_not_overtake_one_of_its_caller_that_waits_for_memory(generation: str) -> None:
    world = World(generation)
    caller = world.shop.caller()
    caller.send("t", b"first", 0)
    world.producers.advance(100)
    world.simulation.pause(1)
    for value in (LARGE, LARGE, SMALL):
        caller.send("t", value, 0)
    assert caller.is_blocked()
    other = world.shop.caller()
    other.send("t", b"of another thread", 0)
    assert not other.is_blocked(), "there is memory for it"
    world.simulation.resume(1)
    world.producers.advance(1_000)
    assert not caller.is_blocked()
    assert world.log() == [b"first", LARGE, b"of another thread", LARGE, SMALL]


@both
def test_a_caller_that_waits_for_metadata_is_not_overtaken(generation: str) -> None:
    """The large one may wait for memory when the metadata is there; the small one would not."""
    world = World(generation)
    caller = world.shop.caller()
    for value in (LARGE, LARGE, SMALL):
        caller.send("t", value, 0)
    assert caller.is_blocked()
    world.producers.advance(1_000)
    assert world.log() == [LARGE, LARGE, SMALL]
    assert not caller.is_blocked()


@both
def test_max_block_begins_when_the_call_does(generation: str) -> None:
    world = World(generation, max_block_ms=60)
    world.simulation.kill(1)
    caller = world.shop.caller()
    for _ in range(3):
        caller.send("t", SMALL, 0, callback=world.heard)
    world.producers.advance(1_000)
    assert world.told == [(60, "ProducerTimeoutError"), (120, "ProducerTimeoutError"), (180, "ProducerTimeoutError")]


def test_calls_of_transactions_block_it_too() -> None:
    world = World("4.3", enable_idempotence=True, transactional_id="me")
    producer, caller = world.shop.producer, world.shop.caller()
    caller.call(lambda: producer.init_transactions(world.producers.now_ms))
    caller.call(producer.begin_transaction)
    caller.send("t", SMALL, 0)
    caller.call(lambda: producer.commit_transaction(world.producers.now_ms))
    caller.call(producer.begin_transaction)
    assert caller.is_blocked()
    world.producers.advance(1_000)
    assert not caller.is_blocked()
    assert SMALL in world.log()
