"""Followers as actors: their effect on acks=all. Virtual time, exact to the millisecond."""

from __future__ import annotations

from typing import Any

import pytest
from support.answers import NONE, NOT_ENOUGH, TIMED_OUT, answers
from support.requests import batch, produce
from support.simulation import Simulation

from fakebroker.core.controller import leadership
from fakebroker.core.replication.behaviour import MAX_BYTES_PER_S, MAX_LAG_MS, Behaviour
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.errors import KafkaError


def sized(size: int) -> bytes:
    """Return a batch of exactly so many bytes."""
    empty = len(batch(b""))
    data = batch(b"v" * (size - empty))
    if len(data) > size:  # the record's own lengths take another byte
        data = batch(b"v" * (2 * size - empty - len(data)))
    assert len(data) == size
    return data


@pytest.mark.parametrize(
    "text",
    [
        "instant",
        "frozen",
        "external",
        "lagging:0",
        f"lagging:{MAX_LAG_MS}",
        "throttled:1",
        f"throttled:{MAX_BYTES_PER_S}",
    ],
)
def test_a_behaviour_is_written_as_it_is_read(text: str) -> None:
    assert str(Behaviour.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", "slow", "lagging", "lagging:", "lagging:-1", "lagging:1.5", f"lagging:{MAX_LAG_MS + 1}", "throttled:0",
     "throttled", "Frozen", "instant ", "lagging:١"],
)  # fmt: skip
def test_what_is_no_behaviour_is_told_what_there_is(text: str) -> None:
    with pytest.raises(ValueError):
        Behaviour.parse(text)


@pytest.mark.parametrize(
    ("bytes_per_s", "size", "at_ms"),
    [(1_000, 100, 100), (1_000, 250, 250), (100_000, 100, 1), (1_000_000, 100, 1), (300, 100, 334), (2**60, 100, 1)],
)
def test_a_throttled_follower_has_a_batch_when_its_last_byte_is_there(bytes_per_s: int, size: int, at_ms: int) -> None:
    simulation = Simulation(followers=f"throttled:{bytes_per_s}")
    simulation.topic()
    client = simulation.connect()
    client.send(produce("t", timeout_ms=1_000, records=sized(size)))
    simulation.advance(1_000)
    assert answers(client) == [(at_ms, NONE, 0)]


def test_a_throttled_line_takes_one_batch_after_the_other() -> None:
    simulation = Simulation(followers="throttled:1000")
    simulation.topic()
    first, second, third = (simulation.connect() for _ in range(3))
    first.send(produce("t", timeout_ms=5_000, records=sized(100)))
    simulation.advance(30)
    second.send(produce("t", timeout_ms=5_000, records=sized(200)))
    simulation.advance(970)
    # The line was idle from 300 on: it begins anew.
    third.send(produce("t", timeout_ms=5_000, records=sized(100)))
    simulation.advance(1_000)
    assert [answers(client) for client in (first, second, third)] == [
        [(100, NONE, 0)],
        [(300, NONE, 1)],
        [(1_100, NONE, 2)],
    ]


def test_a_throttled_line_does_not_round_batch_by_batch() -> None:
    simulation = Simulation(followers="throttled:30000")  # 100 bytes are 3.33 ms
    simulation.topic()
    clients = [simulation.connect() for _ in range(3)]
    for client in clients:
        client.send(produce("t", timeout_ms=100, records=sized(100)))
    simulation.advance(100)
    assert [answers(client)[0][0] for client in clients] == [4, 7, 10]


def test_a_throttled_follower_that_cannot_keep_up_leaves_the_isr_and_comes_back() -> None:
    simulation = Simulation(config={"replica.lag.time.max.ms": "1000"})
    simulation.topic(min_insync_replicas=3)
    simulation.followers("throttled:100", broker=3)
    client = simulation.connect()
    for _ in range(20):  # 2,000 bytes: 20 s
        client.send(produce("t", acks=1, records=sized(100)))
    partition = simulation.partition()
    simulation.advance(1_000)
    assert partition.isr == {1, 2, 3}
    simulation.advance(500)  # looked at every 500 ms; it last had everything at 0
    assert partition.isr == {1, 2}
    simulation.advance(18_499)
    assert partition.isr == {1, 2}
    simulation.advance(1)
    assert simulation.elapsed_ms == 20_000
    assert partition.isr == {1, 2, 3}
    assert partition.high_watermark == 20


def test_a_script_changes_what_followers_do_over_time() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.script([(0, "instant"), (2_000, "frozen"), (5_000, "instant")], topic="t", partition=0, broker_id=2)
    clients = [simulation.connect() for _ in range(4)]
    clients[0].send(produce("t", timeout_ms=10_000))
    simulation.advance(1_999)
    clients[1].send(produce("t", timeout_ms=10_000))
    simulation.advance(1)
    clients[2].send(produce("t", timeout_ms=10_000))
    clients[3].send(produce("t", timeout_ms=700))
    simulation.advance(10_000)
    assert [answers(client) for client in clients] == [
        [(0, NONE, 0)],
        [(1_999, NONE, 1)],
        [(5_000, NONE, 2)],
        [(2_700, TIMED_OUT, 3)],
    ]


def test_a_script_for_all_followers_applies_to_later_topics() -> None:
    simulation = Simulation()
    simulation.topic("early")
    simulation.script([(100, "frozen"), (300, "lagging:50")])
    simulation.advance(200)
    simulation.topic("late")
    client = simulation.connect()
    client.send(produce("late", timeout_ms=1_000))
    simulation.advance(1_000)
    assert answers(client) == [(350, NONE, 0)]


@pytest.mark.parametrize("times", [[], [-1], [5, 4], [0, MAX_LAG_MS + 1], [0, 10**400]])
def test_the_times_of_a_script_rise_from_now(times: list[int]) -> None:
    simulation = Simulation()
    simulation.topic()
    with pytest.raises(ValueError, match="increasing"):
        simulation.script([(at_ms, "frozen") for at_ms in times])


@pytest.mark.parametrize("wrong", [1.5, 1.0, "1", None, True])
def test_a_script_with_a_time_that_is_no_whole_number_does_nothing_at_all(wrong: object) -> None:
    simulation = Simulation()
    simulation.topic()
    with pytest.raises(TypeError, match=r"^a time of a script must be a whole number, not "):
        simulation.script([(0, "frozen"), (wrong, "instant")])
    client = simulation.connect()
    client.send(produce("t"))
    assert answers(client) == [(0, NONE, 0)]


@pytest.mark.parametrize("wrong", [1.5, 2.0, "5", None, True])
def test_a_lag_and_a_rate_are_whole_numbers(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"^lag_ms must be a whole number, not "):
        Behaviour.lagging(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^bytes_per_s must be a whole number, not "):
        Behaviour.throttled(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "selection", [{}, {"topic": "t"}, {"topic": "t", "partition": 0}, {"topic": "t", "partition": 0, "broker": 2}]
)
@pytest.mark.parametrize("scripted", [{}, {"topic": "t"}, {"topic": "t", "broker_id": 2}])
def test_a_newer_command_for_a_follower_ends_its_script(selection: dict[str, Any], scripted: dict[str, object]) -> None:
    simulation = Simulation()
    simulation.topic(replicas=2)
    simulation.script([(0, "instant"), (100, "frozen")], **scripted)
    simulation.followers("lagging:5", **selection)
    simulation.advance(200)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=1_000))
    simulation.advance(1_000)
    assert answers(client) == [(205, NONE, 0)]


def test_a_newer_script_for_a_follower_ends_the_one_before_though_its_first_step_is_to_come() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.script([(100, "frozen")])
    simulation.script([(500, "frozen")], topic="t")
    simulation.advance(200)
    client = simulation.connect()
    client.send(produce("t"))
    assert answers(client) == [(200, NONE, 0)]


def test_a_command_for_one_follower_leaves_the_others_to_their_script() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.script([(100, "lagging:50")], topic="t")
    simulation.followers("instant", "t", 0, 2)
    simulation.advance(100)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=1_000))
    simulation.advance(1_000)
    assert answers(client) == [(150, NONE, 0)]


def test_a_command_that_is_refused_leaves_the_script_alone() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.script([(100, "frozen")])
    for refused in ([], [(5, "instant"), (4, "instant")]):
        with pytest.raises(ValueError):
            simulation.script(refused)
    simulation.advance(100)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=10))
    simulation.advance(10)
    assert answers(client) == [(110, TIMED_OUT, 0)]


def test_later_topics_follow_the_newest_command_for_all() -> None:
    simulation = Simulation()
    simulation.topic("early")
    simulation.script([(100, "frozen")])
    simulation.followers("lagging:5")
    simulation.advance(50)
    simulation.topic("late")
    simulation.advance(150)
    simulation.topic("later")
    for topic in ("late", "later"):
        client = simulation.connect()
        client.send(produce(topic, timeout_ms=1_000))
        simulation.advance(100)
        assert [error for _, error, _ in answers(client)] == [NONE]


def test_a_script_ends_with_its_topic() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.script([(100, "frozen")], topic="t")
    simulation.delete_topic()
    simulation.topic()
    simulation.advance(200)
    client = simulation.connect()
    client.send(produce("t"))
    assert answers(client) == [(200, NONE, 0)]


def test_a_script_whose_topic_is_gone_does_nothing() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.script([(100, "frozen")], topic="t")
    simulation.delete_topic()
    simulation.advance(200)
    simulation.topic()
    client = simulation.connect()
    client.send(produce("t"))
    assert answers(client) == [(200, NONE, 0)]


@pytest.mark.parametrize(
    "selection", [{"topic": "u"}, {"partition": 7}, {"broker": 9}, {"topic": "alone"}, {"topic": "t", "broker": 1}]
)
def test_a_change_that_matches_no_follower_is_refused(selection: dict[str, Any]) -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.topic("alone", replicas=1)
    with pytest.raises(KafkaError, match="No follower has"):
        simulation.followers("frozen", **selection)


def test_a_replica_that_leads_takes_its_behaviour_up_when_it_follows() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.followers("lagging:80", "t")
    simulation.followers("instant", broker=3)
    simulation.move_leader(2)
    client = simulation.connect(2)
    client.send(produce("t", timeout_ms=500))
    simulation.advance(500)
    assert answers(client) == [(80, NONE, 0)]


@pytest.mark.parametrize(
    ("min_isr", "timeout_ms", "outcome"),
    [
        (1, 60_000, (45_000, NONE, 0)),  # the ISR shrinks to the leader, the watermark passes
        (1, 44_999, (44_999, TIMED_OUT, 0)),  # the timeout is over before that
        (2, 60_000, (60_000, TIMED_OUT, 0)),  # below the minimum the watermark is frozen
    ],
)
def test_the_three_outcomes_of_a_shrinking_isr(min_isr: int, timeout_ms: int, outcome: tuple[int, int, int]) -> None:
    simulation = Simulation(followers="frozen")
    simulation.topic(min_insync_replicas=min_isr)
    client, late = simulation.connect(), simulation.connect()
    simulation.advance(1)  # looked at every 15 s: at 30 s it is not yet longer than 30 s
    client.send(produce("t", timeout_ms=timeout_ms - 1))
    simulation.advance(50_000)
    late.send(produce("t", timeout_ms=60_000))
    simulation.advance(20_000)
    assert answers(client) == [outcome]
    # Afterwards: accepted by the leader alone, or refused.
    assert answers(late) == [(50_001, NONE, 1) if min_isr == 1 else (50_001, NOT_ENOUGH, -1)]


def test_below_the_minimum_a_follower_that_returns_frees_the_watermark() -> None:
    simulation = Simulation(followers="frozen")
    simulation.topic(min_insync_replicas=2)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=100_000))
    simulation.advance(50_000)
    assert simulation.partition().isr == {1}
    simulation.followers("lagging:70", broker=3)
    simulation.advance(10_000)
    assert answers(client) == [(50_070, NONE, 0)]
    assert simulation.partition().isr == {1, 3}


def test_a_follower_that_always_lags_a_little_stays_in_sync() -> None:
    simulation = Simulation(followers="lagging:900", config={"replica.lag.time.max.ms": "1000"})
    simulation.topic()
    client = simulation.connect()
    for _ in range(100):
        client.send(produce("t", acks=1))
        simulation.advance(70)
    assert simulation.partition().isr == {1, 2, 3}


def test_a_follower_that_lags_too_much_leaves() -> None:
    simulation = Simulation(followers="lagging:1100", config={"replica.lag.time.max.ms": "1000"})
    simulation.topic()
    client = simulation.connect()
    for _ in range(100):
        client.send(produce("t", acks=1))
        simulation.advance(70)
    assert simulation.partition().isr == {1}


def test_a_follower_that_comes_from_afar_does_not_hold_the_watermark_back() -> None:
    """The follower was not caught up lately, so acks=all does not wait for it while it copies again."""
    simulation = Simulation(config={"replica.lag.time.max.ms": "1000"})
    simulation.topic()
    simulation.followers("frozen", broker=3)
    client = simulation.connect()
    for _ in range(10):
        client.send(produce("t", acks=1, records=sized(100)))
    simulation.advance(5_000)
    simulation.followers("throttled:1000", broker=3)
    simulation.advance(500)
    assert simulation.partition().replicas[3].log_end_offset == 5
    client.send(produce("t", timeout_ms=100))
    assert answers(client)[-1] == (5_500, NONE, 10)


@pytest.mark.parametrize("behaviour", ["instant", "lagging:70", "throttled:900"])
@pytest.mark.parametrize("freezes", [0, 1, 2])
def test_topics_made_after_a_freeze_is_undone_have_the_followers_that_were_wanted_before(
    behaviour: str, freezes: int
) -> None:
    simulation = Simulation()
    simulation.followers(behaviour)
    for _ in range(freezes):
        simulation.followers("frozen")
    simulation.followers(None)
    assert str(simulation.cluster.followers.behaviour) == behaviour


def test_a_cluster_that_began_frozen_is_instant_when_the_freeze_is_undone() -> None:
    simulation = Simulation(followers="frozen")
    simulation.followers(None)
    assert str(simulation.cluster.followers.behaviour) == "instant"


@pytest.mark.interpreted
def test_a_look_at_the_isr_that_fails_is_not_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(partition: Partition, now_ms: int) -> bool:
        raise RuntimeError("on purpose")

    simulation = Simulation(followers="frozen")
    simulation.topic()
    simulation.advance(1)
    simulation.connect().send(produce("t", acks=1))
    with monkeypatch.context() as patch:
        patch.setattr(leadership, "maybe_shrink_isr", fails)
        with pytest.raises(AssertionError, match="a timer's task failed"):
            simulation.advance(45_000)
    assert simulation.partition().isr == {1, 2, 3}
    simulation.advance(15_000)
    assert simulation.partition().isr == {1}
