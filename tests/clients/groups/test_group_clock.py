"""Time-outs of groups with the clock in hand: minutes of the broker's time, no time of the test's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import confluent_kafka
import pytest
from support.messages import decode_response
from support.raw_client import RawClient
from support.watchdog import LIMIT_S, wait_until

from conformance.group_frames import DESCRIBE_GROUPS, JOIN_GROUP, describe_groups, join_group, subscription, sync_group
from fakebroker import FakeCluster
from fakebroker.core.journal.events import TimerFired

pytestmark = [pytest.mark.clients, pytest.mark.needs_apis(8, 9, 10, 11, 12, 13, 14, 15)]

SESSION_MS, REBALANCE_MS = 45_000, 300_000
RETENTION_MS, LOOKED_FOR_MS = 7 * 86_400_000, 600_000  # of offsets


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=1, clock="manual", config={"group.initial.rebalance.delay.ms": 0}) as cluster:
        cluster.create_topic("t", partitions=2)
        cluster.create_topic("u")
        yield cluster


@pytest.fixture
def raw(kafka: FakeCluster) -> Iterator[RawClient]:
    with RawClient(kafka.brokers[1].endpoint) as client:
        yield client


def consumer(kafka: FakeCluster, **settings: object) -> confluent_kafka.Consumer:
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "g",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": 100,
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 1,  # a clock that only the test moves
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )


def until(what: Callable[[], bool], then: Callable[[], object]) -> None:
    """Wait for a condition, and do something before each look but the first."""
    looks = 0

    def look() -> bool:
        nonlocal looks
        if looks:
            then()
        looks += 1
        return what()

    wait_until(look, "what the members and the clock bring about")


def step(kafka: FakeCluster, client: confluent_kafka.Consumer) -> None:
    client.poll(0.05)
    kafka.clock.advance(1)


def state(raw: RawClient) -> tuple[str, int]:
    """Return the state of the group, and the number of its members."""
    _, answer = decode_response(DESCRIBE_GROUPS, 5, raw.ask(describe_groups(["g"], version=5)))
    [group] = answer.groups
    return group.group_state, len(group.members)


def test_a_session_ends_when_the_clock_says_so(kafka: FakeCluster, raw: RawClient) -> None:
    static = consumer(kafka, group_instance_id="one")
    static.subscribe(["t"])
    until(lambda: len(static.assignment()) == 2, lambda: step(kafka, static))
    static.close()  # a static member does not leave

    kafka.clock.advance(SESSION_MS - 1_000)  # its last heartbeat was a moment ago
    assert state(raw) == ("Stable", 1)
    kafka.clock.advance(1_000)
    assert state(raw) == ("Empty", 0)


def test_a_rebalance_ends_when_the_clock_says_so(kafka: FakeCluster, raw: RawClient) -> None:
    """A member of its own kind joins, and is not heard of again; the stock one waits for it for five minutes."""
    stock = consumer(kafka, partition_assignment_strategy="range")
    stock.subscribe(["t"])
    until(lambda: len(stock.assignment()) == 2, lambda: step(kafka, stock))
    said = subscription("t")
    both_joined = [("CompletingRebalance", 2), ("Stable", 2)]
    with RawClient(kafka.brokers[1].endpoint) as other:
        join = join_group(
            "g", version=2, protocols={"range": said}, session_ms=2 * REBALANCE_MS, rebalance_ms=REBALANCE_MS
        )
        other.send(join)
        until(lambda: state(raw) in both_joined, lambda: step(kafka, stock))
        _, joined = decode_response(JOIN_GROUP, 2, other.receive())
        other.send(sync_group("g", joined.member_id, joined.generation_id, version=3))
        until(lambda: state(raw)[0] == "Stable", lambda: step(kafka, stock))

        joins = len(kafka.journal.requests(api="JoinGroup"))
        stock.subscribe(["t", "u"])
        until(lambda: state(raw)[0] == "PreparingRebalance", lambda: step(kafka, stock))
        until(lambda: len(stock.assignment()) == 0, lambda: step(kafka, stock))
        wait_until(lambda: len(kafka.journal.requests(api="JoinGroup")) > joins, "its request to join again")
        kafka.clock.advance(REBALANCE_MS - 1_000)
        assert state(raw) == ("PreparingRebalance", 2)
        kafka.clock.advance(1_000)
        assert state(raw)[1] == 1
        until(lambda: len(stock.assignment()) == 3, lambda: step(kafka, stock))
    stock.close()


def test_an_offset_expires_when_the_clock_says_so(kafka: FakeCluster) -> None:
    """A week goes by, in which the broker has next to nothing to do, and does no more than that."""
    stock = consumer(kafka)
    stock.subscribe(["t"])
    until(lambda: len(stock.assignment()) == 2, lambda: step(kafka, stock))
    place = confluent_kafka.TopicPartition("t", 0, 5)
    stock.commit(offsets=[place], asynchronous=False)
    stock.close()

    def committed() -> int:
        asking = consumer(kafka)
        try:
            [position] = asking.committed([confluent_kafka.TopicPartition("t", 0)], timeout=LIMIT_S)
            return int(position.offset)
        finally:
            asking.close()

    kafka.clock.advance(RETENTION_MS - LOOKED_FOR_MS)
    assert committed() == 5
    before = timers_run(kafka)
    kafka.clock.advance(2 * LOOKED_FOR_MS)
    assert committed() == confluent_kafka.OFFSET_INVALID
    assert timers_run(kafka) - before < 100
    assert timers_run(kafka) < 1_000  # ticks of a week: 100,000


def timers_run(kafka: FakeCluster) -> int:
    return sum(event.tasks for event in kafka.journal if isinstance(event, TimerFired))
