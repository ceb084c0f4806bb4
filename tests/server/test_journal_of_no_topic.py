"""`kafka.journal.produce(topic=...).expect(count=0)` where there is no such topic."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.raw_client import RawClient
from support.requests import produce

from fakebroker import FakeCluster

ORDERS = "orders"
SLIP = (
    r"^there is no topic 'odrers', and the journal knows none: 'orders' may be meant\. "
    r"If it is not, `assert not kafka\.journal\.produce\(topic='odrers'\)` says the same$"
)


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=1) as cluster:
        cluster.create_topic(ORDERS)
        yield cluster


def send(kafka: FakeCluster, topic: str) -> None:
    with RawClient(kafka.endpoints[0]) as client:
        client.ask(produce(topic))


def expect_none(kafka: FakeCluster, topic: str) -> None:
    kafka.journal.produce(topic=topic).expect(count=0)
    kafka.journal.produce(topic=topic).expect("NOT_ENOUGH_REPLICAS", count=0)


def test_a_misspelt_topic_is_refused(kafka: FakeCluster) -> None:
    for _ in range(2):
        with pytest.raises(AssertionError, match=SLIP):
            kafka.journal.produce(topic="odrers").expect(count=0)
        with pytest.raises(AssertionError, match=SLIP):
            kafka.journal.produce(topic="odrers", partition=3, client_id="me").expect("NONE", count=0, within_ms=5)
        kafka.journal.clear()
        send(kafka, ORDERS)
    assert not kafka.journal.produce(topic="odrers")


def test_a_topic_that_does_not_exist_yet_has_nothing(kafka: FakeCluster) -> None:
    send(kafka, ORDERS)
    for topic in ("orders-dlq", "orders.retry", "orders2", "payments"):
        expect_none(kafka, topic)


def test_a_topic_that_exists_or_did_has_nothing(kafka: FakeCluster) -> None:
    kafka.create_topic("order")
    expect_none(kafka, "order")
    kafka.journal.clear()
    expect_none(kafka, "order")
    kafka.delete_topic("order")
    kafka.create_topic("ordets")
    kafka.delete_topic("ordets")
    expect_none(kafka, "ordets")


def test_a_topic_that_a_client_named_is_known(kafka: FakeCluster) -> None:
    send(kafka, "odrers")
    kafka.journal.produce(topic="odrers").expect("UNKNOWN_TOPIC_OR_PARTITION", count=1)
    kafka.journal.produce(topic="odrers").expect("NONE", count=0)


def test_after_the_cluster_has_stopped(kafka: FakeCluster) -> None:
    kafka.stop()
    expect_none(kafka, ORDERS)
    with pytest.raises(AssertionError, match=SLIP):
        kafka.journal.produce(topic="odrers").expect(count=0)
