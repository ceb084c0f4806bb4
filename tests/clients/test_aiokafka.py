"""aiokafka, unmodified: what the application sees, and what the log holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import RequestTimedOutError
from support.aiokafka_consumers import stop
from support.log_reader import read_log, read_values
from support.watchdog import run, until, wait_until

from fakebroker import FakeCluster
from fakebroker.core.journal.events import Parked

pytestmark = pytest.mark.clients

T = TypeVar("T")

TIMEOUT_MS = 2_000  # also for the start of the client, and for a record to be sent

PRODUCERS: dict[str, dict[str, Any]] = {
    "acks=0": {"acks": 0},
    "acks=1": {"acks": 1},
    "acks=all": {"acks": "all"},
    "default": {},
    "idempotent": {"enable_idempotence": True},
}


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=3) as cluster:
        yield cluster


@asynccontextmanager
async def producer(kafka: FakeCluster, **settings: Any) -> AsyncIterator[AIOKafkaProducer]:
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, **settings) as made:
        yield made


@pytest.mark.parametrize("settings", PRODUCERS.values(), ids=PRODUCERS.keys())
def test_what_is_sent_is_in_the_log_in_order(kafka: FakeCluster, settings: dict[str, Any]) -> None:
    kafka.create_topic("t", partitions=1)
    values = [b"value %d" % i for i in range(50)]

    async def work() -> None:
        async with producer(kafka, **settings) as sender:
            for value in values:
                await sender.send("t", value, partition=0)
            await sender.flush()

    run(work())
    # With acks=0 a flush tells no more than that the requests were written to the socket.
    wait_until(lambda: len(read_values(kafka, "t")) >= len(values), "the last record's arrival")
    assert read_values(kafka, "t") == values


@pytest.mark.parametrize("name", ["acks=1", "acks=all", "default", "idempotent"])
def test_answers_tell_the_offsets_of_the_log(kafka: FakeCluster, name: str) -> None:
    kafka.create_topic("t", partitions=1)

    async def work() -> list[int]:
        async with producer(kafka, **PRODUCERS[name]) as sender:
            return [(await sender.send_and_wait("t", b"v", partition=0)).offset for _ in range(10)]

    assert run(work()) == list(range(10))


def test_partitions_on_several_brokers_have_offsets_of_their_own(kafka: FakeCluster) -> None:
    kafka.create_topic("t", partitions=4)
    expected = {p: [b"%d/%d" % (p, i) for i in range(p + 1)] for p in range(4)}

    async def work() -> dict[int, list[int]]:
        async with producer(kafka, acks="all") as sender:
            return {
                partition: [(await sender.send_and_wait("t", value, partition=partition)).offset for value in values]
                for partition, values in expected.items()
            }

    assert run(work()) == {p: list(range(p + 1)) for p in range(4)}
    assert {p: read_values(kafka, "t", p) for p in range(4)} == expected


def test_a_topic_is_made_when_it_is_first_produced_to(kafka: FakeCluster) -> None:
    async def work() -> tuple[int, int]:
        async with producer(kafka, acks="all") as sender:
            answer = await sender.send_and_wait("new", b"first")
            return answer.partition, answer.offset

    assert run(work()) == (0, 0)
    assert read_values(kafka, "new") == [b"first"]


async def create_topics(kafka: FakeCluster, topic: NewTopic) -> list[tuple[str, int]]:
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    await admin.start()
    try:
        answer = await admin.create_topics([topic])
    finally:
        await admin.close()
    return [(name, code) for name, code, _ in answer.topic_errors]


@pytest.mark.parametrize(
    ("topic", "code"),
    [(NewTopic("made", 3, 2), 0), (NewTopic("t", 1, 1), 36), (NewTopic("n", 1, 4), 38)],
    ids=["new", "there already", "too many replicas"],
)
def test_the_admin_client_is_told_what_became_of_a_topic(kafka: FakeCluster, topic: NewTopic, code: int) -> None:
    kafka.create_topic("t")

    assert run(create_topics(kafka, topic)) == [(topic.name, code)]


def test_a_frozen_partition_makes_the_client_time_out(kafka: FakeCluster) -> None:
    kafka.create_topic("t")
    kafka.followers.freeze("t")

    async def work() -> None:
        async with producer(kafka, acks="all", request_timeout_ms=TIMEOUT_MS) as sender:
            await sender.send_and_wait("t", b"v", partition=0)

    # One setting is the timeout in the request, the client's own, and its retry limit. The error is the same in each
    # case.
    with pytest.raises(RequestTimedOutError):
        run(work())


def test_a_timed_out_record_is_in_the_log_and_seen_once_followers_resume(kafka: FakeCluster) -> None:
    kafka.create_topic("t")
    kafka.followers.freeze("t")

    async def work() -> None:
        async with producer(kafka, acks="all", request_timeout_ms=TIMEOUT_MS) as sender:
            await sender.send_and_wait("t", b"timed out", partition=0)

    with pytest.raises(RequestTimedOutError):
        run(work())
    hidden = read_log(kafka, "t")
    kafka.followers.resume("t")

    # Its retries may have appended it more than once.
    assert (hidden, set(read_values(kafka, "t"))) == ([], {b"timed out"})


def test_a_partition_that_resumes_takes_acks_all_again(kafka: FakeCluster) -> None:
    kafka.create_topic("t")
    kafka.followers.freeze("t")

    async def work() -> int:
        async with producer(kafka, acks="all", request_timeout_ms=TIMEOUT_MS) as sender:
            with pytest.raises(RequestTimedOutError):
                await sender.send_and_wait("t", b"timed out", partition=0)
            kafka.followers.resume("t")
            return int((await sender.send_and_wait("t", b"delivered", partition=0)).offset)

    offset = run(work())
    assert read_values(kafka, "t")[offset] == b"delivered"


def test_a_consumer_with_assigned_offsets_reads_what_was_produced(kafka: FakeCluster) -> None:
    kafka.create_topic("t", partitions=2)
    values = [b"value %d" % i for i in range(20)]

    async def work() -> list[tuple[int, bytes]]:
        async with producer(kafka, acks="all") as sender:
            for value in values:
                await sender.send_and_wait("t", value, partition=1)
        consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, enable_auto_commit=False)
        await consumer.start()
        try:
            consumer.assign([TopicPartition("t", 1)])
            consumer.seek(TopicPartition("t", 1), 0)
            read = [await consumer.getone() for _ in values]
        finally:
            await stop(consumer)
        return [(message.offset, message.value) for message in read]

    assert run(work()) == list(enumerate(values))


def test_a_consumer_is_stopped_during_the_backoff_of_a_fetch(
    kafka: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    kafka.create_topic("t", partitions=1, replication_factor=1)
    settings = {"enable_auto_commit": False, "retry_backoff_ms": 100 * TIMEOUT_MS}

    async def work() -> None:
        consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap_servers, **settings)
        await consumer.start()
        consumer.assign([TopicPartition("t", 0)])
        consumer.seek(TopicPartition("t", 0), 0)
        await until(lambda: any(isinstance(event, Parked) for event in kafka.journal), "the fetch to be parked")
        await asyncio.to_thread(kafka.brokers[1].stop)
        await until(lambda: "Failed fetch messages" in caplog.text, "the fetch to fail")
        await stop(consumer)
        assert not any(connection.connected() for connection in consumer._client._conns.values())

    run(work())
