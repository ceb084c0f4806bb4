"""Leaders that move and topics that are deleted while requests are parked (DelayedProduce, cases A and B)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.answers import NONE, NOT_LEADER, TIMED_OUT, UNKNOWN_TOPIC, answers
from support.messages import decode_response
from support.requests import PRODUCE, Produced, batch, fetch, produce, request
from support.simulation import SimulatedClient, Simulation

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


def parked(version: int = 10) -> tuple[Simulation, SimulatedClient]:
    simulation = Simulation(followers="frozen")
    simulation.topic()
    client = simulation.connect()
    client.send(produce("t", timeout_ms=5_000, version=version))
    simulation.advance(321)
    return simulation, client


@pytest.mark.parametrize("version", [9, 10, 12])
def test_a_parked_produce_gets_the_new_leader_as_a_hint(version: int) -> None:
    simulation, client = parked(version)
    simulation.move_leader(3)
    # The base offset is the one that the record got: only the error is replaced.
    assert answers(client, version) == [(321, NOT_LEADER, 0)]
    response = Produced(client.answers[0][1], version).response
    (partition,) = response.responses[0].partition_responses
    if version >= 10:
        assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (3, 1)
        assert [endpoint.node_id for endpoint in response.node_endpoints] == [3]


def test_a_parked_produce_without_a_leader_to_name() -> None:
    simulation = Simulation()
    simulation.topic(min_insync_replicas=2)
    simulation.stop(3)
    simulation.followers("frozen")
    clients = [simulation.connect(broker) for broker in (1, 2)]
    clients[0].send(produce("t", timeout_ms=5_000, version=10))
    simulation.stop(2)
    simulation.stop(1)
    assert clients[1].answers == []
    simulation.start(3)  # it was not the last in sync
    other = simulation.connect(3)
    other.send(produce("t", timeout_ms=5_000, version=10))
    for client in (clients[0], other):
        response = Produced(client.answers[0][1], 10).response
        (partition,) = response.responses[0].partition_responses
        assert int(partition.error_code) == NOT_LEADER
        assert partition.current_leader.leader_id == -1
        assert response.node_endpoints == ()


def test_a_leader_that_moves_keeps_what_is_committed_and_may_lose_the_rest() -> None:
    simulation = Simulation()
    simulation.topic()
    client = simulation.connect()
    client.send(produce("t", records=batch(b"committed")))
    simulation.followers("frozen")
    client.send(produce("t", timeout_ms=5_000, records=batch(b"not yet")))
    simulation.move_leader(2)
    partition = simulation.partition()
    assert [answer[1] for answer in answers(client)] == [NONE, NOT_LEADER]
    assert [partition.replicas[broker].log.log_end_offset for broker in (1, 2, 3)] == [1, 1, 1]
    assert partition.high_watermark == 1


def test_a_follower_that_has_the_record_saves_it() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.followers("frozen", broker=3)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=5_000, records=batch(b"on 1 and 2")))
    simulation.move_leader(2)
    partition = simulation.partition()
    assert [partition.replicas[broker].log.log_end_offset for broker in (1, 2, 3)] == [1, 1, 0]
    assert partition.high_watermark == 0
    simulation.followers("instant", broker=3)
    assert partition.high_watermark == 1


def test_the_old_leader_follows_and_may_lead_again() -> None:
    simulation = Simulation()
    simulation.topic()
    for number, broker in enumerate((2, 1, 3, 1)):
        simulation.move_leader(broker)
        client = simulation.connect(broker)
        client.send(produce("t", timeout_ms=100))
        assert answers(client) == [(0, NONE, number)]
        refused = simulation.connect(broker % 3 + 1)
        refused.send(produce("t", timeout_ms=100))
        assert answers(refused) == [(0, NOT_LEADER, -1)]
    assert simulation.partition().leader_epoch == 4


def test_moving_to_the_leader_changes_nothing() -> None:
    simulation, client = parked()
    simulation.move_leader(1)
    assert client.answers == []
    assert simulation.partition().leader_epoch == 0


@pytest.mark.parametrize(
    ("broker", "partition", "words", "code"),
    [
        (4, 0, r"its replicas are on \[1, 2, 3\]", ErrorCode.eligible_leaders_not_available),
        (2, 0, "that broker is stopped", ErrorCode.eligible_leaders_not_available),
        (3, 0, r"not in the ISR \[1\]", ErrorCode.eligible_leaders_not_available),
        (1, 5, "There is no partition t-5", ErrorCode.unknown_topic_or_partition),
    ],
)
def test_brokers_that_may_not_lead(broker: int, partition: int, words: str, code: ErrorCode) -> None:
    simulation = Simulation(brokers=4)
    simulation.topic()
    simulation.stop(2)
    simulation.followers("frozen", broker=3)
    simulation.connect().send(produce("t", acks=1))
    simulation.advance(60_000)
    with pytest.raises(KafkaError, match=words) as refused:
        simulation.move_leader(broker, partition=partition)
    assert refused.value.code is code


def test_a_follower_that_becomes_leader_waits_for_the_others_before_it_tells_the_end() -> None:
    """The high watermark does not fall; records of the old leadership are committed with the first fetches."""
    simulation = Simulation()
    simulation.topic(min_insync_replicas=3)
    simulation.followers("lagging:100", broker=3)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=5_000))
    simulation.advance(40)
    simulation.move_leader(2)
    partition = simulation.partition()
    assert partition.high_watermark == 0
    simulation.advance(99)
    assert partition.high_watermark == 0
    simulation.advance(1)  # what was under way to broker 3 was lost: it begins anew with the new leader
    assert partition.high_watermark == 1


def test_a_replica_outside_the_isr_does_not_hold_a_new_leader_back() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.followers("frozen", broker=3)
    simulation.connect().send(produce("t", acks=1))
    simulation.advance(60_000)
    assert simulation.partition().isr == {1, 2}
    simulation.move_leader(2)
    client = simulation.connect(2)
    client.send(produce("t", timeout_ms=100))
    assert answers(client) == [(60_000, NONE, 1)]


@pytest.mark.parametrize("version", [9, 12])
def test_a_parked_produce_of_a_deleted_topic_is_told_that_it_is_gone(version: int) -> None:
    simulation, client = parked(version)
    simulation.delete_topic()
    assert answers(client, version) == [(321, UNKNOWN_TOPIC, 0)]
    simulation.topic()
    simulation.advance(10_000)
    assert len(client.answers) == 1


def test_a_parked_produce_with_a_topic_id_survives_the_deletion_too() -> None:
    simulation = Simulation(followers="frozen")
    simulation.topic()
    topic = simulation.cluster.metadata.topic("t")
    assert topic is not None
    client = simulation.connect()
    client.send(produce(topic.topic_id, timeout_ms=5_000, version=13))
    simulation.delete_topic()
    assert answers(client, 13) == [(0, UNKNOWN_TOPIC, 0)]


def test_deletion_answers_one_partition_and_the_others_wait_on() -> None:
    simulation = Simulation(followers="frozen")
    simulation.topic("t")
    simulation.topic("u")
    client = simulation.connect()
    topics = [{"name": name, "partition_data": [{"index": 0, "records": batch()}]} for name in ("t", "u")]
    values = {"transactional_id": None, "acks": -1, "timeout": timedelta(milliseconds=300), "topic_data": topics}
    client.send(request(PRODUCE, 9, values))
    simulation.advance(100)
    simulation.delete_topic("u")
    assert client.answers == []
    simulation.advance(200)
    ((at_ms, frame),) = client.answers
    by_topic = {
        topic.name: int(topic.partition_responses[0].error_code) for topic in Produced(frame).response.responses
    }
    assert (at_ms, by_topic) == (300, {"t": TIMED_OUT, "u": UNKNOWN_TOPIC})


def test_a_deleted_topic_made_anew_is_empty() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.connect().send(produce("t"))
    simulation.delete_topic()
    simulation.topic()
    client = simulation.connect()
    client.send(produce("t"))
    assert answers(client) == [(0, NONE, 0)]


def test_deleting_a_topic_that_is_not_there() -> None:
    with pytest.raises(KafkaError) as refused:
        Simulation().delete_topic("t")
    assert refused.value.code is ErrorCode.unknown_topic_or_partition


@pytest.mark.parametrize(("what", "error"), [("move", NOT_LEADER), ("delete", UNKNOWN_TOPIC)])
def test_a_parked_fetch_is_answered_as_well(what: str, error: int) -> None:
    simulation = Simulation()
    simulation.topic()
    client = simulation.connect()
    client.send(fetch("t", max_wait_ms=5_000, version=10))
    simulation.advance(50)
    if what == "move":
        simulation.move_leader(2)
    else:
        simulation.delete_topic()
    ((at_ms, frame),) = client.answers
    _, response = decode_response(1, 10, frame)
    assert at_ms == 50
    assert int(response.responses[0].partitions[0].error_code) == error


def test_a_preferred_replica_that_is_back_in_the_isr_leads_again_when_the_balance_is_looked_at() -> None:
    simulation = Simulation()
    simulation.topic("t", partitions=3)
    simulation.stop(1)
    simulation.advance(300_000)
    assert [simulation.partition("t", index).leader_id for index in range(3)] == [2, 2, 3]
    simulation.followers("frozen", broker=1)
    simulation.connect(2).send(produce("t", acks=1))
    simulation.start(1)
    simulation.advance(300_000)
    assert simulation.partition().leader_id == 2  # broker 1 is not in the ISR
    simulation.followers("instant", broker=1)
    client = simulation.connect(2)
    simulation.followers("frozen", broker=3)
    simulation.advance(290_000)
    client.send(produce("t", timeout_ms=20_000))
    simulation.advance(9_999)
    assert (simulation.partition().leader_id, answers(client)) == (2, [])
    simulation.advance(1)
    assert [simulation.partition("t", index).leader_id for index in range(3)] == [1, 2, 3]
    assert answers(client) == [(900_000, NOT_LEADER, 1)]
    assert simulation.partition().isr == {1, 2, 3}


def test_a_partition_without_a_leader_is_not_rebalanced() -> None:
    simulation = Simulation(brokers=2)
    simulation.topic(replicas=2)
    simulation.stop(1)
    simulation.stop(2)
    simulation.start(1)
    simulation.advance(600_000)
    assert simulation.partition().leader_id == -1


@pytest.mark.parametrize(
    ("config", "at_ms"),
    [
        ({}, 300_000),
        ({"leader.imbalance.check.interval.seconds": "7"}, 7_000),
        ({"auto.leader.rebalance.enable": "false"}, None),
    ],
)
def test_how_often_leaders_are_balanced_is_a_setting(config: dict[str, str], at_ms: int | None) -> None:
    simulation = Simulation(config=config)
    simulation.topic()
    simulation.move_leader(2)
    if at_ms is None:
        simulation.advance(1_000_000)
        assert simulation.partition().leader_id == 2
        return
    simulation.advance(at_ms - 1)
    assert simulation.partition().leader_id == 2
    simulation.advance(1)
    assert simulation.partition().leader_id == 1
