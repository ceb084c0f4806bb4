"""The log start offset in the response of a failed append: ReplicaManager.appendToLocalLog, case by case (@ 4.0).

The errors that Kafka catches by name have -1, all others the log start offset of the partition. It is 3 here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from support.batches import flipped, keyed, sequenced
from support.requests import Produced, produce
from support.simulation import Simulation

from fakebroker.protocol.record_batch import Record, encode_batch

START = 3
BIG = encode_batch([Record(b"k", bytes(1_100_000))], base_timestamp_ms=1_800_000_000_000)


class Row(NamedTuple):
    name: str
    expected: tuple[int, int]  # error code and log start offset
    records: bytes = keyed()
    topic: str = "t"
    partition: int = 0
    acks: int = 1


ROWS = [
    Row("InvalidTopicException", (17, -1), topic="__consumer_offsets"),
    Row("UnknownTopicOrPartitionException", (3, -1), topic="nowhere"),
    Row("UnknownTopicOrPartitionException: no such partition", (3, -1), partition=9),
    Row("NotLeaderOrFollowerException", (6, -1), partition=1),
    Row("RecordTooLargeException", (10, -1), keyed(bytes(2_000_000))),
    Row("RecordBatchTooLargeException", (18, -1), BIG),
    Row("CorruptRecordException", (2, -1), flipped(keyed())),
    Row("RecordValidationException: key", (87, START), encode_batch([Record(None, b"v")], base_timestamp_ms=0)),
    Row("RecordValidationException: timestamp", (32, START), keyed(base_timestamp_ms=1_900_000_000_000)),
    Row("InvalidRecordException", (87, START), keyed(record_count=0)),
    Row("IllegalArgumentException", (-1, START), keyed(attributes=6)),
    Row("KafkaException", (-1, START), keyed(attributes=4)),
    Row("OutOfOrderSequenceException", (45, START), sequenced(1, 5, 99)),
    Row("InvalidProducerEpochException", (47, START), sequenced(1, 4, 0)),
    Row("InvalidProducerEpochException: below -1, of a producer that is new", (47, START), sequenced(2, -2, 0)),
    Row("NotEnoughReplicasException", (19, START), acks=-1),
    Row("NotEnoughReplicasException before the records are looked at", (19, START), flipped(keyed()), acks=-1),
    Row("acks before all of them", (21, -1), flipped(keyed()), acks=7),
]


@pytest.fixture
def simulation() -> Simulation:
    """Partition 0 of t is led by broker 1, starts at 3 and is below its minimum ISR."""
    simulation = Simulation(followers="frozen", config={"connections.max.idle.ms": "-1"})
    simulation.topic("__consumer_offsets")
    configs: dict[str, Any] = {"cleanup_policy": "compact", "max_message_bytes": 1_500_000, "segment_bytes": 1 << 20}
    simulation.topic("t", partitions=2, min_insync_replicas=2, **configs)
    simulation.followers("instant")
    client = simulation.connect()
    for sequence in range(START):
        client.send(produce("t", records=sequenced(1, 5, sequence)))
    partition = simulation.cluster.metadata.find_partition("t", 0)
    assert partition is not None
    partition.delete_records_before(START)
    simulation.followers("frozen")
    client.send(produce("t", records=sequenced(1, 5, START), acks=1))
    simulation.advance(60_000)
    assert partition.is_under_min_isr
    return simulation


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_log_start_offset_of_a_failed_append(simulation: Simulation, row: Row) -> None:
    client = simulation.connect()
    client.send(produce(row.topic, row.partition, records=row.records, acks=row.acks))
    ((_, frame),) = client.answers
    ((answer,),) = (topic.partition_responses for topic in Produced(frame).response.responses)
    assert (int(answer.error_code), answer.log_start_offset) == row.expected
    assert (answer.base_offset, answer.log_append_time) == (-1, None)
    assert (answer.error_message is not None) == row.name.startswith("RecordValidationException")


def test_the_error_of_one_does_not_concern_another(simulation: Simulation) -> None:
    client = simulation.connect()
    client.send(produce("t", records=keyed(), acks=1))
    ((_, frame),) = client.answers
    assert Produced(frame).partitions == {0: (0, START + 1)}
