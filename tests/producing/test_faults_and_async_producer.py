"""AsyncProducer beside followers that are frozen, brokers that die and leaders that move."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from support.log_reader import read_values
from support.watchdog import run, until

from fakebroker import AsyncProducer, FakeCluster

REQUEST_TIMEOUT_MS = 1_000
RETRY_BACKOFF_MS = 200  # a fifth of it may be added by chance


@pytest.mark.parametrize("is_idempotent", [False, True])
@pytest.mark.parametrize("generation", ["2.0", "4.3"])
def test_error_7_is_retried_and_copied_unless_the_producer_is_idempotent(generation: str, is_idempotent: bool) -> None:
    now_ms = 1_000
    config = {
        "acks": "all",
        "enable.idempotence": is_idempotent,
        "request.timeout.ms": REQUEST_TIMEOUT_MS,
        "retries": 5,
        "retry.backoff.ms": RETRY_BACKOFF_MS,
    }

    def produced(kafka: FakeCluster) -> int:
        return sum(type(event).__name__ == "Produce" for event in kafka.journal)

    async def work(kafka: FakeCluster) -> int:
        nonlocal now_ms
        servers = {"bootstrap.servers": kafka.bootstrap_servers, "linger.ms": 0}
        async with AsyncProducer({**config, **servers}, generation, clock=lambda: now_ms) as producer:
            future = await producer.send("t", b"x", partition=0)
            await until(lambda: produced(kafka) == 1, "the first request")
            await asyncio.to_thread(kafka.clock.advance, REQUEST_TIMEOUT_MS)
            # Its own limit has not been reached: the broker's clock alone was moved. So it gets error 7, and
            # the second request comes after the back-off, and not before.
            now_ms += 1
            producer.look_at_clock()
            await asyncio.to_thread(kafka.clock.advance, 1)
            assert produced(kafka) == 1
            assert not future.done()
            kafka.followers.resume("t")
            while produced(kafka) == 1:
                now_ms += 50
                producer.look_at_clock()
                await asyncio.to_thread(kafka.clock.advance, 1)
            assert now_ms - 1_001 >= RETRY_BACKOFF_MS * 0.8
            return (await future).offset

    with FakeCluster(brokers=3, clock="manual") as kafka:
        kafka.create_topic("t", partitions=1)
        kafka.followers.freeze("t")
        offset = run(work(kafka))
        assert offset == (0 if is_idempotent else 1)
        assert read_values(kafka, "t") == [b"x"] * (1 if is_idempotent else 2)


@pytest.mark.parametrize("generation", ["2.0", "4.3"])
def test_each_record_is_once_in_the_log_when_brokers_die_and_leaders_move(generation: str) -> None:
    config = {
        "acks": "all",
        "enable.idempotence": True,
        "linger.ms": 1,
        "batch.size": 200,
        "retry.backoff.ms": 20,
        "reconnect.backoff.ms": 20,
    }
    session = {"broker.session.timeout.ms": 1_000}  # a broker that was killed registers again after that

    async def work(kafka: FakeCluster) -> None:
        async with AsyncProducer({"bootstrap.servers": kafka.bootstrap_servers, **config}, generation) as producer:
            futures = []
            for i in range(400):
                futures.append(await producer.send("t", b"%d" % i, partition=0))
                if i == 0:
                    # Each replica knows the producer now. A leader that does not know it takes any sequence first.
                    # Java's producer sends a new batch to a new leader while the old one has earlier batches. Those get
                    # OUT_OF_ORDER_SEQUENCE_NUMBER then, until they expire.
                    await futures[0]
                if i % 100 == 20:
                    await asyncio.to_thread(kafka.brokers[1].kill)
                elif i % 100 == 50:
                    await asyncio.to_thread(kafka.brokers[1].start)
                elif i % 100 == 80:
                    await asyncio.to_thread(kafka.move_leader, "t", 0, 1)
            for future in futures:
                await future

    with FakeCluster(brokers=3, config=session) as kafka:
        kafka.create_topic("t", partitions=1)
        run(work(kafka))
        values = read_values(kafka, "t")
        assert Counter(values) == Counter(b"%d" % i for i in range(400))
        assert values == [b"%d" % i for i in range(400)]
