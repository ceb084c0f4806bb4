"""Brokers that stop and start: leaders, ISRs, lost records, and requests without a response."""

from __future__ import annotations

import pytest
from support.answers import NONE, NOT_ENOUGH, NOT_LEADER, TIMED_OUT, answers
from support.messages import decode_response
from support.requests import batch, metadata, produce
from support.simulation import Simulation

from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.replication.partition import NO_LEADER
from fakebroker.core.security.identity import PLAINTEXT
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import decode_records, read_batch_header

LEADER_NOT_AVAILABLE = 5


def values(simulation: Simulation, broker_id: int) -> list[bytes | None]:
    """Return the values of the records of a replica."""
    return [
        record.value
        for logged in simulation.partition().replicas[broker_id].log.batches
        for record in decode_records(logged.data)
    ]


def send(simulation: Simulation, *records: bytes, broker: int, acks: int = 1) -> list[tuple[int, int, int]]:
    client = simulation.connect(broker)
    client.send(*(produce("t", acks=acks, timeout_ms=100, records=batch(value)) for value in records))
    return answers(client)


def told(simulation: Simulation, broker: int, version: int = 12) -> tuple[list[int], int, dict[str, object]]:
    """Return (brokers, controller, the partition) of the Metadata response."""
    client = simulation.connect(broker)
    client.send(metadata(["t"], version))
    _, answer = decode_response(3, version, client.answers[0][1])
    (topic,) = answer.topics
    (partition,) = topic.partitions
    fields = ("error_code", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "offline_replicas")
    return (
        [b.node_id for b in answer.brokers],
        answer.controller_id,
        {name: getattr(partition, name) for name in fields},
    )


def test_a_stopped_leader_is_followed_by_the_next_in_sync() -> None:
    simulation = Simulation()
    simulation.topic()
    send(simulation, b"a", b"b", broker=1, acks=-1)
    simulation.stop(1)
    assert told(simulation, 2) == (
        [2, 3],
        2,
        {
            "error_code": 0,
            "leader_id": 2,
            "leader_epoch": 1,
            "replica_nodes": (1, 2, 3),
            "isr_nodes": (2, 3),
            "offline_replicas": (1,),
        },
    )
    assert send(simulation, b"c", broker=2, acks=-1) == [(0, NONE, 2)]
    assert values(simulation, 2) == values(simulation, 3) == [b"a", b"b", b"c"]
    assert values(simulation, 1) == [b"a", b"b"]


@pytest.mark.parametrize(
    ("stopped", "told_in_v0"),
    [
        ((), (0, 1, (1, 2, 3), (1, 2, 3))),
        ((3,), (9, 1, (1, 2), (1, 2))),
        ((2, 1), (9, 3, (3,), (3,))),
    ],
)
def test_the_first_version_of_metadata_leaves_out_stopped_brokers(stopped: tuple[int, ...], told_in_v0: object) -> None:
    simulation = Simulation()
    simulation.topic()
    for broker in stopped:
        simulation.stop(broker)
    client = simulation.connect(3 if 3 not in stopped else 1)
    client.send(metadata(["t"], 0))
    _, answer = decode_response(3, 0, client.answers[0][1])
    (partition,) = answer.topics[0].partitions
    assert (
        int(partition.error_code),
        partition.leader_id,
        partition.replica_nodes,
        partition.isr_nodes,
    ) == told_in_v0


def test_a_stopped_follower_leaves_the_isr_without_a_new_epoch_and_frees_the_watermark() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.followers("frozen", broker=3)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=5_000))
    simulation.advance(1_234)
    simulation.stop(3)
    assert answers(client) == [(1_234, NONE, 0)]
    partition = simulation.partition()
    assert (partition.leader_id, partition.leader_epoch, partition.isr) == (1, 0, {1, 2})


def test_what_is_parked_on_a_broker_that_stops_is_answered_first() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.followers("frozen")
    client = simulation.connect()
    client.send(produce("t", timeout_ms=500), produce("t", timeout_ms=500))
    simulation.stop(1)
    assert answers(client) == [(0, NOT_LEADER, 0), (0, NOT_LEADER, -1)]
    assert client.closed == "broker 1 has stopped"
    assert not simulation.cluster.has_deadlines


def test_what_is_parked_on_a_killed_broker_is_never_answered() -> None:
    simulation = Simulation(config={"broker.session.timeout.ms": "0"})
    simulation.topic()
    simulation.followers("frozen")
    client = simulation.connect()
    client.send(produce("t", timeout_ms=500))
    pending = simulation.cluster.has_deadlines
    simulation.kill(1)
    simulation.advance(0)
    assert client.closed == "broker 1 was killed"
    assert (pending, simulation.cluster.has_deadlines) == (True, False)
    simulation.advance(60_000)
    simulation.start(1)
    simulation.advance(60_000)
    assert client.answers == []


def test_a_connection_that_comes_too_late_is_closed() -> None:
    simulation = Simulation()
    simulation.stop(2)
    client = simulation.connect(2)
    simulation.settle()
    assert client.closed == "broker 2 has stopped"


def test_a_waiting_connection_is_closed_when_the_broker_stops() -> None:
    simulation = Simulation(config={"max.connections": "1"})
    clients = [simulation.connect(2) for _ in range(3)]
    elsewhere = simulation.connect(1)
    simulation.stop(2)
    assert [client.closed for client in clients] == ["broker 2 has stopped"] * 3
    assert elsewhere.closed is None
    simulation.start(2)
    client = simulation.connect(2)
    client.send(metadata(None))
    assert len(client.answers) == 1


def test_an_old_leader_drops_what_only_it_had_and_follows() -> None:
    simulation = Simulation()
    simulation.topic()
    send(simulation, b"a", broker=1, acks=-1)
    simulation.followers("frozen")
    send(simulation, b"lost 1", b"lost 2", broker=1)  # acks=1: the leader alone has them
    simulation.stop(1)
    simulation.followers("instant")
    send(simulation, b"b", broker=2, acks=-1)
    assert values(simulation, 1) == [b"a", b"lost 1", b"lost 2"]
    simulation.start(1)
    assert values(simulation, 1) == values(simulation, 2) == [b"a", b"b"]
    partition = simulation.partition()
    assert (partition.leader_id, partition.isr) == (2, {1, 2, 3})
    assert [read_batch_header(b.data).partition_leader_epoch for b in partition.leader_log.batches] == [0, 1]


def test_a_restarted_broker_follows_by_its_behaviour() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.followers("lagging:250", broker=3)
    simulation.stop(3)
    send(simulation, b"a", broker=1, acks=-1)
    simulation.start(3)
    assert simulation.partition().isr == {1, 2}
    simulation.advance(249)
    assert values(simulation, 3) == []
    simulation.advance(1)
    assert values(simulation, 3) == [b"a"]
    assert simulation.partition().isr == {1, 2, 3}


def test_without_an_in_sync_replica_there_is_no_leader_until_the_last_one_is_back() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.stop(2)
    simulation.stop(3)
    assert send(simulation, b"a", broker=1, acks=-1) == [(0, NONE, 0)]
    simulation.start(2)
    simulation.followers("frozen")
    simulation.stop(2)
    send(simulation, b"b", broker=1, acks=-1)
    simulation.stop(1)
    simulation.start(2)
    simulation.start(3)
    _, _, partition = told(simulation, 3)
    assert partition == {
        "error_code": LEADER_NOT_AVAILABLE,
        "leader_id": -1,
        "leader_epoch": 1,
        "replica_nodes": (1, 2, 3),
        "isr_nodes": (),
        "offline_replicas": (1,),
    }
    assert send(simulation, b"c", broker=2) == [(0, NOT_LEADER, -1)]
    simulation.followers("instant")
    simulation.start(1)
    assert simulation.partition().leader_id == 1
    assert [values(simulation, broker) for broker in (1, 2, 3)] == [[b"a", b"b"]] * 3
    assert simulation.partition().isr == {1, 2, 3}


def test_an_unclean_election_keeps_the_partition_going_and_loses_data() -> None:
    simulation = Simulation()
    simulation.topic(unclean_leader_election_enable="true")
    send(simulation, b"a", broker=1, acks=-1)
    simulation.stop(2)
    simulation.stop(3)
    assert send(simulation, b"acknowledged by all there were", broker=1, acks=-1) == [(0, NONE, 1)]
    simulation.followers("frozen")
    simulation.start(3)
    simulation.start(2)
    simulation.stop(1)
    partition = simulation.partition()
    # Broker 3 has what broker 2 starts its leadership with, so it joins with its first fetch.
    assert (partition.leader_id, partition.isr, partition.high_watermark) == (2, {2, 3}, 1)
    simulation.followers("instant")
    send(simulation, b"b", broker=2, acks=-1)
    simulation.start(1)
    assert [values(simulation, broker) for broker in (1, 2, 3)] == [[b"a", b"b"]] * 3


def test_an_unclean_election_waits_until_any_replica_starts() -> None:
    simulation = Simulation()
    simulation.topic(unclean_leader_election_enable="true")
    for broker in (1, 2, 3):
        simulation.stop(broker)
    assert simulation.partition().leader_id == NO_LEADER
    assert (simulation.partition().isr, simulation.partition().elr) == (set(), (3,))
    simulation.start(1)
    assert (simulation.partition().leader_id, simulation.partition().isr) == (1, {1})


def test_all_brokers_stop_and_start() -> None:
    simulation = Simulation()
    simulation.topic()
    send(simulation, b"a", broker=1, acks=-1)
    for broker in (1, 2, 3):
        simulation.stop(broker)
    assert simulation.cluster.metadata.controller_id == -1
    assert simulation.cluster.metadata.alive_brokers(PLAINTEXT) == []
    simulation.advance(100_000)
    for broker in (1, 2, 3):
        simulation.start(broker)
    partition = simulation.partition()
    assert (partition.leader_id, partition.isr) == (3, {1, 2, 3})
    assert send(simulation, b"b", broker=3, acks=-1) == [(100_000, NONE, 1)]


def test_the_minimum_of_the_isr_counts_those_in_sync() -> None:
    simulation = Simulation()
    simulation.topic(min_insync_replicas=2)
    simulation.stop(2)
    assert send(simulation, b"a", broker=1, acks=-1) == [(0, NONE, 0)]
    simulation.stop(3)
    assert send(simulation, b"b", broker=1, acks=-1) == [(0, NOT_ENOUGH, -1)]
    assert send(simulation, b"c", broker=1) == [(0, NONE, 1)]
    assert simulation.partition().high_watermark == 1
    simulation.start(3)
    assert simulation.partition().high_watermark == 2


def test_a_parked_request_below_the_minimum_times_out_and_its_record_stays() -> None:
    simulation = Simulation()
    simulation.topic(min_insync_replicas=2)
    simulation.followers("frozen")
    client = simulation.connect()
    client.send(produce("t", timeout_ms=1_000, records=batch(b"stays")))
    simulation.stop(2)
    simulation.stop(3)
    simulation.advance(1_000)
    assert answers(client) == [(1_000, TIMED_OUT, 0)]
    simulation.followers("instant")
    simulation.start(2)
    assert simulation.partition().high_watermark == 1
    assert values(simulation, 2) == [b"stays"]


def test_stopping_twice_and_starting_twice_is_once() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.start(1)
    simulation.stop(1)
    simulation.stop(1)
    simulation.start(1)
    simulation.start(1)
    assert (simulation.partition().leader_id, simulation.partition().leader_epoch) == (2, 1)


def test_a_broker_that_is_not_there() -> None:
    simulation = Simulation()
    with pytest.raises(ValueError, match="there is no broker 4: the ids are 1 to 3"):
        simulation.stop(4)
    with pytest.raises(ValueError, match="there is no broker 0"):
        simulation.start(0)


def test_a_topic_made_while_a_broker_is_stopped_has_it_as_a_replica_out_of_sync() -> None:
    simulation = Simulation()
    simulation.stop(1)
    simulation.topic()
    assert told(simulation, 3)[2] == {
        "error_code": 0,
        "leader_id": 2,
        "leader_epoch": 0,
        "replica_nodes": (2, 3, 1),
        "isr_nodes": (2, 3),
        "offline_replicas": (1,),
    }
    simulation.start(1)
    assert simulation.partition().isr == {1, 2, 3}


@pytest.mark.parametrize(
    ("stopped", "replicas", "placed"),
    [
        ((), 2, [[1, 2], [2, 3], [3, 1], [1, 2]]),
        ((2,), 1, [[1], [3], [1], [3]]),
        ((2,), 2, [[1, 3], [3, 1], [1, 3], [3, 1]]),
        ((2,), 3, [[1, 3, 2], [3, 1, 2], [1, 3, 2], [3, 1, 2]]),
        ((1, 2), 2, [[3, 1], [3, 2], [3, 1], [3, 2]]),
    ],
)
def test_stopped_brokers_are_given_replicas_only_when_the_others_run_out(
    stopped: tuple[int, ...], replicas: int, placed: list[list[int]]
) -> None:
    simulation = Simulation()
    for broker in stopped:
        simulation.stop(broker)
    simulation.topic("t", partitions=4, replicas=replicas)
    partitions = [simulation.partition("t", index) for index in range(4)]
    assert [partition.replica_ids for partition in partitions] == placed
    assert [partition.isr_ids for partition in partitions] == [[b for b in ids if b not in stopped] for ids in placed]
    assert [partition.leader_id for partition in partitions] == [ids[0] for ids in placed]


def test_a_topic_whose_replicas_are_all_stopped_cannot_be_made() -> None:
    simulation = Simulation()
    simulation.stop(1)
    with pytest.raises(KafkaError, match="assignment for partition 1 are fenced") as refused:
        simulation.cluster.admin.create_topic(NewTopic("t", -1, -1, [(0, [2]), (1, [1])]), simulation.now)
    assert refused.value.code is ErrorCode.invalid_replica_assignment
    simulation.stop(2)
    simulation.stop(3)
    with pytest.raises(KafkaError, match="All brokers are currently fenced") as refused:
        simulation.topic(replicas=4)
    assert refused.value.code is ErrorCode.invalid_replication_factor


def test_producer_ids_stay_unique_over_a_restart() -> None:
    simulation = Simulation()
    first = simulation.cluster.brokers[1].producer_ids.generate_producer_id()
    simulation.stop(1)
    simulation.start(1)
    assert simulation.cluster.brokers[1].producer_ids.generate_producer_id() == first + 1_000
