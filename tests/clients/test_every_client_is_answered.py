"""Three stock clients produce with acks=all to a frozen partition. Whatever each of them makes of it, the wire shows
that the broker answered every request REQUEST_TIMED_OUT when its timeout was over."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError as AiokafkaError
from confluent_kafka import Producer
from kafka import KafkaProducer
from kafka.errors import KafkaError as KafkaPythonError
from support.raw_client import RawClient
from support.requests import Produced, produce
from support.watchdog import LIMIT_S
from support.wire_tap import WireTap

from fakebroker import FakeCluster

pytestmark = pytest.mark.clients

TIMEOUT_MS = 1_000
RECORDS = 3
TIMED_OUT = 7


def with_confluent_kafka(kafka: FakeCluster) -> None:
    settings = {"retries": 0, "request.timeout.ms": TIMEOUT_MS, "socket.timeout.ms": 60_000, "log_level": 0}
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "client.id": "confluent-kafka", **settings})
    for _ in range(RECORDS):
        producer.produce("t", b"v", partition=0)
        producer.flush(LIMIT_S)


def with_kafka_python(kafka: FakeCluster) -> None:
    producer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap_servers,
        client_id="kafka-python",
        acks="all",
        enable_idempotence=False,
        retries=0,
        request_timeout_ms=TIMEOUT_MS,
    )
    for _ in range(RECORDS):
        with contextlib.suppress(KafkaPythonError):
            producer.send("t", b"v", partition=0).get(LIMIT_S)
    producer.close()


def with_aiokafka(kafka: FakeCluster) -> None:
    async def send() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=kafka.bootstrap_servers,
            client_id="aiokafka",
            acks="all",
            request_timeout_ms=TIMEOUT_MS,
        )
        await producer.start()
        await producer.partitions_for("t")  # so that no record waits for metadata, and expires by that
        for _ in range(RECORDS):
            with contextlib.suppress(AiokafkaError):
                await producer.send_and_wait("t", b"v", partition=0)
        await producer.stop()

    asyncio.run(send())


@pytest.mark.parametrize(
    ("client_id", "run"),
    [
        ("confluent-kafka", with_confluent_kafka),
        ("kafka-python", with_kafka_python),
        ("aiokafka", with_aiokafka),
    ],
)
def test_every_acks_all_request_is_answered_error_7_on_time(
    client_id: str, run: Callable[[FakeCluster], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    tap = WireTap(monkeypatch)
    with FakeCluster() as kafka:
        kafka.create_topic("t", partitions=1)
        kafka.followers.freeze("t")
        run(kafka)
        wait_until_nothing_is_parked(kafka)
    exchanges = [exchange for exchange in tap.produce() if exchange.client_id == client_id]

    assert len(exchanges) >= RECORDS
    for exchange in exchanges:
        assert (exchange.acks, exchange.timeout_ms) == (-1, TIMEOUT_MS)
        assert exchange.error == TIMED_OUT
        assert exchange.waited_ms is not None
        assert exchange.waited_ms >= TIMEOUT_MS
    offsets = [exchange.base_offset for exchange in exchanges if exchange.base_offset is not None]
    assert sorted(offsets) == list(range(len(exchanges)))


def wait_until_nothing_is_parked(kafka: FakeCluster) -> None:
    """A client that gave up leaves its last request parked; a later one with the same timeout is answered after it."""
    with RawClient(kafka.endpoints[0]) as client:
        answer = Produced(client.ask(produce("t", timeout_ms=TIMEOUT_MS, client_id="last")))
    assert answer.partitions[0][0] == TIMED_OUT
