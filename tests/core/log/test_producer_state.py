"""Idempotent producers, rule by rule: the records before, the request, and the response.

Source   ProducerAppendInfo.checkSequence, checkProducerEpoch; ProducerStateEntry.findDuplicateBatch; UnifiedLog.append
         @ 4.0.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from support.batches import TIME_MS, sequenced
from support.requests import Produced, produce
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.log.producer_entry import MAX_SEQUENCE, increment_sequence
from fakebroker.core.replication.partition import Partition

NONE, TIMED_OUT, OUT_OF_ORDER, INVALID_EPOCH = 0, 7, 45, 47
Sent = tuple[int, int, int, int]  # producer id, epoch, base sequence, records


def answer(client: SimulatedClient, *sent: int, acks: int = 1, timeout_ms: int = 500) -> tuple[int, int]:
    """Send one batch; its error code and base offset."""
    before = len(client.answers)
    client.send(produce("t", records=sequenced(*sent), acks=acks, timeout_ms=timeout_ms))
    ((_, frame),) = client.answers[before:]
    return Produced(frame).partitions[0]


def partition_of(simulation: Simulation) -> Partition:
    partition = simulation.cluster.metadata.find_partition("t", 0)
    assert partition is not None
    return partition


class Row(NamedTuple):
    name: str
    before: list[Sent]
    sent: Sent
    expected: tuple[int, int]


SIX = [(1, 0, sequence, 1) for sequence in range(6)]
ROWS = [
    Row("an unknown producer: any sequence (KIP-360)", [], (1, 0, 77, 1), (NONE, 0)),
    Row("an unknown producer: any epoch", [], (1, 9, 77, 1), (NONE, 0)),
    Row("the next sequence", [(1, 0, 0, 3)], (1, 0, 3, 2), (NONE, 3)),
    Row("a gap", [(1, 0, 0, 3)], (1, 0, 4, 1), (OUT_OF_ORDER, -1)),
    Row("a duplicate", [(1, 0, 0, 3)], (1, 0, 0, 3), (NONE, 0)),
    Row("a duplicate of the first of five", SIX[:5], (1, 0, 0, 1), (NONE, 0)),
    Row("older than the five", SIX, (1, 0, 0, 1), (OUT_OF_ORDER, -1)),
    Row("the oldest of the five after six", SIX, (1, 0, 1, 1), (NONE, 1)),
    Row("overlaps at the start", [(1, 0, 0, 3)], (1, 0, 0, 2), (OUT_OF_ORDER, -1)),
    Row("overlaps at the end", [(1, 0, 0, 3)], (1, 0, 2, 2), (OUT_OF_ORDER, -1)),
    Row("spans two batches", [(1, 0, 0, 2), (1, 0, 2, 2)], (1, 0, 0, 4), (OUT_OF_ORDER, -1)),
    Row("an older epoch", [(1, 3, 0, 1)], (1, 2, 1, 1), (INVALID_EPOCH, -1)),
    Row("an older epoch before its sequence", [(1, 3, 0, 1)], (1, 2, 99, 1), (INVALID_EPOCH, -1)),
    Row("a duplicate of an older epoch is fenced", [(1, 3, 0, 1), (1, 4, 0, 1)], (1, 3, 0, 1), (INVALID_EPOCH, -1)),
    Row("a newer epoch begins at 0", [(1, 3, 0, 1)], (1, 4, 0, 1), (NONE, 1)),
    Row("a newer epoch goes on", [(1, 3, 0, 1)], (1, 4, 1, 1), (OUT_OF_ORDER, -1)),
    Row("a newer epoch with the old sequences is no duplicate", [(1, 3, 0, 1)], (1, 5, 0, 1), (NONE, 1)),
    Row("the sequence ends at 2^31 - 1", [(1, 0, MAX_SEQUENCE - 1, 1)], (1, 0, MAX_SEQUENCE, 1), (NONE, 1)),
    Row("and goes on at 0", [(1, 0, MAX_SEQUENCE, 1)], (1, 0, 0, 1), (NONE, 1)),
    Row("within a batch", [(1, 0, MAX_SEQUENCE - 1, 4)], (1, 0, 2, 1), (NONE, 4)),
    Row("a duplicate over the end", [(1, 0, MAX_SEQUENCE - 1, 4)], (1, 0, MAX_SEQUENCE - 1, 4), (NONE, 0)),
    Row("not at 1", [(1, 0, MAX_SEQUENCE, 1)], (1, 0, 1, 1), (OUT_OF_ORDER, -1)),
    Row("another producer", [(1, 0, 0, 3)], (2, 0, 0, 3), (NONE, 3)),
    Row("producer 0 is one", [(0, 0, 0, 1)], (0, 0, 2, 1), (OUT_OF_ORDER, -1)),
    Row("an error leaves no trace", [(1, 0, 0, 1), (1, 0, 5, 1)], (1, 0, 1, 1), (NONE, 1)),
    Row("with epoch -1 no sequence is checked", [(1, -1, 7, 1)], (1, -1, 99, 1), (NONE, 1)),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_sequences(row: Row) -> None:
    simulation = Simulation()
    simulation.topic()
    client = simulation.connect()
    for sent in row.before:
        answer(client, *sent)
    end = partition_of(simulation).leader_log.log_end_offset
    assert answer(client, *row.sent) == row.expected
    appended = row.sent[3] if row.expected == (NONE, end) else 0
    assert partition_of(simulation).leader_log.log_end_offset == end + appended


def test_the_error_of_a_sequence_tells_the_log_start_and_no_message() -> None:
    simulation = Simulation()
    simulation.topic()
    client = simulation.connect()
    answer(client, 1, 0, 0, 1)
    client.send(produce("t", records=sequenced(1, 0, 5)))
    partition = Produced(client.answers[-1][1]).response.responses[0].partition_responses[0]
    assert (int(partition.error_code), partition.log_start_offset) == (OUT_OF_ORDER, 0)
    assert (partition.error_message, partition.record_errors) == (None, ())


def test_a_duplicate_still_waits_for_the_watermark() -> None:
    simulation = Simulation(followers="frozen")
    simulation.topic()
    first, second, third = simulation.connect(), simulation.connect(), simulation.connect()
    first.send(produce("t", records=sequenced(1, 0, 0, 2), timeout_ms=500))
    simulation.advance(100)
    second.send(produce("t", records=sequenced(1, 0, 0, 2), timeout_ms=300))
    third.send(produce("t", records=sequenced(1, 0, 0, 2), timeout_ms=900))
    simulation.advance(400)
    assert [Produced(frame).partitions[0] for _, frame in first.answers + second.answers] == [(TIMED_OUT, 0)] * 2
    assert [at_ms for at_ms, _ in first.answers + second.answers] == [500, 400]
    assert third.answers == []
    simulation.followers("instant")
    assert [(at_ms, Produced(frame).partitions[0]) for at_ms, frame in third.answers] == [(500, (NONE, 0))]
    assert partition_of(simulation).leader_log.log_end_offset == 2


def test_a_duplicate_after_the_watermark_is_answered_at_once() -> None:
    simulation = Simulation()
    simulation.topic()
    client = simulation.connect()
    client.send(*(produce("t", records=sequenced(1, 0, 0, 2)) for _ in range(3)))
    assert [(at_ms, Produced(frame).partitions[0]) for at_ms, frame in client.answers] == [(0, (NONE, 0))] * 3


@pytest.mark.parametrize("timestamp_type", ["CreateTime", "LogAppendTime"])
def test_a_duplicate_tells_the_timestamp_of_the_batch_even_with_create_time(timestamp_type: str) -> None:
    simulation = Simulation()
    simulation.topic(message_timestamp_type=timestamp_type)
    client = simulation.connect()
    for _ in range(2):
        client.send(produce("t", records=sequenced(1, 0, 0, timestamp_ms=TIME_MS - 7)))
        simulation.advance(1_000)
    times = [
        Produced(frame).response.responses[0].partition_responses[0].log_append_time for _, frame in client.answers
    ]
    in_ms = [None if time is None else round(time.timestamp() * 1000) for time in times]
    assert in_ms == ([None, TIME_MS - 7] if timestamp_type == "CreateTime" else [TIME_MS, TIME_MS])


def test_the_state_is_on_each_replica() -> None:
    simulation = Simulation()
    simulation.topic()
    client = simulation.connect()
    answer(client, 1, 0, 0, 2)
    answer(client, 2, 5, 9, 1)
    for replica in partition_of(simulation).replicas.values():
        state = replica.log.producer_state
        assert state.producer_ids == [1, 2]
        entry = state.last_entry(2)
        assert entry is not None
        assert (entry.producer_epoch, entry.last_sequence) == (5, 9)


def test_a_new_leader_goes_on_where_the_old_one_stopped() -> None:
    simulation = Simulation()
    simulation.topic()
    old = simulation.connect(broker_id=1)
    for sequence in range(3):
        answer(old, 1, 4, sequence, 1)
    simulation.cluster.admin.move_leader("t", 0, 2, simulation.now)
    simulation.settle()
    new = simulation.connect(broker_id=2)
    assert answer(new, 1, 4, 1, 1) == (NONE, 1)
    assert answer(new, 1, 4, 4, 1) == (OUT_OF_ORDER, -1)
    assert answer(new, 1, 3, 3, 1) == (INVALID_EPOCH, -1)
    assert answer(new, 1, 4, 3, 1) == (NONE, 3)


def test_what_the_old_leader_alone_had_is_not_known_to_the_new_one() -> None:
    simulation = Simulation()
    simulation.topic()
    old = simulation.connect(broker_id=1)
    answer(old, 1, 0, 0, 1)
    simulation.followers("frozen")
    assert answer(old, 1, 0, 1, 1) == (NONE, 1)
    simulation.cluster.admin.move_leader("t", 0, 2, simulation.now)
    simulation.followers("instant")
    new = simulation.connect(broker_id=2)
    # The client sends it again, and it is no duplicate.
    assert answer(new, 1, 0, 1, 1) == (NONE, 1)
    simulation.cluster.admin.move_leader("t", 0, 1, simulation.now)
    simulation.settle()
    assert answer(simulation.connect(broker_id=1), 1, 0, 1, 1) == (NONE, 1)
    assert partition_of(simulation).leader_log.log_end_offset == 2


def test_a_producer_is_forgotten_some_time_after_its_last_timestamp() -> None:
    assert BrokerConfig().producer_id_expiration_ms == 86_400_000
    expiration_ms, interval_ms = 3_600_000, 600_000
    simulation = Simulation(
        config={"producer.id.expiration.ms": str(expiration_ms), "connections.max.idle.ms": str(2 * expiration_ms)}
    )
    simulation.topic()
    client = simulation.connect()
    answer(client, 1, 0, 0, 1)
    simulation.advance(expiration_ms - interval_ms)
    assert partition_of(simulation).leader_log.producer_state.producer_ids == [1]
    assert answer(client, 1, 0, 5, 1) == (OUT_OF_ORDER, -1)
    simulation.advance(interval_ms - 1)
    assert partition_of(simulation).leader_log.producer_state.producer_ids == [1]
    simulation.advance(1)
    assert partition_of(simulation).leader_log.producer_state.producer_ids == []
    assert answer(client, 1, 0, 5, 1) == (NONE, 1)


def test_it_is_the_timestamp_of_the_records_that_counts_and_not_the_time_of_the_append() -> None:
    simulation = Simulation(config={"producer.id.expiration.ms": "1000"})
    simulation.topic()
    client = simulation.connect()
    client.send(produce("t", records=sequenced(1, 0, 0, timestamp_ms=TIME_MS - 1_000_000)))
    client.send(produce("t", records=sequenced(2, 0, 0, timestamp_ms=TIME_MS + 3_600_000)))
    simulation.advance(600_000)
    assert partition_of(simulation).leader_log.producer_state.producer_ids == [2]


@pytest.mark.parametrize(
    ("sequence", "increment", "expected"),
    [(0, 0, 0), (5, 3, 8), (MAX_SEQUENCE, 0, MAX_SEQUENCE), (MAX_SEQUENCE, 1, 0), (MAX_SEQUENCE - 1, 4, 2)],
)
def test_sequence_arithmetic(sequence: int, increment: int, expected: int) -> None:
    assert increment_sequence(sequence, increment) == expected
