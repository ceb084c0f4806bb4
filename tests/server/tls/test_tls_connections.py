"""Connections with TLS, from the handshake to the end, over real sockets."""

from __future__ import annotations

import logging
import math
import socket
import ssl
import struct
from collections.abc import Sequence
from typing import Any

import pytest
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import METADATA, Produced, batch, fetch, metadata, produce
from support.tls_client import TlsClient, context_of
from support.watchdog import LIMIT_S, wait_until

from fakebroker import FakeCluster
from fakebroker.core.journal.events import ConnectionClosed, Login
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server.clock_in_hand import MAX_ADVANCE_MS
from fakebroker.server.tls.contexts import CHOICES
from fakebroker.server.tls.transport import TlsTransport

INTERNAL_ERROR = bytes.fromhex("15030300020250")  # the alert of Java for bytes that are no TLS
HELLO_AND_MORE = b"\x16\x03\x01\x02\x00\x01"  # the beginning of a handshake


def port_told_to(client: RawClient) -> int:
    _, answer = decode_response(METADATA, 12, client.ask(metadata([])))
    return int(answer.brokers[0].port)


def port_of(kafka: FakeCluster, listener: str) -> int:
    return int(kafka.bootstrap(listener).rpartition(":")[2])


def plain(kafka: FakeCluster, listener: str) -> RawClient:
    """Connect to a listener without TLS."""
    return RawClient(NodeEndpoint(1, "127.0.0.1", port_of(kafka, listener)))


def connections(kafka: FakeCluster) -> int:
    return kafka._call(lambda: len(kafka._cluster.server.driver.transports))


def test_a_client_is_told_the_addresses_of_its_own_listener(kafka: FakeCluster) -> None:
    with TlsClient(kafka) as secured, plain(kafka, "PLAINTEXT") as other:
        assert port_told_to(secured) == port_of(kafka, "SSL")
        assert port_told_to(other) == port_of(kafka, "PLAINTEXT")
    assert port_of(kafka, "SSL") != port_of(kafka, "PLAINTEXT")


def test_requests_that_are_cut_into_single_bytes_have_responses(kafka: FakeCluster) -> None:
    with TlsClient(kafka) as client:
        for byte in metadata([]) * 2:
            client.send(bytes([byte]))
        first, second = client.receive(), client.receive()
    assert first == second


def test_a_client_that_closes_its_side_has_its_connection_closed(kafka: FakeCluster) -> None:
    with TlsClient(kafka) as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        client.socket.unwrap()
    wait_until(lambda: connections(kafka) == 0, "the end of the connection")


@pytest.mark.parametrize("what", [metadata([]), b"GET / HTTP/1.1\r\n\r\n"], ids=["Kafka", "HTTP"])
def test_a_client_without_tls_is_closed_with_a_reason(
    kafka: FakeCluster, what: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "fakebroker")
    with plain(kafka, "SSL") as client:
        client.send(what)
        client.send(what)
        client.socket.makefile("rb").read()  # perhaps an alert, then the end
    wait_until(lambda: "TLS handshake failed: " in caplog.text, "the reason")
    assert caplog.text.count("TLS handshake failed: ") == 1


@pytest.mark.parametrize("listener", ["SSL", "SASL_SSL"])
def test_a_failed_handshake_closes_the_connection_at_once(loop: str, listener: str) -> None:
    """KafkaChannel.prepare: only failures behind the handshake are delayed."""
    config = {"connection.failed.authentication.delay.ms": 200}
    with (
        FakeCluster(brokers=1, listeners=[listener], clock="manual", config=config) as kafka,
        plain(kafka, listener) as client,
    ):
        client.send(b"GET / HTTP/1.1\r\n\r\n")
        assert client.socket.makefile("rb").read() == INTERNAL_ERROR
        wait_until(lambda: connections(kafka) == 0, "the end of the connection")
        [login] = [event for event in kafka.journal if isinstance(event, Login)]
        [closed] = [event for event in kafka.journal if isinstance(event, ConnectionClosed)]
    assert (login.listener, login.mechanism, login.principal) == (listener, "", "")
    assert login.error == "SslAuthenticationException"
    assert login.reason
    assert closed.reason == f"TLS handshake failed: {login.reason}"


def test_a_listener_has_settings_of_its_own(loop: str) -> None:
    config = {"listener.name.own.ssl.client.auth": "required", "ssl.enabled.protocols": "TLSv1.2"}
    with FakeCluster(brokers=1, listeners=["SSL", "OWN=SSL"], config=config) as kafka:
        with TlsClient(kafka) as client:
            assert port_told_to(client)
        with pytest.raises(ssl.SSLError, match="handshake failure"):
            TlsClient(kafka, "OWN")
        with TlsClient(kafka, "OWN", certificate=kafka.tls.client("a")) as client:
            assert port_told_to(client)


@pytest.mark.parametrize("what", [choice for choice in CHOICES if choice not in ("valid", "nothing")])
def test_a_client_refuses_what_is_wrong_until_it_is_right_again(kafka: FakeCluster, what: str) -> None:
    kafka.tls.present(what)
    with pytest.raises(ssl.SSLCertVerificationError) as refused:
        TlsClient(kafka)
    words = {"wrong host": "Hostname mismatch", "unknown issuer": "unable to get local issuer"}
    assert words.get(what, what) in str(refused.value)
    kafka.tls.present()
    with TlsClient(kafka) as client:
        assert port_told_to(client)


def test_what_cannot_be_presented_is_said(kafka: FakeCluster) -> None:
    with pytest.raises(ValueError, match=r"brokers can present valid, expired, .* not 'gone'"):
        kafka.tls.present("gone")
    for lifetime_ms in (0, -1, MAX_ADVANCE_MS + 1, 10**400, 10**5000):
        with pytest.raises(ValueError, match="a lifetime is 1 to 31622400000 milliseconds, of a valid certificate"):
            kafka.tls.present(lifetime_ms=lifetime_ms)
    kafka.tls.present(lifetime_ms=MAX_ADVANCE_MS)
    wrong: Any
    for wrong in ("5", True, math.nan, 1.5):
        with pytest.raises(TypeError, match=f"lifetime_ms must be a whole number or None, not {wrong!r}"):
            kafka.tls.present(lifetime_ms=wrong)
    with pytest.raises(ValueError, match="of a valid certificate"):
        kafka.tls.present("expired", lifetime_ms=5)


def test_a_certificate_expires_on_the_clock_of_the_test(loop: str) -> None:
    with FakeCluster(brokers=1, listeners=["SSL"], clock="manual") as kafka:
        kafka.tls.present(lifetime_ms=3_600_000)
        kafka.clock.advance(3_599_999)
        with TlsClient(kafka) as client:
            kafka.clock.advance(1)
            with pytest.raises(ssl.SSLCertVerificationError, match="certificate has expired"):
                TlsClient(kafka)
            assert port_told_to(client), "an open connection stays"


def serial(kafka: FakeCluster) -> str:
    with TlsClient(kafka) as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        certificate = client.socket.getpeercert()
    assert certificate is not None
    return str(certificate["serialNumber"])


def test_a_valid_certificate_is_a_new_one_each_time(kafka: FakeCluster) -> None:
    serials = [serial(kafka)]
    for lifetime_ms in (None, None, 3_600_000):
        kafka.tls.present(lifetime_ms=lifetime_ms)
        serials.append(serial(kafka))
    assert len({*serials}) == 4


@pytest.mark.parametrize("what", [choice for choice in CHOICES if choice != "valid"])
def test_a_reset_presents_a_valid_certificate_again(kafka: FakeCluster, what: str) -> None:
    kafka.tls.present(what)
    kafka.reset()
    with TlsClient(kafka) as client:
        assert port_told_to(client)


def test_a_lifetime_ends_with_a_reset_and_the_next_one_is_on_the_new_clock(loop: str) -> None:
    with FakeCluster(brokers=1, listeners=["SSL"], clock="manual") as kafka:
        kafka.tls.present(lifetime_ms=1_000)
        kafka.reset()
        kafka.clock.advance(1_000)
        assert serial(kafka)
        kafka.tls.present(lifetime_ms=1_000)
        kafka.clock.advance(1_000)
        with pytest.raises(ssl.SSLCertVerificationError, match="certificate has expired"):
            TlsClient(kafka)


def test_a_handshake_that_never_ends_counts_and_is_closed_when_it_is_idle(loop: str) -> None:
    config = {"max.connections": 1, "connections.max.idle.ms": 60_000}
    with (
        FakeCluster(brokers=1, listeners=["SSL"], clock="manual", config=config) as kafka,
        plain(kafka, "SSL") as silent,
        plain(kafka, "SSL") as second,
    ):
        silent.send(HELLO_AND_MORE)
        wait_until(lambda: connections(kafka) == 2, "two connections")
        kafka.clock.advance(60_001)
        assert silent.is_closed_by_broker()
        second.socket = context_of(kafka.tls.ca).wrap_socket(second.socket, server_hostname="localhost")
        assert port_told_to(second), "the one that waited has its turn"


def test_a_broker_that_presents_nothing_holds_the_handshake_up(kafka: FakeCluster) -> None:
    kafka.tls.present("nothing")
    with plain(kafka, "SSL") as client:
        client.send(HELLO_AND_MORE)
        wait_until(lambda: connections(kafka) == 1, "the connection")
        kafka.brokers[1].kill()
        assert client.is_closed_by_broker(), "not one byte of an answer"


def test_tls_1_2_alone(loop: str) -> None:
    with FakeCluster(brokers=1, listeners=["SSL"], config={"ssl.enabled.protocols": "TLSv1.2"}) as kafka:
        with TlsClient(kafka) as client:
            assert isinstance(client.socket, ssl.SSLSocket)
            assert client.socket.version() == "TLSv1.2"
            assert port_told_to(client)
        newer = context_of(kafka.tls.ca)
        newer.minimum_version = ssl.TLSVersion.TLSv1_3
        with pytest.raises(ssl.SSLError, match="version"):
            TlsClient(kafka, context=newer)


def test_garbage_after_the_handshake_closes_the_connection(kafka: FakeCluster) -> None:
    with TlsClient(kafka) as client:
        beneath = socket.socket(fileno=client.socket.detach())
    with beneath:
        beneath.settimeout(LIMIT_S)
        beneath.sendall(struct.pack(">BHH", 23, 0x303, 5) + b"wrong")
        beneath.makefile("rb").read()  # an alert, and the end
    wait_until(lambda: connections(kafka) == 0, "the end of the connection")


def test_a_large_response_is_encrypted_in_pieces_of_64_kib(kafka: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka.create_topic("t", partitions=1)
    written: list[int] = []
    write, writelines = TlsTransport.write, TlsTransport.writelines

    def one(transport: TlsTransport, data: bytes | memoryview) -> None:
        written.append(len(memoryview(data)))
        write(transport, data)

    def several(transport: TlsTransport, parts: Sequence[bytes | memoryview]) -> None:
        written.append(sum(len(memoryview(part)) for part in parts))
        writelines(transport, parts)

    with TlsClient(kafka) as client:
        values = [bytes(100_000) for _ in range(8)]
        for value in values:
            assert Produced(client.ask(produce("t", records=batch(value)))).partitions[0][0] == 0
        monkeypatch.setattr(TlsTransport, "write", one)
        monkeypatch.setattr(TlsTransport, "writelines", several)
        client.ask(fetch("t", max_bytes=1 << 20))
    assert sum(written) > 800_000, "the response is whole"
    assert max(written) <= 65_536
