"""The whole producer with a simulated cluster, to the millisecond. Each transfer takes 1 ms."""

from __future__ import annotations

from typing import Any

import pytest

from fakebroker.core.faults.fault import Fault
from fakebroker.producer.client.sending import Sending
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.testing.producing.simulated_producers import SimulatedProducers
from fakebroker.testing.simulation import Simulation

both = pytest.mark.parametrize("generation", ["2.0", "4.3"])
READY_MS = 12  # connected, asked what is served, metadata, and the same with the leader; then there and back


class World:
    """One producer. `told`: (milliseconds, record, offset or error) in the order of the callbacks."""

    def __init__(
        self, generation: str, brokers: int = 3, followers: str = "instant", partitions: int = 1, **settings: object
    ) -> None:
        self.simulation = Simulation(brokers, followers)
        self.simulation.topic("t", partitions, min(brokers, 3))
        self.producers = SimulatedProducers(self.simulation)
        given = {"enable.idempotence": False, "linger.ms": 0, "acks": "all"} | {
            name.replace("_", "."): value for name, value in settings.items()
        }
        self.client = self.producers.add(ProducerConfig(generation, given))
        self.told: list[tuple[int, int, int | str]] = []

    def send(self, record: int, topic: str = "t", partition: int | None = None, size: int = 10) -> Sending:
        def callback(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            what = metadata.offset if metadata is not None else type(error).__name__ + f": {error}"
            self.told.append((self.simulation.elapsed_ms, record, what))

        sending = self.client.producer.send(
            topic, bytes(size), self.simulation.now.wall_ms, self.producers.now_ms, None, partition, (), callback
        )
        self.client.settle()
        return sending

    def advance(self, ms: int) -> None:
        self.producers.advance(ms)
        self.client.producer.check_invariants()


@pytest.mark.parametrize("generation", ["2.0", "2.1", "2.4", "3.0", "3.7", "4.0", "4.4"])
def test_a_record_is_written_and_the_next_at_once(generation: str) -> None:
    world = World(generation)
    assert not world.send(1).is_done, "its topic is not known yet"
    world.advance(100)
    assert world.send(2).is_done
    world.advance(100)
    assert world.told == [(READY_MS, 1, 0), (102, 2, 1)]
    assert world.client.producer.accumulator.free.available_memory() == 33_554_432


@both
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
def test_compressed_batches_are_taken(generation: str, codec: str) -> None:
    world = World(generation, compression_type=codec)
    for record in range(3):
        world.send(record, size=500)
    world.advance(100)
    assert [what for _, _, what in world.told] == [0, 1, 2]


@both
def test_what_is_sent_together_travels_together(generation: str) -> None:
    world = World(generation)
    for record in range(5):
        world.send(record)
    world.advance(100)
    assert world.told == [(READY_MS, record, record) for record in range(5)]
    assert world.simulation.partition().leader_log.log_end_offset == 5


@pytest.mark.parametrize(
    ("generation", "text"),
    [
        ("2.0", "ProducerTimeoutError: Failed to update metadata after 70 ms."),
        ("2.1", "ProducerTimeoutError: Failed to update metadata after 70 ms."),
        ("4.3", "ProducerTimeoutError: Topic t not present in metadata after 70 ms."),
    ],
)
def test_metadata_that_never_come(generation: str, text: str) -> None:
    world = World(generation, max_block_ms=70)
    for broker_id in (1, 2, 3):
        world.simulation.kill(broker_id)
    world.advance(30)
    world.send(1)
    world.advance(69)
    assert world.told == []
    world.advance(1)
    assert world.told == [(100, 1, text)]


@pytest.mark.parametrize("generation", ["2.0", "2.1"])
def test_a_partition_that_is_not_there_is_thrown_at_once(generation: str) -> None:
    world = World(generation, max_block_ms=50)
    sending = world.send(1, partition=3)
    world.advance(5)
    assert not sending.is_done
    world.advance(1)
    assert str(sending.error) == "Invalid partition given with record: 3 is not in the range [0...1)."
    world.advance(100)
    assert world.told == [], "what is thrown is not called back"


@pytest.mark.parametrize("generation", ["2.2", "4.3"])
def test_a_partition_that_is_not_there_is_waited_for_since_2_2(generation: str) -> None:
    world = World(generation, max_block_ms=50)
    world.send(1, partition=3)
    world.advance(100)
    text = "ProducerTimeoutError: Partition 3 of topic t with partition count 1 is not present in metadata after 50 ms."
    assert world.told == [(50, 1, text)]


@both
def test_error_7_is_tried_again_and_there_are_two_copies(generation: str) -> None:
    world = World(generation, followers="frozen", retries=1, request_timeout_ms=1_000, retry_backoff_ms=100)
    world.send(1)
    world.advance(900)
    assert world.told == []
    world.advance(100)
    assert world.simulation.partition().leader_log.log_end_offset == 1
    world.advance(200)
    assert world.simulation.partition().leader_log.log_end_offset == 2, "possibly written, and written again"


@both
def test_a_paused_broker_loses_its_connection_and_all_requests(generation: str) -> None:
    world = World(generation, brokers=1, request_timeout_ms=500, retries=0, linger_ms=0)
    world.send(0)
    world.advance(100)
    world.simulation.pause(1)
    world.send(1)
    world.advance(100)
    world.send(2)
    world.advance(500)
    assert [record for _, record, _ in world.told] == [0], "no check between two polls: the last began at 200"
    world.advance(1)
    late = [(at_ms, record) for at_ms, record, _ in world.told[1:]]
    assert late == [(701, 1), (701, 2)]
    error = "BrokerError: Disconnected from node 1 due to timeout"
    if generation == "2.0":
        error = "BrokerError: The server disconnected before a response was received."
    assert [what for _, _, what in world.told[1:]] == [error] * 2


@both
def test_flush_sends_what_lingers(generation: str) -> None:
    world = World(generation, linger_ms=10_000)
    world.send(1)
    world.advance(100)
    assert world.told == []
    over: list[int] = []
    world.client.producer.flush(world.producers.now_ms, lambda: over.append(world.simulation.elapsed_ms))
    world.client.settle()
    world.advance(100)
    assert world.told == [(over[0], 1, 0)]
    assert not world.client.producer.accumulator.flush_in_progress()


@both
def test_close_sends_what_is_there_and_gives_up_what_takes_too_long(generation: str) -> None:
    world = World(generation, linger_ms=10_000)
    world.send(1)
    world.advance(100)
    world.client.producer.close(world.producers.now_ms, 1_000)
    world.client.settle()
    refused = world.send(2)
    assert (refused.error and refused.error.kafka_name) == "IllegalStateException"
    assert str(refused.error) == "Cannot perform operation after producer has been closed"
    world.advance(50)
    assert world.client.producer.is_closed
    assert [(record, what) for _, record, what in world.told] == [(1, 0)]
    assert world.client.producer.next_deadline_ms() is None
    world = World(generation, followers="frozen")
    world.send(1)
    world.advance(100)
    world.client.producer.close(world.producers.now_ms, 200)
    world.client.settle()
    world.advance(199)
    assert world.told == []
    world.advance(1)
    assert world.told == [(300, 1, "ProducerClosedError: Producer is closed forcefully.")]


@both
def test_a_record_that_fits_nowhere(generation: str) -> None:
    world = World(generation, max_request_size=1_000)
    world.send(0)
    world.advance(100)
    sending = world.send(1, size=1_000)
    assert sending.is_done
    assert str(sending.error).startswith("The message is 1086 bytes when serialized which is larger than ")
    assert [record for _, record, _ in world.told] == [0, 1]


@both
def test_memory_is_waited_for_no_longer_than_max_block(generation: str) -> None:
    world = World(
        generation, followers="frozen", buffer_memory=1_000, batch_size=800, max_block_ms=60, request_timeout_ms=30_000
    )
    world.send(0, size=700)
    world.advance(100)
    waits = world.send(1, size=700)
    world.advance(59)
    assert not waits.is_done
    world.advance(1)
    assert waits.error is not None


@both
def test_metadata_and_memory_together_are_waited_for_no_longer_than_max_block(generation: str) -> None:
    settings = {"buffer_memory": 1_000, "batch_size": 800, "max_block_ms": 500, "request_timeout_ms": 30_000}
    world = World(generation, followers="frozen", linger_ms=1_000, **settings)
    world.simulation.topic("u")
    world.send(0, size=700)
    world.advance(400)
    waits = world.send(1, topic="u", size=700)
    memory = world.client.producer.accumulator.free
    assert memory.queued() == 0, "its topic is not known yet"
    world.advance(400)
    assert memory.queued() == 1
    world.advance(99)
    assert not waits.is_done
    world.advance(1)
    assert waits.error is not None


@both
def test_a_leader_that_dies_is_followed(generation: str) -> None:
    world = World(generation, retries=50, retry_backoff_ms=100, request_timeout_ms=2_000)
    world.send(1)
    world.advance(100)
    leader = world.simulation.partition().leader_id
    world.simulation.stop(leader)
    world.send(2)
    world.advance(5_000)
    assert [(record, what) for _, record, what in world.told] == [(1, 0), (2, 1)]
    assert world.simulation.partition().leader_id != leader


@pytest.mark.parametrize(("generation", "has_hints"), [("3.0", False), ("4.3", True)])
def test_a_leader_that_an_answer_names_is_asked_at_once(generation: str, has_hints: bool) -> None:
    """KIP-951. A client without it requests metadata, and waits for its back-off."""
    longest: dict[str, Any] = {"retry_backoff_max_ms": 5_000} if has_hints else {}
    world = World(generation, retries=50, retry_backoff_ms=5_000, **longest)
    world.send(1)
    world.advance(100)
    world.simulation.move_leader(2 if world.simulation.partition().leader_id == 1 else 1)
    world.send(2)
    world.advance(4_000)
    assert [(record, what) for _, record, what in world.told] == [(1, 0), (2, 1)][: 2 if has_hints else 1]
    world.advance(10_000)
    assert [(record, what) for _, record, what in world.told] == [(1, 0), (2, 1)]


@pytest.mark.parametrize(("generation", "waits"), [("2.0", False), ("4.1", False), ("4.2", True), ("4.4", True)])
def test_a_flush_waits_for_the_pieces_of_a_batch_since_4_2(generation: str, waits: bool) -> None:
    """KAFKA-19479. Before, a flush ended although nothing was written."""
    world = World(generation, linger_ms=1_000)
    world.simulation.cluster.faults.add(Fault({"api": "Produce"}, {"error": 10}, times=1))
    for record in range(3):
        world.send(record)
    over: list[int] = []
    world.advance(100)
    world.client.producer.flush(world.producers.now_ms, lambda: over.append(len(world.told)))
    world.client.settle()
    world.advance(3_000)
    assert over == [3 if waits else 0]
    assert sorted(what for _, _, what in world.told if isinstance(what, int)) == [0, 1, 2]


@pytest.mark.parametrize("generation", ["2.4", "3.2"])
def test_a_record_without_a_key_begins_its_batch_in_another_partition(generation: str) -> None:
    """KIP-480: that batch is filled before the partition changes again, like in kafka-clients 2.8.2
    (tests/clients/test_stories_on_kafka_clients.py)."""
    world = World(generation, partitions=2, linger_ms=1_000, batch_size=400)
    world.send(0, partition=0)
    world.advance(2_000)
    sent = [world.send(record, size=150) for record in range(1, 7)]
    first = sent[0].partition
    assert [sending.partition == first for sending in sent] == [True, True, False, False, True, True]
    world.advance(2_000)
    assert {record for _, record, what in world.told if isinstance(what, int)} == set(range(7))


@both
@pytest.mark.parametrize("fails", [False, True], ids=["written", "refused"])
def test_a_callback_that_raises_keeps_nothing_from_the_others(
    generation: str, fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Later callbacks of its batch, of a flush, and of later records are called. The exception goes to the log, as in
    Kafka."""
    world = World(generation, retries=0)
    world.send(1)
    world.advance(100)
    if fails:
        world.simulation.cluster.faults.add(Fault({"api": "Produce"}, {"error": "INVALID_REQUIRED_ACKS"}, times=1))

    def breaks(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
        raise ZeroDivisionError("of the user")

    producer = world.client.producer
    producer.send("t", b"", 0, world.producers.now_ms, partition=0, callback=breaks)
    world.send(2)
    over: list[int] = []
    producer.flush(world.producers.now_ms, lambda: over.append(len(world.told)))
    world.client.settle()
    world.advance(100)
    assert [record for _, record, _ in world.told] == [1, 2]
    assert over == [2]
    assert [type(one.exc_info[1]) for one in caplog.records if one.exc_info] == [ZeroDivisionError]
    world.send(3)
    world.advance(100)
    assert world.told[-1][1:] == (3, 1 if fails else 3)


@both
def test_a_callback_that_raises_when_its_record_is_refused(generation: str, caplog: pytest.LogCaptureFixture) -> None:
    world = World(generation, max_block_ms=50)

    def breaks(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
        raise ZeroDivisionError("of the user")

    world.client.producer.send("unknown", b"", 0, world.producers.now_ms, partition=7, callback=breaks)
    world.send(2, topic="unknown", partition=7)
    world.advance(100)
    assert [record for _, record, _ in world.told] == [2]
    assert "callback on message for 'unknown'" in caplog.text
