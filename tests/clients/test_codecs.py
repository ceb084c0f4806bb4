"""Batches that clients compress are decompressed, checked and kept or recompressed; clients can read them again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as TP
from confluent_kafka import Consumer, Producer, TopicPartition
from support.aiokafka_consumers import stop
from support.log_reader import leader_of
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import FETCH, fetch
from support.watchdog import LIMIT_S, run

from fakebroker import FakeCluster
from fakebroker.protocol.compression import Codec
from fakebroker.protocol.record_batch import read_batch_header

pytestmark = pytest.mark.clients

VALUES = [b"the same words again and again %d" % number for number in range(200)]
# librdkafka takes lz4 only from a broker that serves FindCoordinator, and sends it plain otherwise.
CONFLUENT = {"gzip": Codec.GZIP, "snappy": Codec.SNAPPY, "zstd": Codec.ZSTD}
AIOKAFKA = CONFLUENT | {"lz4": Codec.LZ4}


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=3) as cluster:
        yield cluster


def codecs_in_the_log(kafka: FakeCluster) -> set[int]:
    """Return the codecs of all batches that consumers see."""
    with RawClient(leader_of(kafka, "t")) as client:
        _, answer = decode_response(FETCH, 11, client.ask(fetch("t")))
    data = answer.responses[0].partitions[0].records
    codecs = set()
    while data:
        header = read_batch_header(data)
        codecs.add(header.compression)
        data = data[header.size_in_bytes :]
    return codecs


@pytest.mark.parametrize("topic_codec", ["producer", "uncompressed", "lz4", "gzip"])
@pytest.mark.parametrize("codec", CONFLUENT)
def test_librdkafka(kafka: FakeCluster, codec: str, topic_codec: str) -> None:
    kafka.create_topic("t", partitions=1, configs={"compression.type": topic_codec})
    errors: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "enable.idempotence": True,
            "compression.type": codec,
            "linger.ms": 100,
        }
    )
    for value in VALUES:
        producer.produce("t", value, key=b"k", headers=[("h", b"x")], on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(LIMIT_S) == 0
    assert errors == [None] * len(VALUES)
    written = CONFLUENT[codec] if topic_codec == "producer" else {"uncompressed": 0, "lz4": 3, "gzip": 1}[topic_codec]
    assert codecs_in_the_log(kafka) == {written}
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "never joined",
            "enable.auto.commit": False,
            "check.crcs": True,
        }
    )
    consumer.assign([TopicPartition("t", 0, 0)])
    read: list[bytes | None] = []
    while len(read) < len(VALUES):
        messages = consumer.consume(len(VALUES), LIMIT_S)
        assert messages
        assert all(message.error() is None for message in messages)
        read += [message.value() for message in messages]
    consumer.close()
    assert read == VALUES


@pytest.mark.parametrize("codec", AIOKAFKA)
def test_aiokafka(kafka: FakeCluster, codec: str) -> None:
    kafka.create_topic("t", partitions=1)

    async def work() -> list[bytes | None]:
        async with AIOKafkaProducer(
            bootstrap_servers=kafka.bootstrap_servers, compression_type=codec, enable_idempotence=True, linger_ms=50
        ) as producer:
            await asyncio.gather(*[await producer.send("t", value, partition=0) for value in VALUES])
        consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap_servers)
        await consumer.start()
        consumer.assign([TP("t", 0)])
        consumer.seek(TP("t", 0), 0)
        read = [(await consumer.getone()).value for _ in VALUES]
        await stop(consumer)
        return read

    assert run(work()) == VALUES
    assert codecs_in_the_log(kafka) == {AIOKAFKA[codec]}
