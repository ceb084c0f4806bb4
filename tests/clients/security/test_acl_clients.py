"""Stock clients without an ACL for a topic, a group or a transactional id: each raises its own exception.

Then the ACL is added, and the same client continues. A refused transactional id is fatal to each of them, as is a
refused group to aiokafka. There the next client with the same id continues.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import aiokafka
import aiokafka.errors as aiokafka_errors
import confluent_kafka
import kafka as kafka_python
import kafka.errors as kafka_python_errors
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from support.log_reader import read_values
from support.secured_sends import VALUE
from support.watchdog import LIMIT_S, call, wait_until, within

from fakebroker import FakeCluster

pytest.importorskip("cryptography", reason="the extra security is not installed")
pytestmark = [pytest.mark.clients, pytest.mark.slow]

ALICE = "User:alice"
SEEN = "seen"  # the topic that alice may read
LIMIT_MS = int(LIMIT_S * 1_000)


@pytest.fixture(scope="module")
def kafka() -> Iterator[FakeCluster]:
    acls = [
        {"resource_type": "topic", "name": SEEN, "operation": "read", "principal": ALICE},
        {"resource_type": "topic", "name": "sent-", "pattern": "prefixed", "operation": "write", "principal": ALICE},
    ]
    config = {"super.users": "User:ANONYMOUS", "group.initial.rebalance.delay.ms": "0"}
    listeners = ["PLAINTEXT", "SASL_SSL"]
    with FakeCluster(1, listeners=listeners, users={"alice": "secret"}, acls=acls, config=config) as cluster:
        cluster.create_topic(SEEN, partitions=1)
        producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap("PLAINTEXT")})
        producer.produce(SEEN, VALUE)
        assert producer.flush(LIMIT_S) == 0
        yield cluster


def settings(kafka: FakeCluster, library: str, **more: Any) -> dict[str, Any]:
    return kafka.client_settings(library, "SASL_SSL", user="alice") | more


def denied_topic(kafka: FakeCluster, library: str) -> str:
    topic = f"denied-{library}"
    kafka.create_topic(topic, partitions=1)
    return topic


def sent_topic(kafka: FakeCluster, library: str) -> str:
    topic = f"sent-{library}"
    kafka.create_topic(topic, partitions=1)
    return topic


@contextmanager
def producer_of_kafka_python(given: dict[str, Any]) -> Iterator[kafka_python.KafkaProducer]:
    producer = kafka_python.KafkaProducer(**given)
    try:
        yield producer
    finally:
        producer.close(LIMIT_S)


@contextmanager
def consumer_of_kafka_python(given: dict[str, Any]) -> Iterator[kafka_python.KafkaConsumer]:
    consumer = kafka_python.KafkaConsumer(SEEN, **given)
    try:
        yield consumer
    finally:
        consumer.close(timeout_ms=LIMIT_MS)


def allow(kafka: FakeCluster, resource_type: str, name: str, operation: str) -> None:
    kafka.acls.add(resource_type, name, operation, principal=ALICE)


def test_confluent_kafka_is_refused_a_topic(kafka: FakeCluster) -> None:
    topic = denied_topic(kafka, "confluent")
    ends: list[str | None] = []
    producer = confluent_kafka.Producer(settings(kafka, "confluent", **{"topic.metadata.refresh.fast.interval.ms": 10}))

    def send() -> str | None:
        try:
            producer.produce(topic, VALUE, on_delivery=lambda error, _: ends.append(error.name() if error else None))
        except KafkaException as error:  # known from the last Metadata
            ends.append(error.args[0].name())
        assert producer.flush(LIMIT_S) == 0
        return ends[-1]

    assert send() == "TOPIC_AUTHORIZATION_FAILED"
    allow(kafka, "topic", topic, "write")
    wait_until(lambda: send() is None, "a record that is allowed")
    assert read_values(kafka, topic) == [VALUE]
    assert set(ends[:-1]) == {"TOPIC_AUTHORIZATION_FAILED"}


def test_confluent_kafka_is_refused_a_group(kafka: FakeCluster) -> None:
    group = {"group.id": "g-confluent", "auto.offset.reset": "earliest", "topic.metadata.refresh.fast.interval.ms": 10}
    consumer = confluent_kafka.Consumer(settings(kafka, "confluent", **group))
    polled: list[Any] = []

    def last_polled() -> Any:
        if (message := consumer.poll(0.1)) is not None:
            polled.append(message)
        return polled[-1] if polled else None

    try:
        consumer.subscribe([SEEN])
        wait_until(lambda: last_polled() is not None, "the refusal of the group")
        allow(kafka, "group", "g-confluent", "read")
        wait_until(lambda: last_polled().error() is None, "a record for the group")
        *refused, message = polled
        assert {refusal.error().code() for refusal in refused} == {KafkaError.GROUP_AUTHORIZATION_FAILED}
        assert message.value() == VALUE
        call(lambda: consumer.commit(asynchronous=False), "the commit")
        (committed,) = consumer.committed([TopicPartition(SEEN, 0)], timeout=LIMIT_S)
        assert committed.offset == 1
    finally:
        call(consumer.close, "the end of the consumer")


def test_confluent_kafka_is_refused_a_transactional_id(kafka: FakeCluster) -> None:
    topic = sent_topic(kafka, "confluent")
    given = settings(kafka, "confluent", **{"transactional.id": "t-confluent"})
    with pytest.raises(KafkaException) as refused:
        confluent_kafka.Producer(given).init_transactions(LIMIT_S)
    assert refused.value.args[0].name() == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    assert refused.value.args[0].fatal()
    allow(kafka, "transactional_id", "t-confluent", "write")
    producer = confluent_kafka.Producer(given)
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    producer.produce(topic, VALUE)
    producer.commit_transaction(LIMIT_S)
    assert read_values(kafka, topic)[:1] == [VALUE]


def test_kafka_python_is_refused_a_topic(kafka: FakeCluster) -> None:
    topic = denied_topic(kafka, "kafka-python")
    with producer_of_kafka_python(settings(kafka, "kafka-python")) as producer:
        with pytest.raises(kafka_python_errors.TopicAuthorizationFailedError):
            producer.send(topic, VALUE).get(LIMIT_S)
        allow(kafka, "topic", topic, "write")
        producer.send(topic, VALUE).get(LIMIT_S)
    assert read_values(kafka, topic) == [VALUE]


def test_kafka_python_is_refused_a_group(kafka: FakeCluster) -> None:
    group = {"group_id": "g-kafka-python", "auto_offset_reset": "earliest"}
    with consumer_of_kafka_python(settings(kafka, "kafka-python", **group)) as consumer:
        with pytest.raises(kafka_python_errors.GroupAuthorizationFailedError):
            consumer.poll(LIMIT_MS)
        allow(kafka, "group", "g-kafka-python", "read")
        ((message,),) = consumer.poll(LIMIT_MS).values()
        assert message.value == VALUE
        consumer.commit(timeout_ms=LIMIT_MS)
        assert consumer.committed(kafka_python.TopicPartition(SEEN, 0), timeout_ms=LIMIT_MS) == 1


def test_kafka_python_is_refused_a_transactional_id(kafka: FakeCluster) -> None:
    topic = sent_topic(kafka, "kafka-python")
    given = settings(kafka, "kafka-python", transactional_id="t-kafka-python")
    refusal = pytest.raises(kafka_python_errors.TransactionalIdAuthorizationFailedError)
    with producer_of_kafka_python(given) as refused, refusal:
        refused.init_transactions()
    allow(kafka, "transactional_id", "t-kafka-python", "write")
    with producer_of_kafka_python(given) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, VALUE)
        call(producer.commit_transaction, "the commit")
    assert read_values(kafka, topic)[:1] == [VALUE]


def test_aiokafka_is_refused_a_topic(kafka: FakeCluster) -> None:
    topic = denied_topic(kafka, "aiokafka")

    async def sent() -> None:
        async with aiokafka.AIOKafkaProducer(**settings(kafka, "aiokafka")) as producer:
            with pytest.raises(aiokafka_errors.TopicAuthorizationFailedError):
                await producer.send_and_wait(topic, VALUE)
            allow(kafka, "topic", topic, "write")
            await producer.send_and_wait(topic, VALUE)

    asyncio.run(within(sent()))
    assert read_values(kafka, topic) == [VALUE]


def test_aiokafka_is_refused_a_group(kafka: FakeCluster) -> None:
    group = {"group_id": "g-aiokafka", "auto_offset_reset": "earliest"}

    async def read() -> None:
        given = settings(kafka, "aiokafka", **group)
        refused = aiokafka.AIOKafkaConsumer(SEEN, **given)
        with pytest.raises(aiokafka_errors.GroupAuthorizationFailedError):
            await refused.start()
        await refused.stop()
        allow(kafka, "group", "g-aiokafka", "read")
        async with aiokafka.AIOKafkaConsumer(SEEN, **given) as consumer:
            assert (await consumer.getone()).value == VALUE
            await consumer.commit()
            assert await consumer.committed(aiokafka.TopicPartition(SEEN, 0)) == 1

    asyncio.run(within(read()))


def test_aiokafka_is_refused_a_transactional_id(kafka: FakeCluster) -> None:
    topic = sent_topic(kafka, "aiokafka")
    given = settings(kafka, "aiokafka", transactional_id="t-aiokafka")

    async def sent() -> None:
        with pytest.raises(aiokafka_errors.TransactionalIdAuthorizationFailed):
            async with aiokafka.AIOKafkaProducer(**given):
                pass
        allow(kafka, "transactional_id", "t-aiokafka", "write")
        async with aiokafka.AIOKafkaProducer(**given) as producer, producer.transaction():
            await producer.send_and_wait(topic, VALUE)

    asyncio.run(within(sent()))
    assert read_values(kafka, topic)[:1] == [VALUE]
