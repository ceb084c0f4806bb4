"""A parked request keeps none of its records alive: only the log has them."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from support.batches import batch_of
from support.requests import fetch, produce
from support.simulation import Simulation

from fakebroker.core.log.log import Log
from fakebroker.protocol.compression import Codec
from fakebroker.protocol.record_batch import Record

# Compiled, what cannot be part of a cycle does not tell the collector what it refers to.
pytestmark = pytest.mark.interpreted

PAYLOAD_BYTES = 100_000


def reachable(*roots: object) -> Iterator[object]:
    """Return all objects that the roots keep alive, except for classes and modules."""
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, type) or type(thing).__name__ == "module":
            continue
        seen.add(id(thing))
        yield thing
        referents = gc.get_referents(thing)
        # A function leads to its module's globals, and so to everything.
        waiting += [item for item in referents if not (callable(thing) and isinstance(item, dict))]


def large_buffers(*roots: object) -> list[object]:
    return [
        thing
        for thing in reachable(*roots)
        if isinstance(thing, bytes | bytearray | memoryview) and len(thing) >= PAYLOAD_BYTES // 2
    ]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("version", [3, 9])
def test_the_only_copy_is_in_the_log(codec: Codec, version: int) -> None:
    simulation = Simulation(followers="frozen")
    simulation.topic()
    clients = [simulation.connect() for _ in range(3)]
    # What does not compress, so that the compressed batch is large too.
    noise = bytes((index * index * 31 + index // 7) * 0x9E3779B1 >> 13 & 0xFF for index in range(PAYLOAD_BYTES))
    for client in clients:
        client.send(produce("t", records=batch_of([Record(b"k", noise)], codec), timeout_ms=60_000, version=version))
    manager = simulation.cluster.brokers[1].replicas
    assert manager.produce_purgatory.num_delayed() == 3
    partition = simulation.cluster.metadata.find_partition("t", 0)
    assert partition is not None
    buffers = large_buffers(simulation)
    logged = [batch.records for batch in partition.leader_log.batches]
    assert sorted(map(id, buffers)) == sorted(map(id, logged))

    # Drop the log's references, and no object is left.
    for replica in partition.replicas.values():
        replica.log = Log()
        replica.log_end_offset = 0
    del logged, buffers, replica
    assert large_buffers(simulation) == []
    assert manager.produce_purgatory.num_delayed() == 3


def test_the_search_finds_what_is_held() -> None:
    """A second request behind the first is in the connection's buffer, and is found there."""
    simulation = Simulation(followers="frozen")
    simulation.topic()
    client = simulation.connect()
    waiting = produce("t", records=batch_of([Record(b"k", bytes(PAYLOAD_BYTES))]))
    client.send(fetch("t", max_wait_ms=1_000), waiting)
    assert len(large_buffers(simulation)) == 1
    simulation.advance(1_000)
    simulation.advance(500)
    assert len(client.answers) == 2
    assert len(large_buffers(simulation)) == 1  # the log's
