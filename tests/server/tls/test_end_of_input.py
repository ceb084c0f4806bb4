"""A client that sends requests and ends its side at once: they are handled over TLS as they are in plain text."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Sequence

import pytest
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import Produced, api_versions, batch, fetch, produce
from support.tls_client import RecordsClient, endpoint
from support.watchdog import wait_until

from fakebroker import FakeCluster

REQUESTS = 50
NEVER_MS = 600_000

Send = Callable[[FakeCluster, Sequence[bytes]], RawClient]


def in_plain_text(kafka: FakeCluster, requests: Sequence[bytes]) -> RawClient:
    """Send the requests, and FIN."""
    client = RawClient(endpoint(kafka, "PLAINTEXT"))
    client.send(*requests)
    client.end_sending()
    return client


def with_close_notify(kafka: FakeCluster, requests: Sequence[bytes]) -> RawClient:
    """Send a record for each request, close_notify and FIN."""
    client = RecordsClient(kafka)
    client.encrypt(requests)
    client.encrypt_the_end()
    client.send_encrypted()
    client.end_sending()
    return client


def with_fin_alone(kafka: FakeCluster, requests: Sequence[bytes]) -> RawClient:
    """Send a record for each request, and FIN."""
    client = RecordsClient(kafka)
    client.encrypt(requests)
    client.send_encrypted()
    client.end_sending()
    return client


def with_nonsense_behind(kafka: FakeCluster, requests: Sequence[bytes]) -> RawClient:
    """Send a record for each request, bytes that are no TLS, and FIN."""
    client = RecordsClient(kafka)
    client.encrypt(requests)
    client.send_encrypted()
    client.send(bytes(100))
    client.end_sending()
    return client


def in_one_read_with_nonsense(kafka: FakeCluster, requests: Sequence[bytes]) -> RecordsClient:
    """Send a record for each request, and at once bytes that are no TLS."""
    client = RecordsClient(kafka)
    client.encrypt(requests)
    client.send_encrypted(bytes(100))
    return client


def in_many_records(kafka: FakeCluster, requests: Sequence[bytes]) -> RawClient:
    """Send a record for each byte, close_notify and FIN."""
    return with_close_notify(kafka, [bytes((byte,)) for byte in b"".join(requests)])


def in_many_records_with_fin_alone(kafka: FakeCluster, requests: Sequence[bytes]) -> RawClient:
    """Send a record for each byte, and FIN."""
    return with_fin_alone(kafka, [bytes((byte,)) for byte in b"".join(requests)])


WAYS = [
    in_plain_text,
    with_close_notify,
    with_fin_alone,
    in_many_records,
    in_many_records_with_fin_alone,
]


@pytest.fixture(params=WAYS, ids=lambda way: way.__name__)
def send(request: pytest.FixtureRequest) -> Send:
    """Return a way to send requests and the end of input at once."""
    return request.param  # type: ignore[no-any-return]


def connections(kafka: FakeCluster) -> int:
    return kafka._call(lambda: len(kafka._cluster.server.driver.transports))


def test_a_producer_with_acks_0_loses_nothing(kafka: FakeCluster, send: Send) -> None:
    kafka.create_topic("t", partitions=1)
    with send(kafka, [produce("t", acks=0)] * REQUESTS) as client:
        assert client.is_closed_by_broker()
    wait_until(lambda: connections(kafka) == 0, "the end of the connection")
    assert len(kafka.journal.requests(api="Produce")) == REQUESTS


def test_a_producer_with_acks_0_loses_nothing_in_front_of_nonsense(kafka: FakeCluster) -> None:
    kafka.create_topic("t", partitions=1)
    with with_nonsense_behind(kafka, [produce("t", acks=0)] * REQUESTS):
        wait_until(lambda: len(kafka.journal.requests(api="Produce")) == REQUESTS, "the requests")
    wait_until(lambda: connections(kafka) == 0, "the end of the connection")


def test_each_request_in_front_of_the_end_has_its_response(kafka: FakeCluster, send: Send) -> None:
    with send(kafka, [api_versions(version=0, correlation_id=number) for number in range(REQUESTS)]) as client:
        correlation_ids = [decode_response(18, 0, client.receive())[0] for _ in range(REQUESTS)]
        assert client.is_closed_by_broker()
    assert correlation_ids == list(range(REQUESTS))
    wait_until(lambda: connections(kafka) == 0, "the end of the connection")


def test_a_large_response_is_sent_whole(kafka: FakeCluster, send: Send) -> None:
    kafka.create_topic("t", partitions=1)
    with RawClient(endpoint(kafka, "PLAINTEXT")) as client:
        for _ in range(8):
            client.ask(produce("t", records=batch(bytes(500_000))))
    with send(kafka, [fetch("t", max_bytes=1 << 23), api_versions(version=0, correlation_id=7)]) as client:
        assert len(client.receive()) > 8 * 500_000
        assert decode_response(18, 0, client.receive())[0] == 7
        assert client.is_closed_by_broker()


def test_requests_behind_a_parked_one_are_handled_in_their_turn(loop: str, send: Send) -> None:
    with FakeCluster(brokers=2, listeners=["PLAINTEXT", "SSL"]) as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=2)
        kafka.move_leader("t", 0, broker=1)
        kafka.followers.freeze("t")
        later = [api_versions(version=0, correlation_id=number) for number in range(REQUESTS)]
        with send(kafka, [produce("t", timeout_ms=NEVER_MS), *later]) as client:
            wait_until(lambda: len(kafka.journal.requests(api="Produce")) == 1, "the request")
            assert connections(kafka) == 1
            kafka.followers.resume("t")
            assert Produced(client.receive()).partitions == {0: (0, 0)}
            assert [decode_response(18, 0, client.receive())[0] for _ in range(REQUESTS)] == list(range(REQUESTS))
            assert client.is_closed_by_broker()
        wait_until(lambda: connections(kafka) == 0, "the end of the connection")


def is_refused(client: RecordsClient) -> bool:
    """Return True if the broker sends an alert in place of a response."""
    with pytest.raises(ssl.SSLError, match="alert"):
        client.receive()
    return True


@pytest.fixture
def two_brokers(loop: str) -> Iterator[FakeCluster]:
    """Return a cluster in which the follower of a partition is frozen."""
    with FakeCluster(brokers=2, listeners=["PLAINTEXT", "SSL"]) as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=2)
        kafka.move_leader("t", 0, broker=1)
        kafka.followers.freeze("t")
        yield kafka


def test_responses_in_one_read_with_nonsense_are_lost(kafka: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    kafka.create_topic("t", partitions=1)
    for request in (produce("t", acks=1), api_versions(version=0)):
        with in_one_read_with_nonsense(kafka, [request] * REQUESTS) as client:
            assert is_refused(client)
        wait_until(lambda: connections(kafka) == 0, "the end of the connection")
    assert len(kafka.journal.requests(api="Produce")) == REQUESTS
    assert caplog.messages == []


def test_nonsense_behind_responses_ends_the_connection(kafka: FakeCluster) -> None:
    kafka.create_topic("t", partitions=1)
    with RecordsClient(kafka) as client:
        client.encrypt([produce("t", acks=1), api_versions(version=0, correlation_id=7)])
        client.send_encrypted()
        assert Produced(client.receive()).partitions == {0: (0, 0)}
        assert decode_response(18, 0, client.receive())[0] == 7
        client.send(bytes(100))
        assert is_refused(client)
    wait_until(lambda: connections(kafka) == 0, "the end of the connection")


def test_a_parked_request_with_nonsense_behind_it_does_not_harm_others(two_brokers: FakeCluster) -> None:
    parked = produce("t", timeout_ms=NEVER_MS)
    with in_one_read_with_nonsense(two_brokers, [parked]) as broken, RecordsClient(two_brokers) as other:
        wait_until(lambda: len(two_brokers.journal.requests(api="Produce")) == 1, "the request")
        other.encrypt([parked])
        other.send_encrypted()
        wait_until(lambda: len(two_brokers.journal.requests(api="Produce")) == 2, "the other request")
        two_brokers.followers.resume("t")
        assert Produced(other.receive()).partitions == {0: (0, 1)}
        assert is_refused(broken)
        wait_until(lambda: connections(two_brokers) == 1, "the end of the connection")


@pytest.mark.parametrize("behind", [0, 1])
def test_a_parked_request_has_its_response_in_front_of_later_nonsense(two_brokers: FakeCluster, behind: int) -> None:
    with RecordsClient(two_brokers) as client, RecordsClient(two_brokers) as other:
        client.encrypt([produce("t", timeout_ms=NEVER_MS), *[api_versions(version=0, correlation_id=7)] * behind])
        client.send_encrypted()
        wait_until(lambda: len(two_brokers.journal.requests(api="Produce")) == 1, "the request")
        client.send(bytes(100))
        other.encrypt([api_versions(version=0)])
        other.send_encrypted()
        other.receive()  # the broker had the time to read the nonsense, too
        two_brokers.followers.resume("t")
        assert Produced(client.receive()).partitions == {0: (0, 0)}
        assert [decode_response(18, 0, client.receive())[0] for _ in range(behind)] == [7] * behind
        assert is_refused(client)
        wait_until(lambda: connections(two_brokers) == 1, "the end of the connection")
