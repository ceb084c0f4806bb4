"""DescribeProducers (apis/partitions/describe_producers.py)."""

from __future__ import annotations

from support.asking import ask
from support.requests import batch, produce
from support.simulation import Simulation

DESCRIBE_PRODUCERS = 61


def test_producers_are_told_until_they_are_forgotten() -> None:
    simulation = Simulation(brokers=1, config={"producer.id.expiration.ms": "1000"})
    simulation.topic("t", replicas=1)
    client = simulation.connect()
    written_ms = simulation.now.wall_ms
    records = batch(b"a", b"b", timestamp_ms=written_ms, producer_id=7, producer_epoch=3, base_sequence=5)
    client.send(produce("t", records=records))

    def told() -> list[tuple[int, ...]]:
        answer = ask(simulation.connect(), DESCRIBE_PRODUCERS, 0, topics=[{"name": "t", "partition_indexes": [0]}])
        [partition] = answer.topics[0].partitions
        return [
            (
                producer.producer_id,
                producer.producer_epoch,
                producer.last_sequence,
                producer.last_timestamp,
                producer.coordinator_epoch,
                producer.current_txn_start_offset,
            )
            for producer in partition.active_producers
        ]

    assert told() == [(7, 3, 6, written_ms, -1, -1)]
    simulation.advance(700_000)
    assert told() == []
