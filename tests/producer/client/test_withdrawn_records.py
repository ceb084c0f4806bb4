"""Records of a cancelled caller: they are sent nowhere, and their memory goes to the next caller."""

from __future__ import annotations

import pytest

from fakebroker.producer.client.sending import Sending
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.journal.events import RecordBlocked, RecordRefused, RecordSent, RecordUnblocked
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.protocol.record_batch import decode_records
from fakebroker.testing.producing.simulated_producers import SimulatedProducers
from fakebroker.testing.simulation import Simulation

both = pytest.mark.parametrize("generation", ["2.0", "4.3"])
MEMORY = {"buffer.memory": 1_000, "batch.size": 800, "linger.ms": 0, "acks": "all", "enable.idempotence": False}


class World:
    """A producer with memory for one batch. `told`: the values that were called back, with or without an error."""

    def __init__(self, generation: str) -> None:
        self.simulation = Simulation(3)
        self.simulation.topic("t", 1, 3)
        self.producers = SimulatedProducers(self.simulation)
        config = ProducerConfig(generation, MEMORY)
        self.journal = self.producers.new_journal(config, "shop")
        self.client = self.producers.add(config, journal=self.journal)
        self.told: list[bytes] = []

    def send(self, value: bytes, partition: int | None = None, topic: str = "t") -> Sending:
        def callback(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            self.told.append(value)

        sending = self.client.producer.send(
            topic, value, 0, self.producers.now_ms, partition=partition, callback=callback
        )
        self.client.settle()
        return sending

    def withdraw(self, sending: Sending) -> None:
        self.client.producer.withdraw(sending, self.producers.now_ms)
        self.client.settle()

    def advance(self, ms: int) -> None:
        self.producers.advance(ms)
        self.client.producer.check_invariants()

    def log(self) -> list[bytes]:
        log = self.simulation.partition().leader_log
        records = (record for batch in log.batches_from(0) for record in decode_records(batch.data))
        return [record.value or b"" for record in records]


@both
@pytest.mark.parametrize("partition", [0, None])
def test_a_record_that_waits_for_memory_is_withdrawn(generation: str, partition: int | None) -> None:
    world = World(generation)
    world.send(b"first")
    world.advance(100)
    world.simulation.followers("frozen")
    values = [letter * 700 for letter in (b"a", b"b", b"c")]
    holds, waits, follows = (world.send(value, partition) for value in values)
    assert [sending.is_done for sending in (holds, waits, follows)] == [True, False, False]
    world.withdraw(waits)
    assert "taken back" in str(waits.error)
    assert [sending.is_done for sending in (holds, waits, follows)] == [True, True, False], "no memory for it yet"
    world.client.producer.check_invariants()
    assert world.client.producer.accumulator.free.queued() == 1
    world.simulation.followers("instant")
    world.advance(1_000)
    assert world.log() == [b"first", values[0], values[2]]
    assert world.told == [b"first", values[0], values[2]], "what is taken back is thrown, not called back"
    assert world.client.producer.accumulator.free.available_memory() == MEMORY["buffer.memory"]
    kinds = [type(event) for event in world.journal if getattr(event, "record", 0) == 3]
    assert kinds == [RecordSent, RecordBlocked, RecordUnblocked, RecordRefused]


@both
def test_what_was_taken_back_last_leaves_nothing_to_wait_for(generation: str) -> None:
    world = World(generation)
    world.send(b"first")
    world.advance(100)
    world.simulation.followers("frozen")
    world.send(b"a" * 700)
    waits = world.send(b"b" * 700)
    deadline_ms = world.client.producer.accumulator.next_deadline_ms()
    assert deadline_ms is not None
    world.withdraw(waits)
    assert world.client.producer.accumulator.next_deadline_ms() is None
    world.withdraw(waits)  # again is no mistake


@both
def test_a_record_that_waits_for_metadata_is_withdrawn_at_once(generation: str) -> None:
    world = World(generation)
    waits = world.send(b"a")
    world.withdraw(waits)
    assert waits.is_done
    assert "taken back" in str(waits.error)
    world.send(b"b")
    world.advance(100)
    assert (world.told, world.log()) == ([b"b"], [b"b"])


@both
def test_what_is_in_a_batch_is_not_taken_back(generation: str) -> None:
    world = World(generation)
    sending = world.send(b"a")
    world.advance(100)
    world.withdraw(sending)
    world.advance(100)
    assert (world.told, world.log(), sending.error) == ([b"a"], [b"a"], None)
