"""A client of TLS that sends few bytes in each record: a step decrypts some, and other clients have their turn."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import api_versions
from support.tls_client import context_of

from fakebroker import FakeCluster
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server.tls import transport
from fakebroker.server.tls.transport import TlsTransport

pytest.importorskip("cryptography", reason="the extra security is not installed")

REQUESTS = 60
RECORD_BYTES = 1 + 22  # in TLS 1.3: the header, the type and the tag
AT_ONCE = transport._RECORDS_AT_ONCE


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=1, listeners=["SSL"]) as cluster:
        yield cluster


class ByteWise(RawClient):
    """A client that encrypts outside of its socket, so that many records are sent at once."""

    def __init__(self, kafka: FakeCluster, socket_bytes: int) -> None:
        host, _, port = kafka.bootstrap_servers.rpartition(":")
        super().__init__(NodeEndpoint(1, host, int(port)))
        self._socket_bytes = socket_bytes
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = context_of(kafka.tls.ca)
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._exchange()

    def _exchange(self) -> None:
        self.send_encrypted()
        self._incoming.write(self.socket.recv(65_536))

    def send_encrypted(self) -> None:
        data = self._outgoing.read()
        for start in range(0, len(data), self._socket_bytes):
            self.socket.sendall(data[start : start + self._socket_bytes])

    def send_by_bytes(self, data: bytes) -> None:
        for byte in data:
            self._tls.write(bytes((byte,)))
        self.send_encrypted()

    def read(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            try:
                found += self._tls.read(size - len(found))
            except ssl.SSLWantReadError:
                self._exchange()
        return found

    def response(self) -> int:
        frame = self.read(int.from_bytes(self.read(4), "big"))
        return decode_response(18, 0, frame)[0]


def test_many_small_records_are_decrypted_in_steps(kafka: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    go_on = TlsTransport.go_on

    def counted(self: TlsTransport) -> bytes:
        received = go_on(self)
        steps.append(self.records)
        return received

    monkeypatch.setattr(TlsTransport, "go_on", counted)
    requests = b"".join(api_versions(version=0, correlation_id=number) for number in range(REQUESTS))
    with ByteWise(kafka, 1 << 20) as client:
        client.send_by_bytes(requests)
        assert [client.response() for _ in range(REQUESTS)] == list(range(REQUESTS))
    assert sum(steps) == len(requests)
    assert len(requests) > 4 * AT_ONCE
    assert max(steps) == AT_ONCE


def test_a_handshake_and_a_request_may_come_byte_by_byte(kafka: FakeCluster) -> None:
    with ByteWise(kafka, 1) as client:
        client.send_by_bytes(api_versions(version=0, correlation_id=7))
        assert client.response() == 7
