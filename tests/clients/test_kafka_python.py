"""kafka-python, unmodified: what the application sees, and what the log holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic
from kafka.errors import InvalidReplicationFactorError, KafkaError, RequestTimedOutError, TopicAlreadyExistsError
from support.log_reader import read_values
from support.topics import topic_of
from support.watchdog import LIMIT_S, wait_until

from fakebroker import FakeCluster

pytestmark = pytest.mark.clients

TIMEOUT_MS = 30_000  # of the broker, which skips it; the client's own timeout is real and never fires first

PRODUCERS: dict[str, dict[str, Any]] = {
    "acks=0": {"acks": 0, "enable_idempotence": False},
    "acks=1": {"acks": 1, "enable_idempotence": False},
    "acks=all": {"acks": "all", "enable_idempotence": False},
    "default": {},  # acks=all, idempotent
}


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=3) as cluster:
        yield cluster


@contextmanager
def producer(kafka: FakeCluster, **settings: Any) -> Iterator[KafkaProducer]:
    made = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, **settings)
    try:
        yield made
    finally:
        made.close(timeout=LIMIT_S)


@pytest.mark.parametrize("settings", PRODUCERS.values(), ids=PRODUCERS.keys())
def test_what_is_sent_is_in_the_log_in_order(kafka: FakeCluster, settings: dict[str, Any]) -> None:
    kafka.create_topic("t", partitions=1)
    values = [b"value %d" % i for i in range(50)]
    with producer(kafka, **settings) as sender:
        for value in values:
            sender.send("t", value, partition=0)
        sender.flush(LIMIT_S)

    # With acks=0 a flush tells no more than that the requests were written to the socket.
    wait_until(lambda: len(read_values(kafka, "t")) >= len(values), "the last record's arrival")
    assert read_values(kafka, "t") == values


@pytest.mark.parametrize("name", ["acks=1", "acks=all", "default"])
def test_futures_tell_the_offsets_of_the_log(kafka: FakeCluster, name: str) -> None:
    kafka.create_topic("t", partitions=1)
    with producer(kafka, **PRODUCERS[name]) as sender:
        futures = [sender.send("t", b"v", partition=0) for _ in range(10)]
        offsets = [future.get(LIMIT_S).offset for future in futures]

    assert offsets == list(range(10))


def test_partitions_on_several_brokers_have_offsets_of_their_own(kafka: FakeCluster) -> None:
    kafka.create_topic("t", partitions=4)
    expected = {p: [b"%d/%d" % (p, i) for i in range(p + 1)] for p in range(4)}
    with producer(kafka) as sender:
        for partition, values in expected.items():
            futures = [sender.send("t", value, partition=partition) for value in values]
            assert [future.get(LIMIT_S).offset for future in futures] == list(range(len(values)))

    assert {p: read_values(kafka, "t", p) for p in range(4)} == expected


def test_a_topic_is_made_when_it_is_first_produced_to(kafka: FakeCluster) -> None:
    with producer(kafka) as sender:
        answer = sender.send("new", b"first").get(LIMIT_S)

    assert (answer.partition, answer.offset) == (0, 0)
    assert read_values(kafka, "new") == [b"first"]


@pytest.fixture
def admin(kafka: FakeCluster) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    yield client
    client.close()


def test_the_admin_client_makes_a_topic(kafka: FakeCluster, admin: KafkaAdminClient) -> None:
    admin.create_topics([NewTopic("made", num_partitions=3, replication_factor=2)])

    (described,) = admin.describe_topics(["made"])
    assert [p["leader_id"] for p in described["partitions"]] == [1, 2, 3]


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic("t", num_partitions=1, replication_factor=1), TopicAlreadyExistsError),
        (NewTopic("n", num_partitions=1, replication_factor=4), InvalidReplicationFactorError),
    ],
    ids=["there already", "too many replicas"],
)
def test_the_admin_client_is_told_why_a_topic_is_not_made(
    kafka: FakeCluster, admin: KafkaAdminClient, topic: NewTopic, error: type[KafkaError]
) -> None:
    kafka.create_topic("t")

    with pytest.raises(error):
        admin.create_topics([topic])


ONE_TRY: dict[str, Any] = {
    "acks": "all",
    "enable_idempotence": False,
    "retries": 0,
    "request_timeout_ms": TIMEOUT_MS,
}


@pytest.fixture
def skipping() -> Iterator[FakeCluster]:
    """A cluster that skips what requests wait for."""
    with FakeCluster(clock="auto", config={"replica.lag.time.max.ms": 2**31 - 1}) as cluster:
        yield cluster


def test_a_frozen_partition_makes_the_client_time_out(skipping: FakeCluster) -> None:
    kafka = skipping
    kafka.create_topic("t")
    kafka.followers.freeze("t")
    with producer(kafka, **ONE_TRY) as sender:
        future = sender.send("t", b"v", partition=0)

        with pytest.raises(RequestTimedOutError):
            future.get(LIMIT_S)


def test_a_timed_out_record_is_in_the_log_and_seen_once_followers_resume(skipping: FakeCluster) -> None:
    kafka = skipping
    kafka.create_topic("t")
    kafka.followers.freeze("t")
    with producer(kafka, **ONE_TRY) as sender, pytest.raises(RequestTimedOutError):
        sender.send("t", b"timed out", partition=0).get(LIMIT_S)
    hidden = read_values(kafka, "t")
    kafka.followers.resume("t")

    assert (hidden, read_values(kafka, "t")) == ([], [b"timed out"])


def test_a_partition_that_resumes_takes_acks_all_again(skipping: FakeCluster) -> None:
    kafka = skipping
    kafka.create_topic("t")
    kafka.followers.freeze("t")
    with producer(kafka, **ONE_TRY) as sender:
        with pytest.raises(RequestTimedOutError):
            sender.send("t", b"timed out", partition=0).get(LIMIT_S)
        kafka.followers.resume("t")

        assert sender.send("t", b"delivered", partition=0).get(LIMIT_S).offset == 1


def test_retries_hide_the_timeout_and_append_again(skipping: FakeCluster) -> None:
    kafka = skipping
    kafka.create_topic("t")
    kafka.followers.freeze("t")
    settings = ONE_TRY | {"retries": 50, "retry_backoff_ms": 10}
    with producer(kafka, **settings) as sender:
        future = sender.send("t", b"v", partition=0)
        kafka_sees_two_tries(kafka)
        kafka.followers.resume("t")

        assert future.get(LIMIT_S).offset > 0
    assert set(read_values(kafka, "t")) == {b"v"}


def kafka_sees_two_tries(kafka: FakeCluster) -> None:
    """Wait until the leader's log holds the record twice."""
    log = topic_of(kafka._cluster.server.driver.cluster).partitions[0].leader_log
    wait_until(lambda: log.log_end_offset >= 2, "the second try")
