"""Stock consumers with assigned partitions and no group: they ask for offsets, and follow a leader that moves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Protocol

import confluent_kafka
import kafka as kafka_python
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioTopicPartition
from support.aiokafka_consumers import stop
from support.raw_client import RawClient
from support.requests import Produced, batch, produce
from support.watchdog import LIMIT_S, wait_until

from fakebroker import FakeCluster

pytestmark = pytest.mark.clients

T = 1_700_000_000_000


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=3) as kafka:
        kafka.create_topic("t")
        yield kafka


def write(cluster: FakeCluster, *values: bytes, broker: int = 1, start_ms: int = 0) -> None:
    """Records a second apart, the first at T + start_ms."""
    with RawClient(cluster.brokers[broker].endpoint) as client:
        for index, value in enumerate(values):
            records = batch(value, timestamp_ms=T + start_ms + 1000 * index)
            ((error, _),) = Produced(client.ask(produce("t", records=records))).partitions.values()
            assert error == 0


class Polls(Protocol):
    def poll(self) -> list[bytes | None]: ...


def read(consumer: Polls, count: int) -> list[bytes | None]:
    """Return the next records, at least so many."""
    values: list[bytes | None] = []

    def are_there() -> bool:
        values.extend(consumer.poll())
        return len(values) >= count

    wait_until(are_there, f"{count} records")
    return values


class Librdkafka:
    """confluent-kafka's consumer."""

    def __init__(self, cluster: FakeCluster, reset: str) -> None:
        settings = {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": reset,
            "topic.metadata.refresh.interval.ms": 500,
        }
        self._consumer = confluent_kafka.Consumer(settings)
        # Without an offset it would ask the group for one, and not what auto.offset.reset says.
        start = {"earliest": confluent_kafka.OFFSET_BEGINNING, "latest": confluent_kafka.OFFSET_END}[reset]
        self._consumer.assign([confluent_kafka.TopicPartition("t", 0, start)])

    def poll(self) -> list[bytes | None]:
        message = self._consumer.poll(0.1)
        return [message.value()] if message is not None and message.error() is None else []

    def read(self, count: int) -> list[bytes | None]:
        return read(self, count)

    def ends(self) -> tuple[int, int]:
        low, high = self._consumer.get_watermark_offsets(confluent_kafka.TopicPartition("t", 0), timeout=LIMIT_S)
        return low, high

    def at(self, timestamp_ms: int) -> int:
        partitions = [confluent_kafka.TopicPartition("t", 0, timestamp_ms)]
        return int(self._consumer.offsets_for_times(partitions, timeout=LIMIT_S)[0].offset)

    def close(self) -> None:
        self._consumer.close()


class KafkaPython:
    """kafka-python's consumer."""

    def __init__(self, cluster: FakeCluster, reset: str) -> None:
        self._partition = kafka_python.TopicPartition("t", 0)
        self._consumer = kafka_python.KafkaConsumer(
            bootstrap_servers=cluster.bootstrap_servers,
            group_id=None,
            auto_offset_reset=reset,
            enable_auto_commit=False,
            metadata_max_age_ms=500,
            # It draws the server to begin with, and waits for each dead one longer than for the last, up to 30 s.
            reconnect_backoff_max_ms=200,
        )
        self._consumer.assign([self._partition])

    def poll(self) -> list[bytes | None]:
        return [message.value for messages in self._consumer.poll(timeout_ms=100).values() for message in messages]

    def read(self, count: int) -> list[bytes | None]:
        return read(self, count)

    def ends(self) -> tuple[int, int]:
        low = self._consumer.beginning_offsets([self._partition])
        high = self._consumer.end_offsets([self._partition])
        return low[self._partition], high[self._partition]

    def at(self, timestamp_ms: int) -> int:
        position = self._consumer.offsets_for_times({self._partition: timestamp_ms})[self._partition]
        return int(position.offset) if position else -1

    def close(self) -> None:
        self._consumer.close()


class Aiokafka:
    """aiokafka's consumer, on a loop of its own."""

    def __init__(self, cluster: FakeCluster, reset: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._partition = AioTopicPartition("t", 0)

        async def start() -> AIOKafkaConsumer:
            consumer = AIOKafkaConsumer(
                bootstrap_servers=cluster.bootstrap_servers,
                auto_offset_reset=reset,
                enable_auto_commit=False,
                metadata_max_age_ms=500,
            )
            await consumer.start()
            consumer.assign([self._partition])
            return consumer

        self._consumer = self._loop.run_until_complete(start())

    def poll(self) -> list[bytes | None]:
        async def get() -> list[bytes | None]:
            batches = await self._consumer.getmany(timeout_ms=100)
            return [message.value for messages in batches.values() for message in messages]

        return self._loop.run_until_complete(get())

    def read(self, count: int) -> list[bytes | None]:
        return read(self, count)

    def ends(self) -> tuple[int, int]:
        async def get() -> tuple[int, int]:
            low = await self._consumer.beginning_offsets([self._partition])
            high = await self._consumer.end_offsets([self._partition])
            return low[self._partition], high[self._partition]

        return self._loop.run_until_complete(get())

    def at(self, timestamp_ms: int) -> int:
        offsets = self._loop.run_until_complete(self._consumer.offsets_for_times({self._partition: timestamp_ms}))
        return int(offsets[self._partition].offset) if offsets[self._partition] else -1

    def close(self) -> None:
        self._loop.run_until_complete(stop(self._consumer))
        self._loop.close()


CLIENTS = [Librdkafka, KafkaPython, Aiokafka]


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_from_the_beginning_with_offsets_by_time(cluster: FakeCluster, client: type[Librdkafka]) -> None:
    write(cluster, b"a", b"b", b"c")
    consumer = client(cluster, "earliest")
    try:
        assert consumer.read(3) == [b"a", b"b", b"c"]
        assert consumer.ends() == (0, 3)
        assert [consumer.at(T + ms) for ms in (0, 1, 1000, 2000)] == [0, 1, 1, 2]
    finally:
        consumer.close()


@pytest.mark.parametrize("client", CLIENTS)
def test_from_the_end(cluster: FakeCluster, client: type[Librdkafka]) -> None:
    write(cluster, b"a", b"b")
    consumer = client(cluster, "latest")
    try:
        assert consumer.ends() == (0, 2)
        values: list[bytes | None] = []

        def is_read() -> bool:
            write(cluster, b"new")
            values.extend(consumer.poll())
            return bool(values)

        # Where it starts is decided while it polls: what is written before that is not for it.
        wait_until(is_read, "a record that was written after the consumer had begun")
        assert set(values) == {b"new"}
    finally:
        consumer.close()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_leader_that_moves_and_one_that_stops_are_followed(cluster: FakeCluster, client: type[Librdkafka]) -> None:
    write(cluster, b"a")
    consumer = client(cluster, "earliest")
    try:
        assert consumer.read(1) == [b"a"]
        cluster.move_leader("t", 0, 2)
        write(cluster, b"b", broker=2)
        assert consumer.read(1) == [b"b"]
        cluster.brokers[2].stop()  # the next in assignment order is broker 1
        write(cluster, b"c", broker=1)
        assert consumer.read(1) == [b"c"]
    finally:
        consumer.close()


def read_until_metadata_comes(cluster: FakeCluster, consumer: Polls) -> list[bytes | None]:
    """Poll until the client asks for metadata a second time: then it has the first response."""
    values: list[bytes | None] = []
    requests_before = len(cluster.journal.requests(api="Metadata"))

    def is_there() -> bool:
        values.extend(consumer.poll())
        return len(cluster.journal.requests(api="Metadata")) >= requests_before + 2

    wait_until(is_there, "two requests for metadata")
    return values


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_what_an_unclean_election_lost_is_not_read_again(cluster: FakeCluster, client: type[Librdkafka]) -> None:
    cluster.delete_topic("t")
    cluster.create_topic("t", configs={"unclean.leader.election.enable": True})
    write(cluster, b"a")
    cluster.followers.freeze("t")
    cluster.brokers[2].stop()
    cluster.brokers[3].stop()
    write(cluster, b"lost 1", b"lost 2")
    consumer = client(cluster, "earliest")
    try:
        assert consumer.read(3) == [b"a", b"lost 1", b"lost 2"]
        cluster.brokers[2].start()
        assert read_until_metadata_comes(cluster, consumer) == []  # so it has heard of broker 2
        cluster.brokers[1].stop()
        write(cluster, b"b", broker=2)
        values = consumer.read(1)
        values += consumer.read(1) if values == [b"a"] else []
        # librdkafka and, where a broker serves what Kafka 4 does, kafka-python ask where their epoch ended and go on
        # from there (KIP-320); aiokafka is out of range and starts over, as auto.offset.reset says.
        assert values == ([b"a", b"b"] if client.__name__ == "Aiokafka" else [b"b"])
    finally:
        consumer.close()
