"""Records that a coordinator builds, compared with the general way of an append (core/transactions/own_records.py)."""

from __future__ import annotations

import pytest

from fakebroker.core.replication.delayed_produce import ProducePartitionStatus
from fakebroker.core.transactions.own_records import write_own
from fakebroker.protocol.produce_reader import PartitionProduceData
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.testing.simulation import Simulation

TOO_LARGE, NOT_LEADER = 10, 6


def both(simulation: Simulation, size: int, broker: int = 1) -> list[tuple[int, int, list[object]]]:
    """Return error, offset and log afterwards, of the short and of the general way."""
    results: list[tuple[int, int, list[object]]] = []
    for topic in ("own", "general"):
        partition = simulation.partition(topic)
        replicas = simulation.cluster.brokers[broker].replicas
        answers: list[ProducePartitionStatus] = []
        now = simulation.now
        records = [Record(b"k", bytes(size)), Record(b"k", None)]
        data = encode_batch(records, base_timestamp_ms=now.wall_ms)
        for _ in range(2):
            if topic == "own":
                write_own(replicas, 100, partition, data, 2, answers.extend, now)
            else:
                partitions = {partition: PartitionProduceData(0, data)}
                replicas.append_records(100, -1, True, partitions, answers.extend, now)
                replicas.try_complete_actions(now)
        log = partition.leader_log
        stored: list[object] = [
            (batch.base_offset, batch.last_offset, batch.data, batch.timestamp_ms) for batch in log.batches
        ]
        response = answers[-1].response
        results.append((int(response.error_code), response.base_offset, stored))
    return results


@pytest.mark.parametrize(
    ("configs", "size", "expected"),
    [
        ({}, 10, 0),
        ({"max_message_bytes": 100}, 200, TOO_LARGE),
        ({"message_timestamp_type": "LogAppendTime"}, 10, 0),
        ({"compression_type": "gzip"}, 500, 0),
    ],
)
def test_it_is_the_same(configs: dict[str, object], size: int, expected: int) -> None:
    simulation = Simulation(brokers=1)
    for topic in ("own", "general"):
        simulation.topic(topic, 1, 1, **configs)
    own, general = both(simulation, size)
    assert own == general
    assert own[0] == expected


def test_another_broker_leads() -> None:
    simulation = Simulation(brokers=3)
    simulation.topic("own", 1, 3)
    simulation.topic("general", 1, 3)
    leaders = {simulation.partition(topic).leader_id for topic in ("own", "general")}
    own, general = both(simulation, 10, broker=({1, 2, 3} - leaders).pop())
    assert own == general
    assert own[0] == NOT_LEADER
