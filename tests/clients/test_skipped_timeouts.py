"""Stock clients against `clock="auto"`: their produce timeout of 30 s is answered within 50 ms.

A loaded machine can make any single try late, so the bound is for the middle one of several, and for what they took
without waiting for a core.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from statistics import median

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaProducer
from kafka.errors import RequestTimedOutError
from support.patience import Stopwatch
from support.watchdog import LIMIT_S, within

from fakebroker import FakeCluster

pytestmark = pytest.mark.clients

TIMEOUT_MS = 30_000
PROMPT_S = 0.05
TRIES = 11


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    """With a frozen topic "t", and a healthy topic "u" to warm up with."""
    with FakeCluster(clock="auto", config={"replica.lag.time.max.ms": 2**31 - 1}) as cluster:
        cluster.create_topic("t")
        cluster.create_topic("u")
        cluster.followers.freeze("t")
        yield cluster


def check(kafka: FakeCluster, took_s: list[float]) -> None:
    """Answered in time as the client sees it, and not before its time as the broker does."""
    answered = kafka.journal.produce(topic="t").expect("REQUEST_TIMED_OUT", count=TRIES)
    assert {entry.waited_ms for entry in answered} == {TIMEOUT_MS}
    assert median(took_s) < PROMPT_S


def test_confluent_kafka(kafka: FakeCluster) -> None:
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "acks": "all",
            "retries": 0,
            "linger.ms": 0,
            "request.timeout.ms": TIMEOUT_MS,
        }
    )
    producer.produce("u", b"v")
    assert producer.flush(LIMIT_S) == 0
    errors: list[str] = []
    took_s: list[float] = []
    for _ in range(TRIES):
        watch = Stopwatch()
        producer.produce("t", b"v", on_delivery=lambda error, _: errors.append(error.name() if error else "none"))
        assert producer.flush(LIMIT_S) == 0
        took_s.append(watch.own_s())

    assert errors == ["REQUEST_TIMED_OUT"] * TRIES
    check(kafka, took_s)


def test_kafka_python(kafka: FakeCluster) -> None:
    """It uses one number for the broker's timeout and its own timer, which never fires first here."""
    producer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers.split(","),
        acks="all",
        retries=0,
        enable_idempotence=False,
        request_timeout_ms=TIMEOUT_MS,
    )
    producer.send("u", b"v").get(LIMIT_S)
    took_s: list[float] = []
    for _ in range(TRIES):
        watch = Stopwatch()
        with pytest.raises(RequestTimedOutError):
            producer.send("t", b"v", partition=0).get(LIMIT_S)
        took_s.append(watch.own_s())
    producer.close(LIMIT_S)

    check(kafka, took_s)


def test_aiokafka_sends_again_what_timed_out(kafka: FakeCluster) -> None:
    """It retries error 7 until a timer of its own is over, so the application never sees it; the journal does."""

    async def work() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=kafka.bootstrap_servers, acks="all", request_timeout_ms=TIMEOUT_MS, retry_backoff_ms=1
        )
        await producer.start()
        try:
            await producer.send_and_wait("u", b"v")
            sent = await producer.send("t", b"v", partition=0)
            async with asyncio.timeout(LIMIT_S):
                while sum(entry.error is not None for entry in kafka.journal.produce(topic="t")) < 3:
                    await asyncio.sleep(0.01)
            assert not sent.done()
            kafka.followers.resume("t")
            assert (await within(sent)).offset >= 3  # what it sent before is in the log
        finally:
            await producer.stop()

    asyncio.run(work())
    answered = kafka.journal.produce(topic="t").expect("REQUEST_TIMED_OUT")
    assert {entry.waited_ms for entry in answered} == {TIMEOUT_MS}
