"""confluent-kafka (librdkafka), unmodified: what the application sees, and what the log holds."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from support.log_reader import read_values
from support.watchdog import LIMIT_S, wait_until

from fakebroker import FakeCluster

pytestmark = pytest.mark.clients

TIMEOUT_MS = 400

# acks, and whether the producer is idempotent (off by default in librdkafka).
PRODUCERS: dict[str, dict[str, Any]] = {
    "acks=0": {"acks": "0"},
    "acks=1": {"acks": "1"},
    "acks=all": {"acks": "all"},
    "default": {},
    "idempotent": {"enable.idempotence": True},
}


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=3) as cluster:
        yield cluster


class Sent:
    """Produces messages and collects their delivery reports."""

    def __init__(self, kafka: FakeCluster, **settings: Any) -> None:
        self.producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, **settings})
        self.errors: list[KafkaError] = []
        self.delivered: list[tuple[int, int, bytes]] = []

    def send(self, topic: str, *values: bytes, partition: int = 0) -> None:
        for value in values:
            self.producer.produce(topic, value, partition=partition, on_delivery=self._report)

    def flush(self) -> None:
        assert self.producer.flush(LIMIT_S) == 0

    def _report(self, error: KafkaError | None, message: Any) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            self.delivered.append((message.partition(), message.offset(), message.value()))


@pytest.mark.parametrize("settings", PRODUCERS.values(), ids=PRODUCERS.keys())
def test_what_is_sent_is_in_the_log_in_order(kafka: FakeCluster, settings: dict[str, Any]) -> None:
    kafka.create_topic("t", partitions=1)
    values = [b"value %d" % i for i in range(50)]
    sent = Sent(kafka, **settings)
    sent.send("t", *values)
    sent.flush()

    # With acks=0 a flush tells no more than that the requests were written to the socket.
    wait_until(lambda: len(read_values(kafka, "t")) >= len(values), "the last record's arrival")
    assert read_values(kafka, "t") == values
    assert sent.errors == []


@pytest.mark.parametrize("name", ["acks=1", "acks=all", "default", "idempotent"])
def test_delivery_reports_tell_the_offsets_of_the_log(kafka: FakeCluster, name: str) -> None:
    kafka.create_topic("t", partitions=1)
    values = [b"value %d" % i for i in range(20)]
    sent = Sent(kafka, **PRODUCERS[name])
    sent.send("t", *values[:10])
    sent.flush()
    sent.send("t", *values[10:])
    sent.flush()

    assert sent.delivered == [(0, offset, value) for offset, value in enumerate(values)]


def test_partitions_on_several_brokers_have_offsets_of_their_own(kafka: FakeCluster) -> None:
    kafka.create_topic("t", partitions=4)
    sent = Sent(kafka, acks="all")
    for partition in range(4):
        sent.send("t", *(b"%d/%d" % (partition, i) for i in range(partition + 1)), partition=partition)
    sent.flush()

    expected = {p: [b"%d/%d" % (p, i) for i in range(p + 1)] for p in range(4)}
    assert {p: read_values(kafka, "t", p) for p in range(4)} == expected
    assert sorted(sent.delivered) == [(p, i, value) for p, values in expected.items() for i, value in enumerate(values)]


def test_a_topic_is_made_when_it_is_first_produced_to(kafka: FakeCluster) -> None:
    sent = Sent(kafka, acks="all")
    sent.send("new", b"first")
    sent.flush()

    assert sent.delivered == [(0, 0, b"first")]
    assert read_values(kafka, "new") == [b"first"]


@pytest.fixture
def admin(kafka: FakeCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": kafka.bootstrap_servers})


def test_the_admin_client_makes_a_topic(kafka: FakeCluster, admin: AdminClient) -> None:
    topic = NewTopic("made", num_partitions=3, replication_factor=2, config={"min.insync.replicas": "2"})
    admin.create_topics([topic])["made"].result(LIMIT_S)

    described = admin.list_topics("made", timeout=LIMIT_S).topics["made"]
    assert {p.id: (p.leader, p.replicas) for p in described.partitions.values()} == {
        0: (1, [1, 2]),
        1: (2, [2, 3]),
        2: (3, [3, 1]),
    }


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (NewTopic("t", 1, 1), KafkaError.TOPIC_ALREADY_EXISTS),
        (NewTopic("a b", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("n", 1, 4), KafkaError.INVALID_REPLICATION_FACTOR),
        (NewTopic("n", 1, 1, config={"no.such": "1"}), KafkaError.INVALID_CONFIG),
    ],
    ids=["there already", "bad name", "too many replicas", "unknown setting"],
)
def test_the_admin_client_is_told_why_a_topic_is_not_made(
    kafka: FakeCluster, admin: AdminClient, topic: NewTopic, code: int
) -> None:
    kafka.create_topic("t")
    with pytest.raises(KafkaException) as raised:
        admin.create_topics([topic])[topic.topic].result(LIMIT_S)

    assert raised.value.args[0].code() == code


# request.timeout.ms goes to the broker; socket.timeout.ms (60 s) is how long the client itself waits.
ONE_TRY = {"acks": "all", "retries": 0, "request.timeout.ms": TIMEOUT_MS}


def test_a_frozen_partition_answers_request_timed_out(kafka: FakeCluster) -> None:
    kafka.create_topic("t")
    kafka.followers.freeze("t")
    sent = Sent(kafka, **ONE_TRY)
    sent.send("t", b"v")
    sent.flush()

    (error,) = sent.errors
    assert error.code() == KafkaError.REQUEST_TIMED_OUT
    assert sent.delivered == []


def test_request_timed_out_does_not_come_before_the_timeout(kafka: FakeCluster) -> None:
    kafka.create_topic("t")
    sent = Sent(kafka, **ONE_TRY)
    sent.send("t", b"to be connected")
    sent.flush()
    kafka.followers.freeze("t")

    started = monotonic()
    sent.send("t", b"v")
    sent.flush()
    waited_ms = (monotonic() - started) * 1000

    assert waited_ms >= TIMEOUT_MS


def test_a_timed_out_record_is_in_the_log_and_seen_once_followers_resume(kafka: FakeCluster) -> None:
    kafka.create_topic("t")
    kafka.followers.freeze("t")
    sent = Sent(kafka, **ONE_TRY)
    sent.send("t", b"timed out")
    sent.flush()
    hidden = read_values(kafka, "t")
    kafka.followers.resume("t")

    assert (hidden, read_values(kafka, "t")) == ([], [b"timed out"])


def test_a_partition_that_resumes_takes_acks_all_again(kafka: FakeCluster) -> None:
    kafka.create_topic("t")
    kafka.followers.freeze("t")
    sent = Sent(kafka, **ONE_TRY)
    sent.send("t", b"timed out")
    sent.flush()
    kafka.followers.resume("t")
    sent.send("t", b"delivered")
    sent.flush()

    assert sent.delivered == [(0, 1, b"delivered")]


def test_a_healthy_partition_is_not_held_up_by_a_frozen_one_of_another_broker(kafka: FakeCluster) -> None:
    kafka.create_topic("t", partitions=2)
    kafka.followers.freeze("t", partition=0)
    sent = Sent(kafka, **ONE_TRY)
    sent.send("t", b"frozen", partition=0)
    sent.send("t", b"healthy", partition=1)
    sent.flush()

    assert sent.delivered == [(1, 0, b"healthy")]
    assert [error.code() for error in sent.errors] == [KafkaError.REQUEST_TIMED_OUT]


def test_acks_1_does_not_wait_for_frozen_followers(kafka: FakeCluster) -> None:
    kafka.create_topic("t")
    kafka.followers.freeze("t")
    sent = Sent(kafka, acks="1")
    sent.send("t", b"v")
    sent.flush()

    assert sent.delivered == [(0, 0, b"v")]


def test_retries_append_what_timed_out_again() -> None:
    with FakeCluster(brokers=3, clock="auto", config={"replica.lag.time.max.ms": 2**31 - 1}) as kafka:
        kafka.create_topic("t")
        kafka.followers.freeze("t")
        # The broker's clock skips 5 s at a time; the client's own limit is real.
        settings = {"acks": "all", "request.timeout.ms": 5_000, "message.timeout.ms": 3_000, "retry.backoff.ms": 20}
        sent = Sent(kafka, **settings)
        sent.send("t", b"v")
        sent.flush()
        kafka.followers.resume("t")

        # The client hides error 7: it tries again until its own limit, and each try was appended.
        (error,) = sent.errors
        assert error.code() == KafkaError._MSG_TIMED_OUT
        values = read_values(kafka, "t")
        assert set(values) == {b"v"}
        assert len(values) > 1


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_consumer_with_assigned_offsets_reads_what_was_produced(kafka: FakeCluster, codec: str) -> None:
    kafka.create_topic("t", partitions=2)
    sent = Sent(kafka, acks="all", **{"compression.type": codec})
    values = [b"value %d" % i for i in range(20)]
    sent.send("t", *values, partition=1)
    sent.flush()

    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition("t", 1, 0)])
        read: list[tuple[int | None, bytes | None]] = []

        def are_read() -> bool:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                read.append((message.offset(), message.value()))
            return len(read) >= len(values)

        wait_until(are_read, "the last record")
    finally:
        consumer.close()

    assert read == list(enumerate(values))
