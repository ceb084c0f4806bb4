"""The cost of an append while a fetch is parked: the same as without it, however long the log is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from support.batches import keyed
from support.messages import decode_response
from support.requests import fetch, produce
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.log.log import Log, LoggedBatch
from fakebroker.core.replication import delayed_fetch
from fakebroker.core.replication.reads import readable_bytes
from fakebroker.protocol.messages import request_frame

APPENDS = 300


@pytest.mark.interpreted
@pytest.mark.parametrize("readers", [0, 3])
def test_an_append_does_not_look_at_all_that_a_parked_fetch_could_read(
    readers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = 0
    walk = Log.batches_from

    def counted(log: Log, offset: int) -> Iterator[LoggedBatch]:
        nonlocal looked_at
        for batch in walk(log, offset):
            looked_at += 1
            yield batch

    monkeypatch.setattr(Log, "batches_from", counted)
    simulation = Simulation()
    simulation.topic()
    waiting = [simulation.connect() for _ in range(readers)]
    for reader in waiting:
        reader.send(fetch("t", min_bytes=1 << 19, max_wait_ms=60_000))
    writer = simulation.connect()
    for _ in range(APPENDS):
        writer.send(produce("t", records=keyed(), acks=1))
    assert len(writer.answers) == APPENDS
    assert [reader.answers for reader in waiting] == [[]] * readers
    # Two followers copy each batch.
    assert looked_at <= 4 * APPENDS


MANY = 200


def fetch_many(min_bytes: int) -> bytes:
    partitions = [{"partition": index, "fetch_offset": 0, "partition_max_bytes": 1 << 20} for index in range(MANY)]
    values = {
        "max_wait": timedelta(milliseconds=60_000),
        "min_bytes": min_bytes,
        "max_bytes": 1 << 20,
        "topics": [{"topic": "t", "partitions": partitions}],
    }
    return request_frame(1, 10, values, 1, "reader")


def parked(followers: str = "instant") -> tuple[Simulation, SimulatedClient, SimulatedClient]:
    """Return a cluster, a client with a parked fetch of many partitions, and a producing client. The fetch needs two
    batches."""
    simulation = Simulation(followers=followers)
    simulation.topic(partitions=MANY)
    partitions = simulation.cluster.metadata.partitions()
    for partition in partitions:
        if partition.leader_id != 1:
            simulation.cluster.admin.move_leader("t", partition.topic_partition.partition, 1, simulation.now)
    simulation.settle()
    reader, writer = simulation.connect(1), simulation.connect(1)
    reader.send(fetch_many(2 * len(keyed())))
    assert reader.answers == []
    return simulation, reader, writer


@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, MANY - 1), (150, 3), (MANY - 1, MANY - 1)])
def test_appends_to_any_two_of_many_partitions_complete_the_fetch(first: int, second: int) -> None:
    simulation, reader, writer = parked()
    writer.send(produce("t", first, records=keyed(), acks=1))
    assert reader.answers == []
    writer.send(produce("t", second, records=keyed(), acks=1))
    ((_, frame),) = reader.answers
    partitions = decode_response(1, 10, frame)[1].responses[0].partitions
    assert {p.partition_index for p in partitions if p.records} == {first, second}
    assert simulation.warnings == []


def test_a_moved_leader_of_one_of_many_partitions_completes_the_fetch() -> None:
    simulation, reader, _ = parked()
    simulation.cluster.admin.move_leader("t", 177, 2, simulation.now)
    simulation.settle()
    ((_, frame),) = reader.answers
    codes = [int(p.error_code) for p in decode_response(1, 10, frame)[1].responses[0].partitions]
    assert (codes[177], codes.count(0)) == (6, MANY - 1)


@pytest.mark.interpreted
def test_an_append_does_not_check_all_partitions_of_a_parked_fetch(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0

    def counted(*arguments: Any) -> int:
        nonlocal looked_at
        looked_at += 1
        return readable_bytes(*arguments)

    _, reader, writer = parked("frozen")
    monkeypatch.setattr(delayed_fetch, "readable_bytes", counted)
    for _ in range(10):
        writer.send(produce("t", 5, records=keyed(), acks=1))
    assert reader.answers == []
    assert looked_at <= 10 * 2 * 65
