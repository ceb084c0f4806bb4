"""AsyncProducer over real sockets: the results of its caller, and the log."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from typing import TypeVar

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place
from support.log_reader import read_values
from support.stream_server import stream_server
from support.watchdog import LIMIT_S, run, wait_until, within

from fakebroker import AsyncProducer, FakeCluster
from fakebroker.producer.errors import IllegalProducerStateError, ProducerClosedError, ProducerTimeoutError
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.protocol.topic_partition import TopicPartition

T = TypeVar("T")

GENERATIONS = ["2.0", "4.3"]
IDEMPOTENT: dict[str, object] = {"enable.idempotence": True}


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=3) as cluster:
        yield cluster


def producer(kafka: FakeCluster, generation: str = "4.3", **settings: object) -> AsyncProducer:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return AsyncProducer({"bootstrap.servers": kafka.bootstrap_servers, **named}, generation)


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize(
    "settings", [{"acks": 0}, {"acks": 1}, {"acks": "all"}, IDEMPOTENT], ids=["0", "1", "all", "idempotent"]
)
def test_what_is_sent_is_in_the_log_once_and_in_order(
    kafka: FakeCluster, generation: str, settings: dict[str, object]
) -> None:
    kafka.create_topic("t", partitions=1)
    values = [b"value %d" % i for i in range(300)]

    async def work() -> list[RecordMetadata]:
        async with producer(kafka, generation, **settings) as sender:
            futures = [await sender.send("t", value, partition=0) for value in values]
            await sender.flush()
            assert all(future.done() for future in futures)
            return [await future for future in futures]

    metadata_list = run(work())
    wait_until(lambda: len(read_values(kafka, "t")) >= len(values), "the last record's arrival")
    assert read_values(kafka, "t") == values
    offsets = [-1] * len(values) if settings.get("acks") == 0 else list(range(len(values)))
    assert metadata_list == [RecordMetadata(TopicPartition("t", 0), offset) for offset in offsets]


def consumed(kafka: FakeCluster, count: int) -> dict[tuple[int | None, int | None], bytes | None]:
    """Return the records by partition and offset, read by librdkafka, which checks each batch."""
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "check.crcs": True}
    consumer = Consumer(settings)
    consumer.assign([Place("t", at, 0) for at in range(3)])
    messages = consumer.consume(count, LIMIT_S)
    assert all(message.headers() == [("h", b"x")] for message in messages)
    value_at = {(message.partition(), message.offset()): message.value() for message in messages}
    assert len(value_at) == count
    assert not consumer.consume(1, 0.1)
    consumer.close()
    return value_at


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_keys_and_compression(kafka: FakeCluster, generation: str, codec: str) -> None:
    if codec == "zstd" and generation == "2.0":
        pytest.skip("zstd came with 2.1")
    kafka.create_topic("t", partitions=3)

    async def work() -> list[RecordMetadata]:
        async with producer(kafka, generation, compression_type=codec) as sender:
            futures = [
                await sender.send("t", b"%d" % i, key=b"key %d" % (i % 7) if i % 2 else None, headers=[("h", b"x")])
                for i in range(100)
            ]
            await sender.flush()
            return [await future for future in futures]

    metadata_list = run(work())
    expected = {(metadata.partition.partition, metadata.offset): b"%d" % i for i, metadata in enumerate(metadata_list)}
    assert consumed(kafka, 100) == expected
    for key in range(7):
        assert len({metadata_list[i].partition for i in range(1, 100, 2) if i % 7 == key}) == 1


def test_a_broker_that_cannot_be_reached_ends_the_wait_for_metadata() -> None:
    async def work() -> None:
        async with AsyncProducer({"bootstrap.servers": "127.0.0.1:1,host.invalid:9092", "max.block.ms": 200}) as sender:
            with pytest.raises(ProducerTimeoutError):
                await (await sender.send("t", b"x"))

    run(work())


def test_a_cancelled_send_withdraws_its_record(kafka: FakeCluster) -> None:
    async def work() -> None:
        sender = producer(kafka)
        await sender.start()
        waiting = asyncio.create_task(sender.send("t", b"taken back"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        metadata = await (await sender.send("t", b"kept"))
        future = await sender.send("t", b"nobody asks", partition=metadata.partition.partition)
        future.cancel()
        await sender.close()
        await sender.close()
        with pytest.raises(ProducerClosedError):
            await sender.send("t", b"late")
        values = [value for at in range(metadata.partition.partition + 1) for value in read_values(kafka, "t", at)]
        assert values == [b"kept", b"nobody asks"]

    run(work())


@pytest.mark.parametrize("answer", [b"\0\0\0\4what", b"\xff\xff\xff\xff", b"\0\0\0\0"])
def test_garbage_ends_the_connection_with_a_reason(answer: bytes, caplog: pytest.LogCaptureFixture) -> None:
    ended = []

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        ended.append(await reader.read(-1))
        writer.close()

    async def work() -> None:
        async with (
            stream_server(speak) as port,
            AsyncProducer({"bootstrap.servers": f"127.0.0.1:{port}", "max.block.ms": 300}) as sender,
        ):
            with pytest.raises(ProducerTimeoutError):
                await (await sender.send("t", b"x"))

    run(work())
    assert ended
    assert [record for record in caplog.records if "is closed: " in record.getMessage()]


def test_a_loop_that_is_closed_with_records_under_way_is_refused(kafka: FakeCluster) -> None:
    kafka.create_topic("t", partitions=1)

    async def work(sender: AsyncProducer) -> asyncio.Future[RecordMetadata]:
        await sender.start()
        return await sender.send("t", b"x")

    sender = producer(kafka, linger_ms=10_000)
    loop = asyncio.new_event_loop()
    future = loop.run_until_complete(work(sender))
    loop.close()
    assert not future.done()
    with pytest.raises(IllegalProducerStateError, match="loop"):
        run(sender.send("t", b"y"))
    with pytest.raises(IllegalProducerStateError, match="loop"):
        run(sender.close())
    del sender
    with pytest.warns(ResourceWarning):  # of asyncio: it was left open
        gc.collect()


def test_what_is_given_up_is_told(kafka: FakeCluster) -> None:
    kafka.create_topic("t", partitions=1)

    async def work() -> None:
        sender = producer(kafka, linger_ms=100_000, delivery_timeout_ms=200_000)
        with pytest.raises(IllegalProducerStateError):
            await sender.send("t", b"early")
        await sender.start()
        with pytest.raises(IllegalProducerStateError):
            await sender.start()
        future = await sender.send("t", b"x")
        await sender.close(timeout_ms=0)
        with pytest.raises(ProducerClosedError):
            await future

    run(work())


def test_it_runs_on_uvloop_too(kafka: FakeCluster) -> None:
    uvloop = pytest.importorskip("uvloop")
    kafka.create_topic("t", partitions=1)
    values = [b"value %d" % i for i in range(100)]

    async def work() -> None:
        async with producer(kafka) as sender:
            for value in values:
                await sender.send("t", value, partition=0)

    uvloop.run(within(work()))
    assert read_values(kafka, "t") == values
