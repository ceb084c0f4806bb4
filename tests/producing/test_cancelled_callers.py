"""Callers of AsyncProducer that are cancelled, a machine that fails, and addresses of IPv6."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from support.log_reader import read_values
from support.ports import can_listen
from support.watchdog import run

from fakebroker import AsyncProducer, FakeCluster
from fakebroker.producer.client.kafka_producer import KafkaProducer
from fakebroker.producer.errors import IllegalProducerStateError, ProducerClosedError

LINGERING: dict[str, object] = {"linger.ms": 100_000, "delivery.timeout.ms": 200_000}


def settings(kafka: FakeCluster, **more: object) -> dict[str, object]:
    return {"bootstrap.servers": kafka.bootstrap_servers} | {name.replace("_", "."): one for name, one in more.items()}


async def cancelled(call: Coroutine[Any, Any, object]) -> None:
    """Begin a call and cancel its caller."""
    task = asyncio.create_task(call)
    await asyncio.sleep(0)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_flush_without_its_caller_still_flushes() -> None:
    async def work(kafka: FakeCluster) -> None:
        async with AsyncProducer(settings(kafka) | LINGERING) as sender:
            future = await sender.send("t", b"x", partition=0)
            await cancelled(sender.flush())
            assert (await future).offset == 0
            await sender.flush()

    with FakeCluster() as kafka:
        kafka.create_topic("t", partitions=1)
        run(work(kafka))


def test_a_send_cancelled_while_it_waits_for_memory_leaves_no_record() -> None:
    """Kafka does the same: a thread that is interrupted in `send` withdraws the record, and the next in the queue
    continues."""
    full = {"buffer_memory": 1_000, "batch_size": 800, "linger_ms": 0, "acks": "all", "enable_idempotence": False}
    values = [letter * 700 for letter in (b"a", b"b", b"c")]

    async def work(kafka: FakeCluster) -> None:
        async with AsyncProducer(settings(kafka, **full)) as sender:
            await (await sender.send("t", b"first", partition=0))
            kafka.followers.freeze("t")
            holds = await sender.send("t", values[0], partition=0)
            waits = asyncio.create_task(sender.send("t", values[1], partition=0))
            await asyncio.sleep(0)
            follows = asyncio.create_task(sender.send("t", values[2], partition=0))
            await asyncio.sleep(0)
            assert not waits.done()
            assert not follows.done()
            waits.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waits
            kafka.followers.resume("t")
            await asyncio.gather(holds, await follows)

    with FakeCluster(brokers=3) as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=3)
        run(work(kafka))
        assert read_values(kafka, "t") == [b"first", values[0], values[2]]


def test_a_close_without_its_caller_gives_everything_up() -> None:
    async def work(kafka: FakeCluster) -> None:
        sender = AsyncProducer(settings(kafka, acks="all"))
        await sender.start()
        future = await sender.send("t", b"x", partition=0)
        await cancelled(sender.close())
        with pytest.raises(ProducerClosedError):
            await future
        await sender.close()
        with pytest.raises(ProducerClosedError):
            await sender.send("t", b"late")

    with FakeCluster(brokers=3) as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=3)
        kafka.followers.freeze("t")  # or it might be answered before
        run(work(kafka))


def test_a_commit_without_its_caller_still_commits() -> None:
    async def work(kafka: FakeCluster) -> None:
        async with AsyncProducer(settings(kafka, transactional_id="me")) as sender:
            await sender.init_transactions()
            sender.begin_transaction()
            await sender.send("t", b"first", partition=0)
            await cancelled(sender.commit_transaction())
            await sender.commit_transaction()  # as in Kafka, a second call waits for the same result
            sender.begin_transaction()
            await sender.send("t", b"second", partition=0)
            await sender.commit_transaction()

    with FakeCluster() as kafka:
        kafka.create_topic("t", partitions=1)
        run(work(kafka))
        assert [value for value in read_values(kafka, "t") if value in (b"first", b"second")] == [b"first", b"second"]


def test_an_error_of_the_machine_fails_all_blocked_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(kafka: FakeCluster) -> None:
        contexts: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: contexts.append(context))
        sender = AsyncProducer(settings(kafka) | LINGERING)
        await sender.start()
        future = await sender.send("t", b"x", partition=0)
        flush = asyncio.create_task(sender.flush())
        monkeypatch.setattr(KafkaProducer, "received", broken)
        with pytest.raises(IllegalProducerStateError, match="has failed: ZeroDivisionError"):
            await future
        with pytest.raises(IllegalProducerStateError, match="has failed"):
            await flush
        with pytest.raises(IllegalProducerStateError, match="has failed"):
            await sender.send("t", b"y")
        await sender.close()  # nothing is left to end
        assert [type(context["exception"]) for context in contexts] == [ZeroDivisionError]

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a mistake")

    with FakeCluster() as kafka:
        kafka.create_topic("t", partitions=1)
        run(work(kafka))


@pytest.mark.skipif(not can_listen("::1"), reason="this machine has no IPv6")
def test_a_broker_at_an_address_of_ipv6() -> None:
    async def work(kafka: FakeCluster) -> None:
        async with AsyncProducer({"bootstrap.servers": kafka.bootstrap_servers}) as sender:
            assert (await (await sender.send("t", b"x", partition=0))).offset == 0

    with FakeCluster(host="::1") as kafka:
        kafka.create_topic("t", partitions=1)
        assert kafka.bootstrap_servers.startswith("[::1]:")
        run(work(kafka))
