"""Throttled replicas (KIP-73): the bytes that count, the fetches that are delayed, and for how long."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asking import ask
from support.external_follower import ExternalFollower
from support.requests import batch, produce
from support.simulation import Simulation

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.quota.rate import SimpleRate
from fakebroker.core.quota.replication import BrokerReplicationQuotas, ReplicationQuotaManager, names_replica

ALTER_REASSIGNMENTS = 45
LEADER, FOLLOWER = "leader.replication.throttled.", "follower.replication.throttled."


def filled(batches: int = 50, size: int = 10_000, brokers: int = 4, **configs: Any) -> Simulation:
    """Return a cluster with a topic t on the brokers 1 and 2, with some batches."""
    simulation = Simulation(brokers=brokers, config={"replica.fetch.max.bytes": "100000"})
    simulation.topic("t", replicas=2, **configs)
    client = simulation.connect()
    for _ in range(batches):
        client.send(produce("t", records=sized(size)))
    return simulation


def sized(size: int) -> bytes:
    data = batch(b"v" * (size - 100))
    return batch(b"v" * (size - 100 + size - len(data)))


def throttle(simulation: Simulation, replicas: str = "*", **rates: int) -> None:
    """Set the settings that kafka-reassign-partitions --throttle sets."""
    cluster = simulation.cluster
    names = {"leader": LEADER, "follower": FOLLOWER}
    for side, rate in rates.items():
        cluster.admin.alter_topic_configs("t", {names[side] + "replicas": replicas}, simulation.now)
        cluster.admin.alter_broker_configs({names[side] + "rate": str(rate)}, simulation.now)


def reassign(simulation: Simulation, *replicas: int) -> None:
    part = {"partition_index": 0, "replicas": list(replicas)}
    topics = [{"name": "t", "partitions": [part]}]
    answer = ask(simulation.connect(), ALTER_REASSIGNMENTS, 0, timeout=timedelta(seconds=1), topics=topics)
    assert answer.responses[0].partitions[0].error_code == 0


def end_of(simulation: Simulation, broker: int) -> int:
    return simulation.partition().replicas[broker].log.log_end_offset


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("*", True),
        (" * ", True),
        ("1:2", True),
        ("0:1,1:2", True),
        ("1:1,0:2", False),
        ("", False),
        (" 1:2 ,0:1", True),
    ],
)
def test_a_topic_names_its_throttled_replicas(text: str, is_named: bool) -> None:
    assert names_replica(tuple(text.split(",")) if text else (), 1, 2) is is_named


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_reassignment_takes_as_long_as_the_rate_says(side: str) -> None:
    simulation = filled()  # 500,000 bytes, 100,000 a fetch
    throttle(simulation, "*", **{side: 50_000})
    reassign(simulation, 1, 2, 3)
    ends = [end_of(simulation, 3)]
    for _ in range(8):
        simulation.advance(1_000)
        ends.append(end_of(simulation, 3))
    # A fetch of 100,000 bytes at once, and the next one when the average since the first is 50,000 a second.
    assert ends == [10, 10, 20, 20, 30, 30, 40, 40, 50]
    assert simulation.partition().isr_ids == [1, 2, 3]
    assert simulation.partition().is_reassigning is False


def test_without_a_list_or_a_rate_no_replica_is_throttled() -> None:
    for replicas, rate in (("0:2", 1_000), ("1:1", 1_000), ("*", 2**63 - 1)):
        simulation = filled()
        throttle(simulation, replicas, leader=rate)
        reassign(simulation, 1, 2, 3)
        assert simulation.partition().isr_ids == [1, 2, 3]


def test_an_in_sync_follower_is_not_throttled() -> None:
    simulation = filled(0)
    throttle(simulation, leader=1, follower=1)
    client = simulation.connect()
    for _ in range(5):
        client.send(produce("t", records=sized(10_000)))
    assert len(client.answers) == 5
    assert simulation.partition().isr_ids == [1, 2]


def test_what_goes_to_those_in_sync_counts_all_the_same() -> None:
    simulation = filled(0)
    throttle(simulation, leader=10_000)
    client = simulation.connect()
    for _ in range(10):
        client.send(produce("t", records=sized(10_000)))
    simulation.advance(1)  # within one millisecond no fetch is delayed for earlier bytes
    reassign(simulation, 1, 2, 3)
    simulation.advance(9_998)
    assert end_of(simulation, 3) == 0
    simulation.advance(1)
    assert end_of(simulation, 3) == 10


def test_the_slower_side_counts() -> None:
    simulation = filled()
    throttle(simulation, leader=100_000, follower=50_000)
    reassign(simulation, 1, 2, 3)
    simulation.advance(7_999)
    assert end_of(simulation, 3) == 40
    simulation.advance(1)
    assert end_of(simulation, 3) == 50


def test_replicas_of_one_leader_share_its_rate() -> None:
    simulation = filled()
    throttle(simulation, leader=100_000)
    reassign(simulation, 1, 2, 3, 4)
    simulation.advance(2_000)
    assert (end_of(simulation, 3), end_of(simulation, 4)) == (20, 20)
    simulation.advance(6_000)
    assert (end_of(simulation, 3), end_of(simulation, 4)) == (50, 50)


def test_each_follower_has_a_rate_of_its_own() -> None:
    simulation = filled()
    throttle(simulation, "0:3", follower=50_000)
    reassign(simulation, 1, 2, 3, 4)
    assert (end_of(simulation, 3), end_of(simulation, 4)) == (10, 50)


@pytest.mark.parametrize("of_what", ["rate", "replicas"])
def test_to_take_the_throttle_away_lets_them_go_at_once(of_what: str) -> None:
    simulation = filled()
    throttle(simulation, leader=1)
    reassign(simulation, 1, 2, 3)
    simulation.advance(500)
    assert end_of(simulation, 3) == 10
    if of_what == "rate":
        simulation.cluster.admin.alter_broker_configs({LEADER + "rate": None}, simulation.now)
    else:
        simulation.cluster.admin.alter_topic_configs("t", {LEADER + "replicas": None}, simulation.now)
    simulation.advance(1)
    assert simulation.partition().isr_ids == [1, 2, 3]


def test_a_broker_may_have_a_rate_of_its_own() -> None:
    simulation = filled()
    throttle(simulation, leader=1)
    simulation.cluster.members.broker_configs.alter({LEADER + "rate": "50000"}, 1)
    reassign(simulation, 1, 2, 3)
    simulation.advance(8_000)
    assert simulation.partition().isr_ids == [1, 2, 3]


def test_a_rate_too_small_for_a_fetch_is_forgotten_after_eleven_windows() -> None:
    simulation = filled()
    throttle(simulation, leader=0)
    reassign(simulation, 1, 2, 3)
    simulation.advance(11_499)  # the sample that has them had its last note after half a second
    assert end_of(simulation, 3) == 10
    simulation.advance(1)
    assert end_of(simulation, 3) == 20


def test_a_new_leader_has_given_nothing_yet() -> None:
    simulation = filled()
    throttle(simulation, leader=0)
    reassign(simulation, 1, 2, 3)
    simulation.cluster.admin.move_leader("t", 0, 2, simulation.now)
    assert end_of(simulation, 3) == 20


def test_a_follower_that_is_held_back_copies_what_was_appended_meanwhile() -> None:
    simulation = filled(20)
    throttle(simulation, leader=50_000)
    reassign(simulation, 1, 2, 3)
    client = simulation.connect()
    client.send(produce("t", records=sized(10_000)))
    assert len(client.answers) == 1
    simulation.advance(10_000)
    assert end_of(simulation, 3) == 21
    assert simulation.partition().isr_ids == [1, 2, 3]


def left_behind(rate: int, replica: int = 2, leader: int = 1) -> tuple[Simulation, ExternalFollower]:
    """Return a cluster and a test follower out of the ISR. The log of topic t has two batches of 20,000 bytes."""
    simulation = Simulation([leader, replica], config={"replica.lag.time.max.ms": "1000"})
    simulation.topic("t", replicas=2)
    simulation.followers("external", "t", 0, replica)
    client = simulation.connect(leader)
    for _ in range(2):
        client.send(produce("t", acks=1, records=sized(20_000)))
    simulation.advance(2_000)
    assert simulation.partition().isr_ids == [leader]
    throttle(simulation, leader=rate)
    return simulation, ExternalFollower(simulation, replica, leader)


@pytest.mark.parametrize("replica", [2, 0])
def test_a_follower_over_the_wire_gets_nothing_while_the_leader_gave_too_much(replica: int) -> None:
    simulation, follower = left_behind(10_000, replica)
    assert follower.fetch(0).batches == [(0, 0), (1, 1)]
    assert follower.fetch(0).batches == []
    simulation.advance(1_999)  # 40,000 bytes in the four seconds for which it leads
    assert follower.fetch(0).batches == []
    simulation.advance(100)  # the empty answers counted too
    assert follower.fetch(0).batches == [(0, 0), (1, 1)]


def test_a_follower_over_the_wire_that_is_throttled_waits_for_its_time_and_reads_then() -> None:
    simulation, follower = left_behind(100_000)
    assert follower.fetch(0).batches == [(0, 0), (1, 1)]
    simulation.cluster.admin.alter_broker_configs({LEADER + "rate": "15000"}, simulation.now)
    begun_ms = simulation.elapsed_ms
    follower.send(0, max_wait_ms=500)
    simulation.advance(499)
    assert len(follower.client.answers) == 1
    simulation.advance(1)  # the rate is too high still: 40,000 bytes in two and a half seconds
    [(at_ms, frame)] = follower.client.answers[1:]
    assert at_ms == begun_ms + 500
    assert follower.read(frame).batches == []


def test_once_it_has_all_it_is_in_sync_and_not_throttled() -> None:
    simulation, follower = left_behind(1)
    assert follower.fetch(0).batches == [(0, 0), (1, 1)]
    assert follower.fetch(2).batches == []
    assert simulation.partition().isr_ids == [1, 2]
    simulation.connect().send(produce("t", acks=1, records=sized(20_000)))
    assert follower.fetch(2).batches == [(2, 2)]


def test_a_rate_is_of_the_time_since_the_oldest_sample() -> None:
    rate = SimpleRate(11, 1000)
    rate.record(3_000, 0)
    assert (rate.measure(0), rate.measure(1_000), rate.measure(2_000)) == (3_000.0, 3_000.0, 1_500.0)
    assert rate.measure(10_999) > 0
    assert rate.measure(11_000) == 0


@given(
    events=st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 100_000)), min_size=1, max_size=20),
    bound=st.integers(0, 50_000),
    samples=st.integers(1, 12),
)
def test_it_falls_to_a_bound_when_it_is_said_to(events: list[tuple[int, int]], bound: int, samples: int) -> None:
    def recorded() -> tuple[SimpleRate, int]:
        rate, at_ms = SimpleRate(samples, 1000), 0
        for step_ms, value in events:
            at_ms += step_ms
            rate.record(value, at_ms)
        return rate, at_ms

    rate, now_ms = recorded()
    falls_ms = rate.falls_to_ms(bound, now_ms)
    assert rate.measure(falls_ms) <= bound
    for before_ms in {now_ms, (now_ms + falls_ms) // 2, falls_ms - 1}:
        if now_ms <= before_ms < falls_ms:
            assert recorded()[0].measure(before_ms) > bound


def test_what_is_not_set_has_no_bound() -> None:
    quotas = BrokerReplicationQuotas(1, DynamicBrokerConfig(BrokerConfig()), 0)
    quotas.leader.record(2**60, 0)
    assert not quotas.leader.is_exceeded(0)


def test_a_wait_below_zero_is_none() -> None:
    quotas = BrokerReplicationQuotas(1, DynamicBrokerConfig(BrokerConfig(replica_fetch_wait_max_ms=-1)), 0)
    quotas.leader.update_quota(1_000)
    quotas.leader.record(5_000, 60_000)
    assert quotas.leader.next_free_ms(60_100) == 65_000


def test_a_leader_that_has_run_for_a_while_gives_more_at_first() -> None:
    """A leader counts empty responses too (KafkaApis.handleFetchRequest), so its rate is measured over ten to twelve
    seconds."""
    young, old = (ReplicationQuotaManager(11, 1000, 500) for _ in range(2))
    for quota, now_ms in ((young, 0), (old, 60_000)):
        quota.update_quota(250_000)
        quota.record(1_000_000, now_ms)
    assert young.is_exceeded(100)
    assert not old.is_exceeded(60_100)
    old.record(2_500_000, 60_200)
    assert old.is_exceeded(60_300)


def test_a_follower_that_fetches_every_millisecond_is_noted_ten_times_a_second() -> None:
    """`next_free_ms` reads each note: with one a millisecond it took 125 ms."""
    often, seldom = (ReplicationQuotaManager(11, 1000, notes_ms) for notes_ms in (1, 100))
    for quota in (often, seldom):
        quota.update_quota(1_000)
        quota.record(100_000, 20_000)
    assert often.next_free_ms(20_001) == seldom.next_free_ms(20_001) > 20_001


@given(
    st.lists(st.tuples(st.integers(0, 3_000), st.integers(1, 1_000_000)), min_size=1, max_size=8),
    st.integers(1, 500_000),
    st.integers(0, 30_000),
)
def test_a_leader_is_free_when_it_is_said_to_be(events: list[tuple[int, int]], bound: int, start_ms: int) -> None:
    def recorded() -> tuple[ReplicationQuotaManager, int]:
        quota, at_ms = ReplicationQuotaManager(11, 1000, 500), start_ms
        quota.update_quota(bound)
        for later_ms, value in events:
            at_ms += later_ms
            quota.record(value, at_ms)
        return quota, at_ms + 1

    quota, now_ms = recorded()
    free_ms = quota.next_free_ms(now_ms)
    if free_ms == now_ms:
        assert not quota.was_exceeded(now_ms)
        return
    assert not recorded()[0].is_exceeded(free_ms)
    for before_ms in (now_ms, (now_ms + free_ms) // 2, free_ms - 1):
        if before_ms > now_ms:
            assert recorded()[0].is_exceeded(before_ms)
