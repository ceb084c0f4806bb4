"""A throttled producer, unmodified: it is told for how long, and it is slowed."""

from __future__ import annotations

from time import monotonic

import pytest
from kafka import KafkaProducer
from support.watchdog import LIMIT_S

from fakebroker import FakeCluster

pytestmark = pytest.mark.clients

VALUE_BYTES = 20_000
RATE = 1_950  # a request of 20 070 to 20 200 bytes is throttled for 290 to 360 ms


def test_kafka_python_is_throttled() -> None:
    with FakeCluster(brokers=1) as kafka:
        kafka.create_topic("t", partitions=1)
        kafka.quotas.set(client_id="slow", producer_byte_rate=RATE)
        producer = KafkaProducer(
            bootstrap_servers=kafka.bootstrap_servers, client_id="slow", enable_idempotence=False, acks="all"
        )
        try:
            since = monotonic()
            producer.send("t", bytes(VALUE_BYTES)).get(timeout=LIMIT_S)
            producer.send("t", b"the next one waits").get(timeout=LIMIT_S)
            assert monotonic() - since > 0.28
            told_ms = producer.metrics()["producer-metrics"]["throttle-time-max"]
            assert told_ms > 250
        finally:
            producer.close(timeout=LIMIT_S)
