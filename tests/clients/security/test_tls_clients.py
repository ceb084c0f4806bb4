"""Stock clients over TLS, with the settings of `client_settings`: right, and each thing that is wrong."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest
from support import doses
from support.log_reader import read_values
from support.watchdog import wait_until

from fakebroker import FakeCluster
from fakebroker.core.journal.events import Throttled

pytest.importorskip("cryptography", reason="the extra security is not installed")
pytestmark = [pytest.mark.clients, pytest.mark.slow]

TOPIC, VALUE = "orders", b"value"
PATIENCE_MS = 60_000
Sends = Callable[..., None]


def by_confluent(settings: dict[str, Any], patience_ms: int = PATIENCE_MS) -> None:
    failed: list[Any] = []
    producer = confluent_kafka.Producer(settings | {"message.timeout.ms": patience_ms, "error_cb": failed.append})
    producer.produce(TOPIC, VALUE, on_delivery=lambda error, _: failed.append(error) if error else None)
    producer.flush(60)
    if failed:
        raise ConnectionError(" ".join(map(str, failed)))


def by_kafka_python(settings: dict[str, Any], patience_ms: int = PATIENCE_MS) -> None:
    patience = {"max_block_ms": patience_ms, "bootstrap_timeout_ms": patience_ms}
    producer = kafka_python.KafkaProducer(**settings, **patience)
    try:
        producer.send(TOPIC, VALUE).get(60)
    finally:
        producer.close(5)


def by_aiokafka(settings: dict[str, Any], patience_ms: int = PATIENCE_MS) -> None:
    async def send() -> None:
        producer = aiokafka.AIOKafkaProducer(**settings)
        try:
            await producer.start()
            await producer.send_and_wait(TOPIC, VALUE)
        finally:
            await producer.stop()

    asyncio.run(send())


CLIENTS: dict[str, Sends] = {
    "confluent": by_confluent,
    "kafka-python": by_kafka_python,
    "aiokafka": by_aiokafka,
}
# The alerts of OpenSSL.
ALERTS = {"unknown issuer": "unknown ca", "expired": "certificate expired", "wrong host": "bad certificate"}
# kafka-python leaves sockets of failed connections to the garbage collector, which may come in another test.
EVERYDAY = ["confluent", "aiokafka"]
clients = pytest.mark.parametrize("library", doses.nightly_but(EVERYDAY, CLIENTS))


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    config = {"ssl.client.auth": "requested"}
    with FakeCluster(brokers=1, listeners=["PLAINTEXT", "SSL"], config=config, clock="auto") as cluster:
        cluster.create_topic(TOPIC, partitions=1)
        yield cluster


@clients
def test_a_client_sends_over_tls(kafka: FakeCluster, library: str) -> None:
    CLIENTS[library](kafka.client_settings(library, "SSL"))
    assert read_values(kafka, TOPIC) == [VALUE]


@clients
def test_a_client_with_a_certificate_is_its_principal(kafka: FakeCluster, library: str) -> None:
    kafka.quotas.set(user="CN=alice", producer_byte_rate=1)
    CLIENTS[library](kafka.client_settings(library, "SSL", certificate=kafka.tls.client("alice")))
    assert read_values(kafka, TOPIC) == [VALUE]
    throttled = [event for event in kafka.journal if isinstance(event, Throttled)]
    assert throttled, "the quota of alice applies to it"


@clients
@pytest.mark.parametrize("what", ["unknown issuer", "expired", "wrong host"])
def test_a_client_does_not_trust_a_wrong_certificate(
    kafka: FakeCluster, library: str, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "fakebroker")
    kafka.tls.present(what)
    with pytest.raises(Exception):  # noqa: B017  each library has its own
        CLIENTS[library](kafka.client_settings(library, "SSL"), patience_ms=200)
    # aiokafka closes the connection without an alert, and logs the reason itself.
    reason = "certificate verify failed" if library == "aiokafka" else f"TLS handshake failed: {ALERTS[what]}"
    wait_until(lambda: reason in caplog.text, reason)
    kafka.tls.present()
    CLIENTS[library](kafka.client_settings(library, "SSL"))
    assert read_values(kafka, TOPIC) == [VALUE], "only the second record"


@clients
def test_settings_for_plain_text_are_short(kafka: FakeCluster, library: str) -> None:
    settings = kafka.client_settings(library)
    assert len(settings) == 2
    CLIENTS[library](settings)
    assert read_values(kafka, TOPIC) == [VALUE]
