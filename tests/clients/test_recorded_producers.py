"""Results that stock producers report, compared with the logs: a frozen follower, a lost acknowledgement, a leader that
dies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError as AioError
from confluent_kafka import KafkaException, Producer
from kafka import KafkaProducer
from kafka.errors import KafkaError
from support.watchdog import LIMIT_S

from fakebroker import FakeCluster
from fakebroker.testing import ProducerHistory, recorded
from fakebroker.testing.producers.calls import CallOutcome
from fakebroker.testing.producers.findings import DUPLICATE, LOST

pytestmark = pytest.mark.clients

VALUE = b"v"


def with_confluent_kafka(servers: str, history: ProducerHistory, acks: str, tries_once: bool) -> None:
    settings = {"bootstrap.servers": servers, "acks": acks, "retry.backoff.ms": 10, "log_level": 0}
    if tries_once:
        settings |= {"retries": 0, "message.timeout.ms": 1_000}
    producer = recorded(Producer(settings), history)
    producer.produce("t", VALUE, partition=0)
    assert producer.flush(LIMIT_S) == 0


def with_kafka_python(servers: str, history: ProducerHistory, acks: str, tries_once: bool) -> None:
    settings: dict[str, Any] = {"retries": 5, "retry_backoff_ms": 10}
    if tries_once:
        settings = {"retries": 0, "request_timeout_ms": 500, "delivery_timeout_ms": 1_000}
    settings |= {"bootstrap_servers": servers, "acks": acks if acks == "all" else int(acks)}
    producer = recorded(KafkaProducer(**settings, enable_idempotence=False), history)
    with suppress(KafkaError):
        producer.send("t", VALUE, partition=0).get(LIMIT_S)
    producer.close()


def with_aiokafka(servers: str, history: ProducerHistory, acks: str, tries_once: bool) -> None:
    async def main() -> None:
        timeout_ms = 500 if tries_once else 40_000
        settings = {"bootstrap_servers": servers, "acks": acks if acks == "all" else int(acks), "retry_backoff_ms": 10}
        producer = AIOKafkaProducer(**settings, request_timeout_ms=timeout_ms)
        async with recorded(producer, history) as recording:
            with suppress(AioError):
                await recording.send_and_wait("t", VALUE, partition=0)

    asyncio.run(main())


Client = Callable[[str, ProducerHistory, str, bool], None]
CLIENTS = pytest.mark.parametrize("send", [with_confluent_kafka, with_kafka_python, with_aiokafka])


def outcomes(history: ProducerHistory) -> list[tuple[CallOutcome, int, int]]:
    return [(call.outcome, call.partition, call.offset) for call in history.calls]


def kinds(history: ProducerHistory, kafka: FakeCluster) -> list[tuple[str, int, int]]:
    return [(problem.kind, problem.partition, problem.offset) for problem in history.check(kafka.journal)]


@CLIENTS
def test_what_is_acknowledged(send: Client) -> None:
    history = ProducerHistory()
    with FakeCluster() as kafka:
        kafka.create_topic("t", partitions=1)
        send(kafka.bootstrap_servers, history, "all", False)
        assert outcomes(history) == [(CallOutcome.OK, 0, 0)]
        assert kinds(history, kafka) == []


@CLIENTS
def test_with_a_frozen_follower_the_client_gives_up_and_it_is_written(send: Client) -> None:
    history = ProducerHistory()
    with FakeCluster(brokers=3) as kafka:
        kafka.create_topic("t", partitions=1)
        kafka.followers.freeze("t", partition=0)
        send(kafka.bootstrap_servers, history, "all", True)
        assert outcomes(history) == [(CallOutcome.UNKNOWN, -1, -1)]
        assert {kind for kind, _, _ in kinds(history, kafka)} <= {DUPLICATE}  # it may have tried again, on its own
        assert kafka.journal.produce(topic="t")[0].base_offset == 0


@CLIENTS
def test_a_lost_acknowledgement_is_a_duplicate(send: Client) -> None:
    history = ProducerHistory()
    with FakeCluster(brokers=3) as kafka:
        kafka.create_topic("t", partitions=1)
        kafka.faults.add(when={"api": "Produce", "topic": "t", "at": "after_append"}, do="disconnect")
        send(kafka.bootstrap_servers, history, "all", False)
        assert outcomes(history) == [(CallOutcome.OK, 0, 1)]
        assert kinds(history, kafka) == [(DUPLICATE, 0, 1)]


@CLIENTS
def test_with_acks_1_a_leader_dies_and_with_it_what_was_acknowledged(send: Client) -> None:
    history = ProducerHistory()
    with FakeCluster(brokers=3, config={"broker.session.timeout.ms": 500}, clock="manual") as kafka:
        kafka.create_topic("t", partitions=1)
        kafka.followers.freeze("t", partition=0)
        send(kafka.bootstrap_servers, history, "1", False)
        assert outcomes(history) == [(CallOutcome.OK, 0, 0)]
        assert kinds(history, kafka) == []
        kafka.brokers[1].kill()
        kafka.clock.advance(1_000)
        assert kinds(history, kafka) == [(LOST, 0, 0)]


@CLIENTS
def test_with_acks_0_the_outcome_is_unknown(send: Client) -> None:
    history = ProducerHistory()
    with FakeCluster() as kafka:
        kafka.create_topic("t", partitions=1)
        send(kafka.bootstrap_servers, history, "0", False)
        assert outcomes(history) == [(CallOutcome.UNKNOWN, -1, -1)]
        assert kinds(history, kafka) == []


def test_what_was_refused_on_the_spot() -> None:
    history = ProducerHistory()
    with FakeCluster() as kafka:
        kafka.create_topic("t", partitions=1)
        confluent = recorded(
            Producer({"bootstrap.servers": kafka.bootstrap_servers, "message.max.bytes": 1_000}), history
        )
        with pytest.raises(KafkaException):
            confluent.produce("t", b"x" * 2_000)
        python = recorded(KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, max_request_size=1_000), history)
        with pytest.raises(KafkaError):
            python.send("t", b"x" * 2_000)
        python.close()

        async def main() -> None:
            aio = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, max_request_size=1_000)
            async with recorded(aio, history) as recording:
                with pytest.raises(AioError):
                    await recording.send("t", b"x" * 2_000)

        asyncio.run(main())
        assert [(call.client, call.outcome) for call in history.calls] == [
            (f"producer {number}", CallOutcome.FAILED) for number in (1, 2, 3)
        ]
        assert kinds(history, kafka) == []


def test_kafka_python_that_tries_once_is_refused_for_sure() -> None:
    history = ProducerHistory()
    with FakeCluster() as kafka:
        kafka.create_topic("t", partitions=1, configs={"max.message.bytes": 500})
        for retries, outcome in ((0, CallOutcome.FAILED), (3, CallOutcome.UNKNOWN)):
            servers = kafka.bootstrap_servers
            producer = recorded(
                KafkaProducer(bootstrap_servers=servers, retries=retries, enable_idempotence=False), history, "me"
            )
            with pytest.raises(KafkaError):
                producer.send("t", b"x" * 1_000).get(LIMIT_S)
            producer.close()
            assert (history.calls[-1].outcome, history.calls[-1].error) == (outcome, "MESSAGE_TOO_LARGE")


def test_what_is_passed_on() -> None:
    """Keys, headers, a callback of one's own, and whatever else a producer can do."""
    history, offsets = ProducerHistory(), []
    with FakeCluster() as kafka:
        kafka.create_topic("t", partitions=2)
        producer = recorded(Producer({"bootstrap.servers": kafka.bootstrap_servers}), history, "orders")
        producer.produce(
            "t",
            "text",
            "key",
            1,
            on_delivery=lambda error, message: offsets.append(message.offset()),
            headers={"h": "x"},
        )
        producer.produce("t", value=None, key=b"key", partition=1, headers=[("h", None)])
        assert len(producer) == 2
        assert producer.flush(LIMIT_S) == 0
        assert offsets == [0]
        assert outcomes(history) == [(CallOutcome.OK, 1, 0), (CallOutcome.OK, 1, 1)]
        assert {call.client for call in history.calls} == {"orders"}
        assert kinds(history, kafka) == []


def test_no_producer() -> None:
    with pytest.raises(
        TypeError, match=r"a builtins\.dict cannot be recorded; confluent_kafka\.Producer, kafka\.Kafka"
    ):
        recorded({}, ProducerHistory())
    producer = recorded(Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}), ProducerHistory())
    with pytest.raises(TypeError, match="takes bytes or text as they are sent, and no dict"):
        producer.produce("t", {"a": 1})
