"""Stories about Kafka's producer before KIP-91, with kafka-python 2.0.2, unmodified: it has the same design.

Only the test moves its clock. All times are whole eighths of a second, so that floating point has them exactly.
"""

from __future__ import annotations

import pytest
from support.old_kafka_python import old_kafka_python
from support.ports import is_open
from support.watchdog import wait_until

from fakebroker import FakeCluster

pytestmark = pytest.mark.clients

TIMEOUT_MS, LINGER_MS, BACKOFF_MS = 5_000, 500, 125
AN_EIGHTH_MS = 125


def expired(key: str, partition: int, records: int, since: str) -> str:
    batch = f"Batch for TopicPartition(topic='orders', partition={partition}) containing {records} record(s)"
    return f"{key} KafkaTimeoutError: {batch} expired: 5 seconds have passed since {since}"


def test_it_expires_for_three_reasons_and_not_at_the_limit() -> None:
    with FakeCluster(brokers=1) as kafka:
        port = kafka.endpoints[0].port
        kafka.create_topic("orders", partitions=3)
        settings = {"request_timeout_ms": TIMEOUT_MS, "linger_ms": LINGER_MS, "retry_backoff_ms": BACKOFF_MS}
        with old_kafka_python(kafka, batch_size=1_000, retries=1, **settings) as program:
            kafka.faults.add(when={"api": "Produce", "topic": "orders", "at": "after_append"}, do={"kill": 1})
            program.send("retried", partition=2)
            assert program.advance(LINGER_MS) == [], "it is sent, and the broker dies"
            program.await_retry(partition=2)  # since 500 ms
            wait_until(lambda: not is_open(port), "the port of the dead broker to close")
            assert program.advance(0) == [], "a connection that came just before is closed, too"
            program.send("full", 450)
            program.send("lingers", partition=1)  # since 500 ms, and 500 more
            assert program.advance(250) == []
            program.send("full", 450)  # since 750 ms the batch is full,
            program.send("next", 450)  # as this one has to begin another one: since 750 ms, and 500 more
            program.send("lingers", partition=1)
            assert program.advance(4_875) == [], "5,625 ms: exactly the time-out since the attempt and its back-off"
            attempt = "last attempt plus backoff time"
            assert program.advance(AN_EIGHTH_MS) == [expired("retried", 2, 1, attempt)], "5,750 ms: since full, exactly"
            assert program.advance(AN_EIGHTH_MS) == [expired("full", 0, 2, "last append")] * 2
            linger = "batch creation plus linger time"
            assert program.advance(AN_EIGHTH_MS) == [], "6,000 ms: since the batch of two was to be sent, exactly"
            assert program.advance(AN_EIGHTH_MS) == [expired("lingers", 1, 2, linger)] * 2
            assert program.advance(AN_EIGHTH_MS) == [], "6,250 ms: the same of the next one"
            assert program.advance(AN_EIGHTH_MS) == [expired("next", 0, 1, linger)]


def test_a_silent_broker_fails_all_in_flight_at_once() -> None:
    """The oldest is over its time: at 5 s here, where Kafka's is strictly later. They are told that, as since
    Kafka 3.5."""
    with FakeCluster(brokers=1) as kafka:
        kafka.create_topic("orders", partitions=3)
        with old_kafka_python(kafka, request_timeout_ms=TIMEOUT_MS, linger_ms=0, retries=0) as program:
            kafka.brokers[1].pause()
            for partition, key in enumerate("abc"):
                program.send(key, partition=partition)
                assert program.advance(0) == [], "it is on its way"
                assert program.advance(1_000) == []
            assert program.advance(TIMEOUT_MS - 3_000 - AN_EIGHTH_MS) == []
            reason = "[Error 7] RequestTimedOutError: Request timed out after 5000 ms"
            assert sorted(program.advance(AN_EIGHTH_MS)) == [f"{key} {reason}" for key in "abc"]
            kafka.brokers[1].resume()
            program.send("d")
            (again,) = program.advance(1_000) or [program.told()]
            assert again.startswith("d offset "), "over another connection"
