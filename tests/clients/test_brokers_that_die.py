"""Stock clients over sockets while a broker stops, dies, is paused, and comes back. A producer with acks=all continues,
a group continues to read, and no acknowledged record is lost, duplicated or out of order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer
from support import doses
from support.aiokafka_consumers import stop
from support.watchdog import LIMIT_S, join, wait_until

from fakebroker import FakeCluster
from fakebroker.testing import check_history, describe

pytestmark = [pytest.mark.clients, pytest.mark.slow]

SESSION_MS = 500
SETTINGS = {
    "broker.session.timeout.ms": SESSION_MS,
    "broker.heartbeat.interval.ms": 100,
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 3,
}
PARTITIONS = 3
AT_ONCE = 6  # records
MORE = 30  # records that have to get through for the work to go on
REQUEST_MS = 1_000  # how long a client waits for a broker that says nothing


class Work:
    """The work of a producer and of a member, in two threads, until `is_over`."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.acknowledged: set[bytes] = set()
        self.read: set[bytes] = set()
        self.producer_is_over = threading.Event()
        self.consumer_is_over = threading.Event()
        self._next = 0

    def records(self) -> list[tuple[int, bytes]]:
        """The next ones to send: partitions and values."""
        self._next += AT_ONCE
        return [(number % PARTITIONS, b"%d" % number) for number in range(self._next - AT_ONCE, self._next)]


def confluent_producer(work: Work) -> None:
    producer = Producer(
        {
            "bootstrap.servers": work.servers,
            "enable.idempotence": True,
            "socket.timeout.ms": REQUEST_MS,
            "linger.ms": 5,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
    )
    while not work.producer_is_over.is_set():
        errors: list[object] = []

        def told(error: object, _: object, errors: list[object] = errors) -> None:
            errors.append(error)

        records = work.records()
        for partition, value in records:
            producer.produce("t", value, partition=partition, on_delivery=told)
        assert producer.flush(LIMIT_S) == 0
        assert errors == [None] * AT_ONCE
        work.acknowledged.update(value for _, value in records)


def confluent_consumer(work: Work) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": work.servers,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "socket.timeout.ms": REQUEST_MS,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
    )
    consumer.subscribe(["t"])
    while not work.consumer_is_over.is_set():
        message = consumer.poll(0.05)
        if message is not None and message.error() is None:
            work.read.add(message.value() or b"")
    consumer.close()


def kafka_python_producer(work: Work) -> None:
    producer = KafkaProducer(
        bootstrap_servers=work.servers,
        enable_idempotence=True,
        request_timeout_ms=REQUEST_MS,
        linger_ms=5,
        reconnect_backoff_max_ms=200,
    )
    while not work.producer_is_over.is_set():
        records = work.records()
        sent = [producer.send("t", value, partition=partition) for partition, value in records]
        for future in sent:
            future.get(LIMIT_S)
        work.acknowledged.update(value for _, value in records)
    producer.close()


def kafka_python_consumer(work: Work) -> None:
    consumer = KafkaConsumer(
        "t",
        bootstrap_servers=work.servers,
        group_id="g",
        auto_offset_reset="earliest",
        request_timeout_ms=11_000,  # it wants more than the session of its group
        reconnect_backoff_max_ms=200,
    )
    while not work.consumer_is_over.is_set():
        time_ms = 50 if consumer.assignment() else 3_000  # see docs/decisions.md, 127
        for records in consumer.poll(time_ms).values():
            work.read.update(record.value for record in records)
    consumer.close(autocommit=False)


def aiokafka_producer(work: Work) -> None:
    async def main() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=work.servers, enable_idempotence=True, request_timeout_ms=REQUEST_MS, linger_ms=5
        )
        async with producer:
            while not work.producer_is_over.is_set():
                records = work.records()
                await asyncio.gather(
                    *(producer.send_and_wait("t", value, partition=partition) for partition, value in records)
                )
                work.acknowledged.update(value for _, value in records)

    asyncio.run(main())


def aiokafka_consumer(work: Work) -> None:
    async def main() -> None:
        consumer = AIOKafkaConsumer(
            "t",
            bootstrap_servers=work.servers,
            group_id="g",
            auto_offset_reset="earliest",
            request_timeout_ms=REQUEST_MS,
            enable_auto_commit=False,  # closed, it would commit for ever to a coordinator that it no longer looks for
        )
        await consumer.start()
        try:
            while not work.consumer_is_over.is_set():
                batches = await consumer.getmany(timeout_ms=50)
                for records in batches.values():
                    work.read.update(record.value for record in records)
                if batches:
                    await consumer.commit()
        finally:
            await stop(consumer)

    asyncio.run(main())


CLIENTS = {
    "confluent-kafka": (confluent_producer, confluent_consumer),
    "kafka-python": (kafka_python_producer, kafka_python_consumer),
    "aiokafka": (aiokafka_producer, aiokafka_consumer),
}


@contextmanager
def at_work(servers: str, produce: Callable[[Work], None], consume: Callable[[Work], None]) -> Iterator[Work]:
    """Run both in threads, and raise the errors of either at the end."""
    work = Work(servers)
    wrong: list[BaseException] = []

    def run(what: Callable[[Work], None]) -> None:
        try:
            what(work)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(what,), daemon=True) for what in (produce, consume)]
    for thread in threads:
        thread.start()
    try:
        yield work
    finally:
        work.producer_is_over.set()
        work.consumer_is_over.set()
        for thread in threads:
            join(thread)
        assert not wrong, wrong
        assert not any(thread.is_alive() for thread in threads)


def goes_on(work: Work, after: str) -> None:
    """More is acknowledged, and more of it is read."""
    for seen, what in ((work.acknowledged, "acknowledged"), (work.read, "read")):
        before = len(seen)
        wait_until(lambda s=seen, b=before: len(s) >= b + MORE, f"anything {what} after {after}")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("client", "befalls", "ends"),
    doses.nightly_but(
        [("kafka-python", "stop", "start"), ("confluent-kafka", "kill", "start"), ("aiokafka", "pause", "resume")],
        [(client, *ends) for client in CLIENTS for ends in (("stop", "start"), ("kill", "start"), ("pause", "resume"))],
    ),
)
def test_the_work_goes_on_and_nothing_acknowledged_is_lost(client: str, befalls: str, ends: str) -> None:
    with FakeCluster(brokers=3, config=SETTINGS, journal=1_000_000) as kafka:
        kafka.create_topic("t", assignments=[[1, 2, 3], [2, 3, 1], [3, 1, 2]], configs={"min.insync.replicas": 2})
        with at_work(kafka.bootstrap_servers, *CLIENTS[client]) as work:
            goes_on(work, "the start")
            for broker in (1, 2):
                getattr(kafka.brokers[broker], befalls)()
                goes_on(work, f"{befalls} of {broker}")
                getattr(kafka.brokers[broker], ends)()
                wait_until(lambda b=broker: kafka.brokers[b].is_running, "its start")  # type: ignore[misc]
                goes_on(work, f"{ends} of {broker}")
            work.producer_is_over.set()
            wait_until(lambda: work.acknowledged <= work.read, "the group's reading of it all")
        findings = check_history(kafka.journal)
        assert not findings, describe(findings)
