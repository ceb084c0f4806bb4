"""Responses larger than a socket takes at once, over real sockets, on both event loops."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import FETCH, api_versions, batch, fetch, produce
from support.watchdog import wait_until

from fakebroker import FakeCluster
from fakebroker.server import fake_cluster

BATCHES = 24
LARGE = 900_000  # bytes of each, so that they are more than any socket's buffers take
ALL = 55 << 20


@pytest.fixture(params=["uvloop", "asyncio"])
def kafka(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    if request.param == "asyncio":
        monkeypatch.setattr(fake_cluster, "new_event_loop", asyncio.new_event_loop)
    else:
        pytest.importorskip("uvloop")
    with FakeCluster(brokers=1) as running:
        running.create_topic("t")
        with RawClient(running.endpoints[0]) as client:
            for number in range(BATCHES):
                client.ask(produce("t", acks=1, records=batch(bytes([number]) * LARGE)))
        yield running


def records_of(answer: bytes) -> bytes:
    response = decode_response(FETCH, 11, answer)[1]
    records: bytes = response.responses[0].partitions[0].records
    return records


def unwritten(kafka: FakeCluster) -> int:
    """Return the bytes of responses that the broker has not written, of all connections."""
    driver = kafka._cluster.server.driver
    return kafka._call(lambda: sum(transport.get_write_buffer_size() for transport in driver.transports.values()))


def test_it_comes_whole_and_what_is_behind_it_in_order(kafka: FakeCluster) -> None:
    with RawClient(kafka.endpoints[0]) as client:
        client.send(
            fetch("t", correlation_id=1, max_bytes=ALL),
            api_versions(correlation_id=2),
            fetch("t", correlation_id=3, offset=BATCHES - 2, max_bytes=ALL),
        )
        whole, small, rest = (client.receive() for _ in range(3))
    assert [int.from_bytes(answer[:4], "big") for answer in (whole, small, rest)] == [1, 2, 3]
    records = records_of(whole)
    for number in range(BATCHES):
        assert records.count(bytes([number]) * LARGE) == 1
    assert records.endswith(records_of(rest))


def test_a_large_response_that_is_not_read_takes_little_memory(kafka: FakeCluster) -> None:
    clients = [RawClient(kafka.endpoints[0]) for _ in range(5)]
    try:
        for client in clients:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
            client.send(fetch("t", max_bytes=ALL), api_versions(correlation_id=2))
        with RawClient(kafka.endpoints[0]) as other:  # is served meanwhile
            for _ in range(50):
                other.ask(api_versions())
        assert 0 < unwritten(kafka) <= 5 * 262_144
        assert len(records_of(clients[0].receive())) > BATCHES * LARGE
        assert int.from_bytes(clients[0].receive()[:4], "big") == 2
    finally:
        for client in clients:
            client.socket.close()
    wait_until(lambda: unwritten(kafka) == 0, "the end of the unread response")


def test_a_broker_stops_although_no_client_reads(kafka: FakeCluster) -> None:
    with RawClient(kafka.endpoints[0]) as client:
        client.send(fetch("t", max_bytes=ALL))
        wait_until(lambda: unwritten(kafka) > 0, "an answer that is not read")
        kafka.brokers[1].stop()
        kafka.brokers[1].start()
    with RawClient(kafka.endpoints[0]) as client:
        assert len(records_of(client.ask(fetch("t", max_bytes=ALL)))) > BATCHES * LARGE
