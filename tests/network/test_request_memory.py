"""queued.max.request.bytes limits the bytes that are read ahead; at most one request exceeds it."""

from __future__ import annotations

import pytest
from support.batches import batch_of
from support.requests import Produced, api_versions, batch, produce
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.errors import ConfigError
from fakebroker.network.connection import Connection
from fakebroker.network.ready_queue import ReadyQueue
from fakebroker.network.request_memory import RequestMemory
from fakebroker.protocol.compression.codec import Codec
from fakebroker.protocol.record_batch import Record

MAX_BYTES = 10_000
LARGE = produce("t", acks=1, records=batch(bytes(6_000)))


def simulated(followers: str = "instant") -> Simulation:
    config = {"queued.max.request.bytes": str(MAX_BYTES), "socket.request.max.bytes": str(MAX_BYTES)}
    simulation = Simulation(followers=followers, config=config)
    simulation.topic()
    return simulation


def paused(client: SimulatedClient) -> bool:
    return client.reading_paused


def answered(client: SimulatedClient) -> int:
    return len(client.answers)


def test_a_connection_without_memory_for_its_request_is_not_read() -> None:
    simulation = simulated()
    first, second, third = (simulation.connect() for _ in range(3))
    first.send(LARGE[:100])
    second.send(LARGE[:100])
    assert not paused(first)
    assert not paused(second)  # there was some left when it came
    third.send(api_versions())
    assert paused(third)
    assert answered(third) == 0
    first.send(LARGE[100:])
    assert answered(first) == 1
    assert answered(third) == 1  # handled as soon as there was some again
    assert not paused(third)


def test_a_disconnected_client_gives_its_memory_back() -> None:
    simulation = simulated()
    first, second, third = (simulation.connect() for _ in range(3))
    for client in (first, second):
        client.send(LARGE[:100])
    third.send(LARGE[:100])
    assert paused(third)
    first.disconnect()
    assert not paused(third)
    third.send(LARGE[100:])
    assert answered(third) == 1


def test_a_client_that_waits_for_memory_may_disconnect() -> None:
    simulation = simulated()
    first, second, third = (simulation.connect() for _ in range(3))
    for client in (first, second, third):
        client.send(LARGE[:100])
    third.disconnect()
    first.send(LARGE[100:])
    second.send(LARGE[100:])
    assert answered(first) == answered(second) == 1


def test_a_request_that_is_parked_takes_none() -> None:
    simulation = simulated("frozen")
    parked = [simulation.connect() for _ in range(5)]
    for client in parked:
        client.send(produce("t", records=batch(bytes(6_000)), timeout_ms=100))
    quick = simulation.connect()
    quick.send(api_versions())
    assert answered(quick) == 1
    simulation.advance(100)
    assert [Produced(client.answers[0][1]).partitions[0][0] for client in parked] == [7] * 5


def test_one_that_is_worked_on_in_slices_has_it_to_the_end() -> None:
    simulation = simulated()
    slow, other = simulation.connect(), simulation.connect()
    records = batch_of([Record(None, bytes(10_000))] * 600, Codec.ZSTD)
    assert len(records) < MAX_BYTES
    large = produce("t", acks=1, records=records)
    cluster = simulation.cluster
    cluster.receive(slow.connection, large, simulation.now)
    assert slow.connection.work is not None
    assert slow.connection.memory_bytes == len(large) - 4
    cluster.connection_lost(slow.connection, simulation.now)
    assert slow.connection.memory_bytes == len(large) - 4
    simulation.settle()
    assert slow.connection.memory_bytes == 0
    other.send(LARGE)
    assert answered(other) == 1


def test_a_request_that_leaves_no_memory_behind_wakes_no_connection() -> None:
    """One request exceeds the limit, so another one releases less than is owed."""
    ready = ReadyQueue()
    memory = RequestMemory(100, ready)
    small, large, starved = connections = [Connection(1, "peer", "", 1_000, number) for number in range(3)]
    for connection, size in zip(connections, (60, 200, 10), strict=True):
        connection.decoder.feed(size.to_bytes(4, "big"))
    assert [memory.take(connection) for connection in connections] == [True, True, False]
    memory.give_back(small)
    assert ready.pop() is None
    memory.give_back(large)
    assert ready.pop() is starved
    assert memory.take(starved)


def test_each_broker_has_its_own() -> None:
    simulation = simulated()
    for _ in range(2):
        simulation.connect(1).send(LARGE[:100])
    elsewhere = simulation.connect(2)
    elsewhere.send(api_versions())
    assert answered(elsewhere) == 1


def test_without_a_limit_no_request_waits() -> None:
    simulation = Simulation()
    simulation.topic()
    clients = [simulation.connect() for _ in range(50)]
    for client in clients:
        client.send(LARGE[:100])
    for client in clients:
        client.send(LARGE[100:])
    assert [answered(client) for client in clients] == [1] * 50


def test_it_has_room_for_the_largest_request() -> None:
    with pytest.raises(ConfigError, match=r"queued\.max\.request\.bytes must be larger or equal to socket\.request"):
        BrokerConfig().with_text({"queued.max.request.bytes": "1000"})
    BrokerConfig().with_text({"queued.max.request.bytes": "0"})
