"""Stock clients against `clock="auto"`: their produce timeout of five minutes is answered within the watchdog's one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaProducer
from kafka.errors import RequestTimedOutError
from support.watchdog import LIMIT_S, until, within

from fakebroker import FakeCluster

pytestmark = pytest.mark.clients

TIMEOUT_MS = 300_000
TRIES = 3


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    """Return a cluster with a frozen topic "t", and a healthy topic "u" to warm up with."""
    with FakeCluster(clock="auto", config={"replica.lag.time.max.ms": 2**31 - 1}) as cluster:
        cluster.create_topic("t")
        cluster.create_topic("u")
        cluster.followers.freeze("t")
        yield cluster


def check(kafka: FakeCluster) -> None:
    """None is answered before its time, by the broker's clock."""
    answered = kafka.journal.produce(topic="t").expect("REQUEST_TIMED_OUT", count=TRIES)
    assert {entry.waited_ms for entry in answered} == {TIMEOUT_MS}


def test_confluent_kafka(kafka: FakeCluster) -> None:
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "acks": "all",
            "retries": 0,
            "linger.ms": 0,
            "request.timeout.ms": TIMEOUT_MS,
            "message.timeout.ms": 3 * TIMEOUT_MS,
        }
    )
    producer.produce("u", b"v")
    assert producer.flush(LIMIT_S) == 0
    errors: list[str] = []
    for _ in range(TRIES):
        producer.produce("t", b"v", on_delivery=lambda error, _: errors.append(error.name() if error else "none"))
        assert producer.flush(LIMIT_S) == 0

    assert errors == ["REQUEST_TIMED_OUT"] * TRIES
    check(kafka)


def test_kafka_python(kafka: FakeCluster) -> None:
    """kafka-python has one setting for the broker's timeout and its own timer, which never fires first here."""
    producer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers.split(","),
        acks="all",
        retries=0,
        enable_idempotence=False,
        request_timeout_ms=TIMEOUT_MS,
        delivery_timeout_ms=3 * TIMEOUT_MS,
    )
    producer.send("u", b"v").get(LIMIT_S)
    for _ in range(TRIES):
        with pytest.raises(RequestTimedOutError):
            producer.send("t", b"v", partition=0).get(LIMIT_S)
    producer.close(LIMIT_S)

    check(kafka)


def test_aiokafka_sends_again_what_timed_out(kafka: FakeCluster) -> None:
    """aiokafka retries error 7 until its own timer ends, so the application never sees it; the journal does."""

    async def work() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=kafka.bootstrap_servers, acks="all", request_timeout_ms=TIMEOUT_MS, retry_backoff_ms=1
        )
        await producer.start()
        try:
            await producer.send_and_wait("u", b"v")
            sent = await producer.send("t", b"v", partition=0)
            await until(
                lambda: sum(entry.error is not None for entry in kafka.journal.produce(topic="t")) >= 3,
                "the third attempt",
            )
            assert not sent.done()
            kafka.followers.resume("t")
            assert (await within(sent)).offset >= 3  # what it sent before is in the log
        finally:
            await producer.stop()

    asyncio.run(work())
    answered = kafka.journal.produce(topic="t").expect("REQUEST_TIMED_OUT")
    assert {entry.waited_ms for entry in answered} == {TIMEOUT_MS}
