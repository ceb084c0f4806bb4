"""Transactions of AsyncProducer, over sockets: what a reader of committed records sees."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place
from support.watchdog import LIMIT_S, run

from fakebroker import AsyncProducer, FakeCluster
from fakebroker.producer.errors import IllegalProducerStateError, ProducerError
from fakebroker.producer.transactions.requests import GroupMetadata
from fakebroker.protocol.topic_partition import TopicPartition


def made(kafka: FakeCluster, generation: str) -> AsyncProducer:
    return AsyncProducer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "t-1"}, generation)


async def play(kafka: FakeCluster, generation: str) -> None:
    async with made(kafka, generation) as producer:
        with pytest.raises(ProducerError):
            producer.begin_transaction()
        await producer.init_transactions()
        producer.begin_transaction()
        await producer.send("t", b"committed", partition=0)
        await producer.send_offsets_to_transaction({TopicPartition("t", 0): 17}, GroupMetadata("g"))
        await producer.commit_transaction()
        producer.begin_transaction()
        await (await producer.send("t", b"aborted", partition=0))
        await producer.abort_transaction()
        async with made(kafka, generation) as other:
            await other.init_transactions()
            other.begin_transaction()
            await other.send("t", b"other", partition=0)
            await other.commit_transaction()
            producer.begin_transaction()
            future = await producer.send("t", b"fenced", partition=0)
            with pytest.raises(ProducerError):
                await producer.commit_transaction()
            with pytest.raises(ProducerError):
                await future


@pytest.mark.parametrize("generation", ["2.0", "4.3"])
def test_what_is_committed_is_seen_and_nothing_else(generation: str) -> None:
    with FakeCluster(brokers=3) as kafka:
        kafka.create_topic("t", partitions=1)
        run(play(kafka, generation))
        consumer = Consumer(
            {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "isolation.level": "read_committed"}
        )
        (committed,) = consumer.committed([Place("t", 0)], LIMIT_S)
        assert committed.offset == 17
        consumer.assign([Place("t", 0, 0)])
        assert [message.value() for message in consumer.consume(2, LIMIT_S)] == [b"committed", b"other"]
        assert not consumer.consume(1, 0.2)
        consumer.close()


def test_a_producer_without_a_transactional_id_has_none() -> None:
    async def work(kafka: FakeCluster) -> None:
        async with AsyncProducer({"bootstrap.servers": kafka.bootstrap_servers}) as producer:
            with pytest.raises(IllegalProducerStateError):
                await producer.init_transactions()
            with pytest.raises(IllegalProducerStateError):
                producer.begin_transaction()

    with FakeCluster(brokers=1) as kafka:
        run(work(kafka))
