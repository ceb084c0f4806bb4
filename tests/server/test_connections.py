"""Connections over real sockets, on both event loops: limits, idle close, throttling, back-pressure, no leftovers."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Iterator
from time import monotonic

import pytest
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import FETCH, Produced, batch, fetch, metadata, produce
from support.watchdog import wait_until

from fakebroker import FakeCluster, KafkaError
from fakebroker.network.connection import ChannelMuteState, Connection
from fakebroker.server import fake_cluster
from fakebroker.testing.connection_lifetime import lifetime_of

Start = Callable[..., FakeCluster]


@pytest.fixture(params=["uvloop", "asyncio"])
def start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a cluster of one broker with settings that are written with underscores."""
    if request.param == "asyncio":
        monkeypatch.setattr(fake_cluster, "new_event_loop", asyncio.new_event_loop)
    else:
        pytest.importorskip("uvloop")
    running = []

    def run(**config: str | int) -> FakeCluster:
        kafka = FakeCluster(brokers=1, config={name.replace("_", "."): value for name, value in config.items()})
        kafka.start()
        running.append(kafka)
        kafka.create_topic("t")
        return kafka

    yield run
    for kafka in running:
        kafka.stop()


def client_of(kafka: FakeCluster) -> RawClient:
    return RawClient(kafka.endpoints[0])


def connections(kafka: FakeCluster) -> list[Connection]:
    """Return the broker's side of the open connections."""
    server = kafka._cluster.server.driver
    return kafka._call(lambda: list(server.transports))


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "fakebroker")
    return caplog


def test_above_the_maximum_of_its_address_a_connection_is_closed_without_a_byte(
    start: Start, log: pytest.LogCaptureFixture
) -> None:
    kafka = start(max_connections_per_ip=2)
    with client_of(kafka) as first, client_of(kafka) as second:
        for client in (first, second):
            client.ask(metadata([]))
        with client_of(kafka) as third:
            assert third.is_closed_by_broker()
            host, port = third.socket.getsockname()
        first.ask(metadata([]))
    (line,) = [record.getMessage() for record in log.records]
    assert line == (
        f"closed the connection from {host}:{port}: "
        "127.0.0.1 already has the configured maximum of 2 connections (max.connections.per.ip)"
    )
    wait_until(lambda: not connections(kafka), "the end of all connections")
    with client_of(kafka) as again:
        again.ask(metadata([]))


def test_the_override_of_an_address(start: Start) -> None:
    kafka = start(max_connections_per_ip=0, max_connections_per_ip_overrides="127.0.0.1:1")
    with client_of(kafka) as first, client_of(kafka) as second:
        first.ask(metadata([]))
        assert second.is_closed_by_broker()


def test_above_the_maximum_of_the_broker_a_connection_is_served_when_another_one_goes(start: Start) -> None:
    kafka = start(max_connections=1)
    first = client_of(kafka)
    first.ask(metadata([]))
    with client_of(kafka) as second:
        second.send(metadata([], correlation_id=7))
        wait_until(lambda: len(connections(kafka)) == 2, "the second connection")
        assert [connection.state for connection in connections(kafka)] == [
            ChannelMuteState.READY,
            ChannelMuteState.WAITING,
        ]
        first.ask(metadata([]))
        first.socket.close()
        assert second.receive()[:4] == (7).to_bytes(4, "big")


def test_an_idle_connection_is_closed(start: Start, log: pytest.LogCaptureFixture) -> None:
    kafka = start(connections_max_idle_ms=150)
    with client_of(kafka) as client:
        since = monotonic()
        client.ask(metadata([]))
        assert client.is_closed_by_broker()
        assert monotonic() - since > 0.15
    assert "idle for more than 150 ms (connections.max.idle.ms)" in log.records[0].getMessage()


def test_a_parked_request_does_not_keep_a_connection_open(start: Start) -> None:
    kafka = start(connections_max_idle_ms=150)
    kafka.create_topic("parked", replication_factor=1)
    with client_of(kafka) as client:
        client.send(fetch("parked", max_wait_ms=60_000))
        assert client.is_closed_by_broker()


def test_the_next_request_is_read_when_the_throttling_is_over(start: Start) -> None:
    kafka = start()
    first, second = produce("t", records=batch(bytes(10_000))), produce("t", correlation_id=2)
    # (size / 10 s - rate) / rate x 10 s is about 300 ms.
    kafka.quotas.set(client_id="test", producer_byte_rate=round((len(first) - 4) / 10.3))
    with client_of(kafka) as client:
        since = monotonic()
        client.send(first, second)
        throttle_s = Produced(client.receive()).response.throttle_time.total_seconds()
        client.receive()
        assert 0.28 < throttle_s < 0.32
        assert monotonic() - since >= throttle_s


def test_a_quota_that_kafka_refuses(start: Start) -> None:
    kafka = start()
    with pytest.raises(KafkaError, match="must be greater than 0"):
        kafka.quotas.set(user="ANONYMOUS", request_percentage=0)
    with pytest.raises(KafkaError, match="name a user or a client id"):
        kafka.quotas.set(producer_byte_rate=1)
    with pytest.raises(ValueError, match="no quota is given"):
        kafka.quotas.set(client_id=kafka.quotas.DEFAULT)


def test_a_client_that_does_not_read_gets_nothing_more_done(start: Start) -> None:
    kafka = start()
    with client_of(kafka) as client, client_of(kafka) as other:
        other.ask(produce("t", acks=1, records=batch(bytes(1_000_000))))
        # 64 MB of answers are more than the sockets' buffers take.
        client.send(*(fetch("t", correlation_id=number) for number in range(64)))
        client.send(produce("t", acks=1, correlation_id=99))
        wait_until(lambda: any(c.write_blocked for c in connections(kafka)), "a full socket")
        _, response = decode_response(FETCH, 11, other.ask(fetch("t", offset=0)))
        assert response.responses[0].partitions[0].high_watermark == 1
        correlation_ids = [int.from_bytes(client.receive()[:4], "big") for _ in range(65)]
        assert correlation_ids == [*range(64), 99]


def test_blocked_means_that_a_single_byte_is_left(start: Start) -> None:
    """The event loops themselves would call 64 kB blocked; Kafka unmutes when the answer is completely written."""
    kafka = start()
    with client_of(kafka) as client:
        client.ask(metadata([]))
        (transport,) = kafka._cluster.server.driver.transports.values()
        assert kafka._call(transport.get_write_buffer_limits) == (0, 0)


def test_nothing_is_left_of_a_peer_that_went_while_its_request_was_parked(start: Start) -> None:
    kafka = start()
    client = client_of(kafka)
    client.ask(metadata([]))
    client.send(fetch("t", max_wait_ms=200))
    wait_until(lambda: connections(kafka)[0].state is ChannelMuteState.BUSY, "the request")
    lifetime = lifetime_of(connections(kafka)[0])
    client.socket.close()
    wait_until(lambda: not connections(kafka), "the end of the connection")
    gc.collect()
    assert lifetime() is None, gc.get_referrers(lifetime())
    with client_of(kafka) as other:
        other.ask(produce("t", acks=1))


def test_stopping_with_connections_that_wait(start: Start) -> None:
    kafka = start(max_connections=1)
    with client_of(kafka) as first, client_of(kafka) as second:
        first.ask(metadata([]))
        second.send(metadata([]))
        wait_until(lambda: len(connections(kafka)) == 2, "the second connection")
        timer = kafka._cluster.server.driver._timer
        kafka.stop()
        assert second.is_closed_by_broker()
        assert timer._handle is None
