"""Stock clients at work beside `clock="auto"`: a skip expels no member, and fences no open transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from support.groups import CLASSIC, CONSUMER_GROUP_DESCRIBE, CONSUMER_GROUP_HEARTBEAT, Brokers, Member, await_shares
from support.raw_client import RawClient
from support.requests import Produced, produce
from support.watchdog import LIMIT_S, wait_until, within

from fakebroker import FakeCluster
from fakebroker.core.journal.group_events import MemberLeft

pytestmark = [
    pytest.mark.clients,
    pytest.mark.needs_apis(*CLASSIC, CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE),
]

REQUEST_TIMED_OUT = 7
TIMEOUT_MS = 30_000
SHORT_SESSION_MS = 1_000

# Session timeouts are the defaults: 10 s of aiokafka, 45 s of the others, the broker's 45 s with KIP-848. So are long
# polls of half a second, but one client polls every few milliseconds.
SHORT_POLL_MS = 5
MEMBERS: dict[str, tuple[str, dict[str, object]]] = {
    "aiokafka": ("aiokafka", {}),
    "kafka-python": ("kafka-python", {}),
    "confluent": ("confluent", {}),
    "confluent that polls all the time": ("confluent", {"fetch.wait.max.ms": SHORT_POLL_MS}),
    "confluent, KIP-848": ("confluent", {"group.protocol": "consumer"}),
}


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    """Return a cluster with a frozen topic "t" and a healthy topic "u"."""
    config = {"replica.lag.time.max.ms": 2**31 - 1, "group.min.session.timeout.ms": SHORT_SESSION_MS}
    with FakeCluster(brokers=3, clock="auto", config=config) as cluster:
        cluster.create_topic("t", partitions=1, replication_factor=3)
        cluster.create_topic("u", partitions=1, replication_factor=3)
        cluster.move_leader("t", 0, 1)
        cluster.followers.freeze("t")
        yield cluster


def time_out(kafka: FakeCluster, times: int) -> None:
    """Park a Produce request for 30 s, so many times: a second or so of real time, with a busy machine."""
    before_ms = kafka.clock.elapsed_ms
    with RawClient(kafka.endpoints[0]) as client:
        for _ in range(times):
            answer = Produced(client.ask(produce("t", timeout_ms=TIMEOUT_MS)))
            assert [error for error, _ in answer.partitions.values()] == [REQUEST_TIMED_OUT]
    assert kafka.clock.elapsed_ms - before_ms >= times * TIMEOUT_MS


def left(kafka: FakeCluster) -> list[tuple[str, str]]:
    """Return the members that have left their group, and the reasons."""
    return [(event.group, event.reason) for event in kafka.journal if isinstance(event, MemberLeft)]


def test_members_stay_in_their_groups_while_produce_requests_time_out(kafka: FakeCluster) -> None:
    brokers = Brokers(kafka.bootstrap_servers)
    with ExitStack() as stack:
        members = [
            stack.enter_context(Member(client, brokers, name, "u", settings))
            for name, (client, settings) in MEMBERS.items()
        ]
        for member in members:
            await_shares([member], [1])
        kafka.journal.clear()
        time_out(kafka, 8)

        assert left(kafka) == []


@pytest.mark.nightly  # tests/properties/test_fair_skips.py has it every day, in virtual time
def test_a_member_that_dies_is_expelled_all_the_same(kafka: FakeCluster) -> None:
    """The session takes as long as with the real clock; the other member of the group stays."""
    brokers = Brokers(kafka.bootstrap_servers)
    given = {"session.timeout.ms": SHORT_SESSION_MS, "heartbeat.interval.ms": 200}
    alive = {"heartbeat.interval.ms": 200}
    topic = brokers.topic(2)
    with (
        Member("confluent", brokers, "g", topic, given) as dying,
        Member("confluent", brokers, "g", topic, alive) as staying,
    ):
        await_shares([dying, staying], [1, 1])
        kafka.journal.clear()
        dying.kill()

        def is_expelled() -> bool:
            time_out(kafka, 1)
            return bool(left(kafka))

        wait_until(is_expelled, "the end of its session")
        await_shares([staying], [2])
        assert [group for group, _ in left(kafka)] == ["g"]


def test_an_open_transaction_of_confluent_kafka_commits_after_three_timeouts(kafka: FakeCluster) -> None:
    """The `transaction.timeout.ms` is librdkafka's default, 60 s."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "open"})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    producer.produce("u", b"v")
    assert producer.flush(LIMIT_S) == 0
    time_out(kafka, 3)
    producer.produce("u", b"w")
    producer.commit_transaction(LIMIT_S)


def test_an_open_transaction_of_aiokafka_commits_after_three_timeouts(kafka: FakeCluster) -> None:
    """The `transaction_timeout_ms` is aiokafka's default, 60 s."""

    async def work() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, transactional_id="open")
        await producer.start()
        try:
            async with producer.transaction():
                await producer.send_and_wait("u", b"v")
                await asyncio.to_thread(time_out, kafka, 3)
                await producer.send_and_wait("u", b"w")
        finally:
            await producer.stop()

    asyncio.run(within(work(), "the transaction"))
