"""The response to an acks=all produce and its time: virtual time, exact to the millisecond."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.messages import decode_response
from support.requests import FETCH, PRODUCE, Produced, batch, fetch, produce, request
from support.simulation import SimulatedClient, Simulation

from fakebroker.network.connection import ChannelMuteState
from fakebroker.protocol.topic_partition import TopicPartition

NONE, UNKNOWN_TOPIC, NOT_LEADER, TIMED_OUT, NOT_ENOUGH = 0, 3, 6, 7, 19


def answers(client: SimulatedClient) -> list[tuple[int, int, dict[int, tuple[int, int]]]]:
    """Return (milliseconds, correlation id, {partition: (error, base offset)}) of each response."""
    answers_ = []
    for at_ms, frame in client.answers:
        produced = Produced(frame)
        answers_.append((at_ms, produced.correlation_id, produced.partitions))
    return answers_


def frozen(**kwargs: Any) -> Simulation:
    simulation = Simulation(followers="frozen", **kwargs)
    simulation.topic()
    return simulation


def test_a_frozen_partition_times_out_at_its_timeout_with_the_real_offset() -> None:
    simulation = frozen()
    client = simulation.connect()
    client.send(produce("t", acks=1, correlation_id=1), produce("t", timeout_ms=500, correlation_id=2))
    simulation.advance(499)
    assert answers(client) == [(0, 1, {0: (NONE, 0)})]
    simulation.advance(1)
    assert answers(client)[1:] == [(500, 2, {0: (TIMED_OUT, 1)})]


def test_pipelined_requests_wait_for_their_turn_and_answer_at_t_2t_3t() -> None:
    simulation = frozen()
    client, other = simulation.connect(), simulation.connect()
    client.send(*(produce("t", timeout_ms=500, correlation_id=number) for number in (1, 2, 3)))
    other.send(produce("t", timeout_ms=700, correlation_id=9))
    simulation.advance(1_500)
    assert answers(client) == [
        (500, 1, {0: (TIMED_OUT, 0)}),
        (1_000, 2, {0: (TIMED_OUT, 2)}),
        (1_500, 3, {0: (TIMED_OUT, 3)}),
    ]
    assert answers(other) == [(700, 9, {0: (TIMED_OUT, 1)})]


def test_acks_one_and_zero_do_not_wait() -> None:
    simulation = frozen()
    client = simulation.connect()
    client.send(produce("t", acks=0, correlation_id=1), produce("t", acks=1, correlation_id=2))
    assert answers(client) == [(0, 2, {0: (NONE, 1)})]


def test_instant_followers_satisfy_acks_all_in_the_same_millisecond() -> None:
    simulation = Simulation()
    simulation.topic()
    client = simulation.connect()
    client.send(produce("t"))
    assert answers(client) == [(0, 1, {0: (NONE, 0)})]


@pytest.mark.parametrize(
    ("lag_ms", "timeout_ms", "at_ms", "error"),
    [(200, 500, 200, NONE), (500, 500, 500, NONE), (501, 500, 500, TIMED_OUT), (0, 1, 0, NONE), (0, 0, 0, TIMED_OUT)],
)
def test_lagging_followers_race_the_timeout_and_win_a_tie(lag_ms: int, timeout_ms: int, at_ms: int, error: int) -> None:
    simulation = Simulation(followers=f"lagging:{lag_ms}")
    simulation.topic()
    client = simulation.connect()
    client.send(produce("t", timeout_ms=timeout_ms))
    simulation.advance(1_000)
    assert answers(client) == [(at_ms, 1, {0: (error, 0)})]


def test_partitions_of_one_request_are_answered_one_by_one() -> None:
    simulation = Simulation()
    simulation.topic(partitions=2)
    simulation.topic("one", partitions=3, replicas=1)
    simulation.followers("frozen", "t", 0)
    client = simulation.connect()
    topics = [
        {"name": "t", "partition_data": [{"index": 0, "records": batch()}, {"index": 1, "records": batch()}]},
        {"name": "one", "partition_data": [{"index": 0, "records": batch()}, {"index": 7, "records": batch()}]},
    ]
    values = {"transactional_id": None, "acks": -1, "timeout": timedelta(milliseconds=300), "topic_data": topics}
    client.send(request(PRODUCE, 9, values))
    assert client.answers == []
    simulation.advance(300)
    ((at_ms, frame),) = client.answers
    by_topic = {
        topic.name: {p.index: (int(p.error_code), p.base_offset) for p in topic.partition_responses}
        for topic in Produced(frame).response.responses
    }
    assert at_ms == 300
    # Partition 1 of t is led by broker 2.
    assert by_topic == {
        "t": {0: (TIMED_OUT, 0), 1: (NOT_LEADER, -1)},
        "one": {0: (NONE, 0), 7: (UNKNOWN_TOPIC, -1)},
    }


def test_resuming_the_followers_answers_what_is_parked() -> None:
    simulation = frozen()
    client = simulation.connect()
    client.send(produce("t", timeout_ms=500))
    simulation.advance(321)
    simulation.followers(None)
    assert answers(client) == [(321, 1, {0: (NONE, 0)})]


def test_one_frozen_follower_of_two_is_enough_to_time_out() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.followers("frozen", broker=3)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=50))
    simulation.advance(50)
    assert answers(client) == [(50, 1, {0: (TIMED_OUT, 0)})]


def test_a_timed_out_record_stays_in_the_log_and_is_seen_once_it_is_replicated() -> None:
    simulation = frozen()
    client = simulation.connect()
    client.send(produce("t", timeout_ms=10))
    simulation.advance(10)
    assert answers(client) == [(10, 1, {0: (TIMED_OUT, 0)})]
    assert _records_read(simulation) == b""
    simulation.followers(None)
    assert b"v" in _records_read(simulation)


def _records_read(simulation: Simulation) -> bytes:
    reader = simulation.connect()
    reader.send(fetch("t"))
    ((_, frame),) = reader.answers
    _, response = decode_response(FETCH, 11, frame)
    return bytes(response.responses[0].partitions[0].records or b"")


def test_the_isr_shrinks_and_the_parked_request_succeeds() -> None:
    simulation = frozen()
    client = simulation.connect()
    simulation.advance(1_000)
    client.send(produce("t", timeout_ms=60_000))
    simulation.advance(60_000)
    # Checked every 15 s; the first check more than 30 s after the append is the one at 45 s.
    assert answers(client) == [(45_000, 1, {0: (NONE, 0)})]


def test_below_the_minimum_isr_the_watermark_is_frozen_and_the_request_times_out() -> None:
    simulation = Simulation(followers="frozen")
    simulation.topic(min_insync_replicas=2)
    client, late = simulation.connect(), simulation.connect()
    client.send(produce("t", timeout_ms=60_000))
    simulation.advance(50_000)
    late.send(produce("t", timeout_ms=60_000))
    assert answers(late) == [(50_000, 1, {0: (NOT_ENOUGH, -1)})]
    simulation.advance(10_000)
    assert answers(client) == [(60_000, 1, {0: (TIMED_OUT, 0)})]


def test_the_peer_that_goes_away_leaves_its_record_and_no_answer() -> None:
    simulation = frozen()
    client = simulation.connect()
    client.send(produce("t", timeout_ms=100))
    client.disconnect()
    simulation.advance(100)
    assert client.answers == []
    manager = simulation.cluster.brokers[1].replicas
    assert (manager.produce_purgatory.num_delayed(), sum(manager.produce_expirations.values())) == (0, 1)
    other = simulation.connect()
    other.send(produce("t", acks=1))
    assert answers(other) == [(100, 1, {0: (NONE, 1)})]


def test_a_parked_request_mutes_its_connection() -> None:
    simulation = frozen()
    client = simulation.connect()
    client.send(produce("t", timeout_ms=100, correlation_id=1))
    assert client.reading_paused
    assert client.connection.state is ChannelMuteState.BUSY
    client.send(produce("t", acks=1, correlation_id=2))
    assert client.answers == []
    simulation.advance(100)
    assert [correlation_id for _, correlation_id, _ in answers(client)] == [1, 2]
    assert not client.reading_paused


def test_a_peer_that_takes_no_answers_gets_no_more_work_done() -> None:
    simulation = Simulation()
    simulation.topic()
    client = simulation.connect()
    client.take_answers(False)
    client.send(produce("t"))
    assert client.answers == []
    assert client.reading_paused
    client.take_answers(True)
    assert answers(client) == [(0, 1, {0: (NONE, 0)})]
    assert not client.reading_paused


@pytest.mark.parametrize("timeout_ms", [0, -1, -(2**31)])
@pytest.mark.parametrize("followers", ["frozen", "instant"])
def test_no_time_at_all_expires_before_any_follower_can_fetch(timeout_ms: int, followers: str) -> None:
    simulation = Simulation(followers=followers)
    simulation.topic()
    client = simulation.connect()
    client.send(produce("t", timeout_ms=timeout_ms))
    assert answers(client) == [(0, 1, {0: (TIMED_OUT, 0)})]


def test_a_timeout_of_0_succeeds_if_no_follower_is_waited_for() -> None:
    simulation = Simulation()
    simulation.topic("alone", replicas=1)
    client = simulation.connect()
    client.send(produce("alone", timeout_ms=0))
    assert answers(client) == [(0, 1, {0: (NONE, 0)})]


@pytest.mark.slow
def test_the_longest_timeout_there_is() -> None:
    # An answer that takes longer than connections.max.idle.ms finds its connection closed.
    rare = ("replica.lag.time.max.ms", "log.retention.check.interval.ms", "producer.id.expiration.check.interval.ms")
    simulation = frozen(config=dict.fromkeys(rare, str(2**31 - 1)) | {"connections.max.idle.ms": "-1"})
    client = simulation.connect()
    client.send(produce("t", timeout_ms=2**31 - 1))
    simulation.advance(2**31 - 2)
    assert client.answers == []
    simulation.advance(1)
    assert answers(client) == [(2**31 - 1, 1, {0: (TIMED_OUT, 0)})]


def test_many_requests_that_expire_together_are_all_answered() -> None:
    simulation = frozen()
    clients = [simulation.connect() for _ in range(300)]
    for client in clients:
        client.send(produce("t", timeout_ms=250))
    simulation.advance(250)
    offsets = {answers(client)[0][2][0][1] for client in clients}
    assert {answers(client)[0][0] for client in clients} == {250}
    assert offsets == set(range(300))
    assert simulation.cluster.brokers[1].replicas.produce_purgatory.num_delayed() == 0


def test_a_blocked_peer_whose_request_expires_has_its_next_one_left_alone() -> None:
    simulation = frozen()
    client = simulation.connect()
    client.send(produce("t", timeout_ms=100, correlation_id=1), produce("t", acks=1, correlation_id=2))
    simulation.cluster.set_write_blocked(client.connection, True, simulation.now)
    simulation.advance(100)
    assert [correlation_id for _, correlation_id, _ in answers(client)] == [1]
    simulation.cluster.set_write_blocked(client.connection, False, simulation.now)
    simulation.settle()
    assert [correlation_id for _, correlation_id, _ in answers(client)] == [1, 2]


def test_an_expiry_is_counted_for_the_partitions_that_still_waited() -> None:
    simulation = Simulation()
    simulation.topic(partitions=4)
    simulation.followers("frozen", "t", 3)
    client = simulation.connect()
    client.send(produce("t", partitions={0: batch(), 3: batch()}, timeout_ms=50))
    simulation.advance(50)
    assert answers(client) == [(50, 1, {0: (NONE, 0), 3: (TIMED_OUT, 0)})]
    assert simulation.cluster.brokers[1].replicas.produce_expirations == {TopicPartition("t", 3): 1}


def test_if_time_comes_in_late_the_next_request_has_its_whole_timeout_all_the_same() -> None:
    simulation = frozen()
    client, other = simulation.connect(), simulation.connect()
    client.send(*(produce("t", timeout_ms=100, correlation_id=number) for number in (1, 2)))
    other.send(produce("t", timeout_ms=120, correlation_id=3))
    simulation.elapsed_ms = 150  # the cluster was not advanced to 100 or 120
    simulation.cluster.advance_to(simulation.now)
    simulation.settle()
    simulation.advance(99)
    assert [correlation_id for _, correlation_id, _ in answers(client)] == [1]
    simulation.advance(1)
    assert answers(client) == [(150, 1, {0: (TIMED_OUT, 0)}), (250, 2, {0: (TIMED_OUT, 2)})]
    assert answers(other) == [(150, 3, {0: (TIMED_OUT, 1)})]
