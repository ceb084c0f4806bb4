"""A bug of the broker is loud: an error for the client, a traceback in the log, and no effect on other clients."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from support.apis import with_parts
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import METADATA, Produced, metadata, produce

from fakebroker import FakeCluster

PRODUCE = 0
UNKNOWN_SERVER_ERROR = -1


class OurBug(Exception):
    pass


def fails(*_: Any) -> None:
    raise OurBug("on purpose")


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=1) as cluster:
        cluster.create_topic("t")
        yield cluster


@pytest.fixture
def client(kafka: FakeCluster) -> Iterator[RawClient]:
    with RawClient(kafka.endpoints[0]) as raw:
        yield raw


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    return caplog


def break_api(kafka: FakeCluster, api_key: int, **parts: Any) -> None:
    apis = kafka._cluster.server.driver.cluster._dispatcher._apis
    apis[api_key] = with_parts(apis[api_key], **parts)


def test_the_client_is_told_unknown_server_error(kafka: FakeCluster, client: RawClient) -> None:
    break_api(kafka, PRODUCE, handle=fails)

    assert Produced(client.ask(produce("t"))).partitions == {0: (UNKNOWN_SERVER_ERROR, -1)}


def test_with_acks_0_the_connection_is_closed(kafka: FakeCluster, client: RawClient) -> None:
    break_api(kafka, PRODUCE, handle=fails)
    client.send(produce("t", acks=0))

    assert client.is_closed_by_broker()


def test_the_log_has_one_error_with_what_failed_and_a_traceback(
    kafka: FakeCluster, client: RawClient, log: pytest.LogCaptureFixture
) -> None:
    break_api(kafka, PRODUCE, handle=fails)
    client.ask(produce("t", correlation_id=7))

    (record,) = log.records
    host, port = client.socket.getsockname()
    assert (record.name, record.levelname) == ("fakebroker", "ERROR")
    assert f"Produce v9, correlation id 7, from {host}:{port}" in record.getMessage()
    assert record.exc_info is not None
    assert record.exc_info[0] is OurBug


def test_the_connection_is_served_on(kafka: FakeCluster, client: RawClient) -> None:
    break_api(kafka, PRODUCE, handle=fails)
    client.ask(produce("t"))

    _, answer = decode_response(METADATA, 12, client.ask(metadata(["t"])))
    assert answer.topics[0].error_code == 0


def in_slices_fails(*_: Any) -> Iterator[None]:
    yield
    fails()


@pytest.mark.parametrize(
    ("parts", "size"),
    [({"decode": fails}, 10), ({"decode_by_hand": None, "decode_in_slices": in_slices_fails}, 100_000)],
    ids=["at once", "in slices"],
)
def test_a_request_that_a_bug_keeps_from_being_read_closes_its_connection_and_no_other(
    kafka: FakeCluster, client: RawClient, log: pytest.LogCaptureFixture, parts: dict[str, Any], size: int
) -> None:
    with RawClient(kafka.endpoints[0]) as other:
        break_api(kafka, PRODUCE, **parts)
        client.send(produce("t", records=b"\0" * size))

        assert client.is_closed_by_broker()
        _, answer = decode_response(METADATA, 12, other.ask(metadata(["t"])))
    assert answer.topics[0].error_code == 0
    (bug,) = [record for record in log.records if record.levelname == "ERROR"]
    assert "reading a request from" in bug.getMessage()
    assert bug.exc_info is not None
    assert bug.exc_info[0] is OurBug


def test_what_was_answered_before_is_sent_when_not_even_an_error_can_be_answered(
    kafka: FakeCluster, client: RawClient
) -> None:
    break_api(kafka, METADATA, handle=fails, error_response=fails)
    client.send(produce("t"), metadata(["t"]))

    assert Produced(client.receive()).partitions == {0: (0, 0)}


def test_the_log_is_ours_when_not_even_an_error_can_be_answered(
    kafka: FakeCluster, client: RawClient, log: pytest.LogCaptureFixture
) -> None:
    break_api(kafka, METADATA, handle=fails, error_response=fails)
    client.send(metadata(["t"]))
    client.is_closed_by_broker()

    assert {record.name for record in log.records} == {"fakebroker"}


def test_the_connection_is_closed_when_not_even_an_error_can_be_answered(kafka: FakeCluster, client: RawClient) -> None:
    break_api(kafka, METADATA, handle=fails, error_response=fails)
    client.send(metadata(["t"]))

    assert client.is_closed_by_broker()


def test_other_connections_are_served_when_an_error_response_fails(kafka: FakeCluster, client: RawClient) -> None:
    break_api(kafka, METADATA, handle=fails, error_response=fails)
    client.send(metadata(["t"]))
    client.is_closed_by_broker()

    with RawClient(kafka.endpoints[0]) as other:
        assert Produced(other.ask(produce("t"))).partitions == {0: (0, 0)}
