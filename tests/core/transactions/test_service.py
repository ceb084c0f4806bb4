"""Requests of other brokers that are in progress when a broker stops (core/transactions/service.py)."""

from __future__ import annotations

import pytest
from support.simulation import Simulation
from support.transactions import init, with_coordinator

from fakebroker.core.controller.partition_creation import NewPartitions
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.java_hash import java_hash
from fakebroker.protocol.record_batch import decode_records
from fakebroker.protocol.slices import finish
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.testing.transactions.frames import transaction_version
from fakebroker.testing.transactions.producer import TransactionalProducer
from fakebroker.testing.transactions.world import STATE, TransactionWorld


@pytest.fixture(params=[1, 2])
def world(request: pytest.FixtureRequest) -> TransactionWorld:
    return TransactionWorld(brokers=3, partitions=1, version=request.param)


def writing(world: TransactionWorld) -> TransactionalProducer:
    """Return a producer after its writes; broker 1 is the coordinator, broker 2 leads the topic."""
    world.move("t", 0, 1)
    producer = world.producer("tx", pace_ms=10)
    world.advance(200)
    for partition in (0, 1):
        world.move(STATE, partition, 0)
    producer.transact({("t", 0): 1}, commits=True)
    while producer.transaction is None or producer.transaction.left:
        world.advance(1)
    return producer


def test_a_marker_that_waits_where_a_broker_stops_is_sent_again(world: TransactionWorld) -> None:
    producer = writing(world)
    world.followers("frozen", "t")
    world.advance(50)
    assert producer.committed == 1
    partition = world.simulation.partition("t", 0)
    assert (partition.leader_log.last_stable_offset, partition.leader_log.log_end_offset) == (0, 2)
    world.stop(2)
    world.followers("instant", "t")
    world.advance(100)
    assert partition.leader_log.last_stable_offset == partition.leader_log.log_end_offset == 2


@pytest.mark.parametrize(
    ("ends", "told"),
    [("stop", ErrorCode.not_coordinator), ("kill", ErrorCode.network_exception)],
)
def test_a_question_that_waits_where_the_coordinator_ends_is_answered(
    world: TransactionWorld, ends: str, told: ErrorCode
) -> None:
    producer = writing(world)
    world.followers("frozen", STATE)
    answers: list[dict[TopicPartition, ErrorCode]] = []
    brokers = world.simulation.cluster.brokers
    current = brokers[1].transactions.states.find("tx")
    assert current is not None
    partition = TopicPartition("in", 0)
    brokers[2].transactions.ask_coordinator(
        "tx",
        ProducerIdAndEpoch(current.transaction.now.producer_id, current.transaction.now.producer_epoch),
        frozenset({partition}),
        True,
        lambda errors: answers.append(dict(errors)),
    )
    assert answers == []
    if ends == "stop":
        world.stop(1)
    else:
        world.kill(1)
    assert answers == [{partition: told}]
    assert producer.is_alive


@pytest.mark.parametrize(("level", "version"), [(0, 0), (1, 1), (2, 1)])
def test_the_feature_transaction_version_decides_the_version_of_records_in_the_log(level: int, version: int) -> None:
    """TransactionVersion.transactionLogValueVersion: older brokers cannot read version 1."""
    simulation = with_coordinator()
    client = simulation.connect()
    client.send(transaction_version(level))
    init(client)
    [batch] = simulation.partition(STATE).leader_log.batches
    [record] = decode_records(batch.data)
    assert record.value is not None
    assert int.from_bytes(record.value[:2], "big") == version


def test_a_topic_that_gets_more_partitions_is_hashed_anew() -> None:
    simulation = Simulation(brokers=1)
    simulation.topic(STATE, 1, 1)
    simulation.settle()
    states = simulation.cluster.brokers[1].transactions.states
    ids = [f"tx-{number}" for number in range(50)]
    assert {states.partition_for(transactional_id) for transactional_id in ids} == {0}
    changes = [NewPartitions(STATE, 7, None)]
    assert finish(simulation.cluster.controller.create_partitions(changes, lambda: simulation.now)) == [None]
    assert [states.partition_for(transactional_id) for transactional_id in ids] == [
        abs(java_hash(transactional_id)) % 7 for transactional_id in ids
    ]
