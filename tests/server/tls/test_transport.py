"""The transport under TLS in memory: reads that are cut anywhere, and when the socket is read and closed."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tls_client import context_of

from fakebroker.server.tls import transport
from fakebroker.server.tls.certificates import Certificates
from fakebroker.server.tls.transport import HandshakeError, TlsTransport

pytest.importorskip("cryptography", reason="the extra security is not installed")

MANY = 4 * transport._RECORDS_AT_ONCE


class Socket(asyncio.Transport):
    """A transport that keeps what is written, and knows whether it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.written = ssl.MemoryBIO()
        self.is_read = True
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.write(data)

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True


class Pair:
    """A client in memory, and the transport of its broker."""

    def __init__(self, certificates: Certificates) -> None:
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(certificates.valid)
        self.socket = Socket()
        self.transport = TlsTransport(self.socket, server)
        self.sent = ssl.MemoryBIO()
        client = context_of(certificates.ca)
        self.client = client.wrap_bio(self.socket.written, self.sent, server_hostname="localhost")
        with suppress(ssl.SSLWantReadError):
            self.client.do_handshake()
        assert self.pass_on() == b""
        self.client.do_handshake()

    def send(self, parts: Sequence[bytes], *, ends: bool = False) -> None:
        """Encrypt each part as a record, and the end of input."""
        for part in parts:
            self.client.write(part)
        if ends:
            with suppress(ssl.SSLWantReadError):
                self.client.unwrap()

    def pass_on(self, sizes: Sequence[int] = ()) -> bytes:
        """Pass on what is sent, in reads of these sizes and the rest. Return the content."""
        data, content = self.sent.read(), b""
        for size in (*sizes, len(data)):
            self.transport.feed(memoryview(bytearray(data[:size])))
            data = data[size:]
            content += self.steps()
        return content

    def steps(self) -> bytes:
        content = self.transport.go_on()
        while self.transport.has_more:
            content += self.transport.go_on()
        return content


@pytest.fixture(scope="module")
def certificates() -> Iterator[Certificates]:
    made = Certificates(["localhost"])
    yield made
    made.close()


@pytest.fixture
def pair(certificates: Certificates) -> Pair:
    return Pair(certificates)


RECORDS = st.lists(st.integers(1, 40) | st.integers(1, 16_384), min_size=1, max_size=50)


@given(RECORDS, st.lists(st.integers(1, 10) | st.integers(1, 20_000), max_size=50))
def test_reads_may_be_cut_anywhere(certificates: Certificates, records: list[int], reads: list[int]) -> None:
    pair = Pair(certificates)
    parts = [bytes((number,)) * size for number, size in enumerate(records)]
    pair.send(parts, ends=True)
    assert pair.pass_on(reads) == b"".join(parts)
    assert pair.transport.has_ended
    assert pair.transport._received == b""


@given(st.binary(min_size=5).filter(lambda data: data[:2] != b"\x17\x03"))
def test_bytes_that_are_no_record_are_refused(certificates: Certificates, data: bytes) -> None:
    pair = Pair(certificates)
    pair.sent.write(data)
    assert pair.pass_on() == b""
    assert pair.transport.has_ended


def test_a_handshake_that_is_no_tls_is_refused(certificates: Certificates) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    refused = TlsTransport(Socket(), server)
    refused.feed(memoryview(b"GET / HTTP/1.1\r\n\r\n" * 1_000))
    with pytest.raises(HandshakeError, match="http request"):
        refused.go_on()
    assert not refused.has_more


def test_the_socket_is_not_read_while_bytes_wait_for_a_step(pair: Pair) -> None:
    """FIN behind them would close the socket before they are used."""
    pair.send([b"x"] * MANY)
    pair.transport.feed(memoryview(pair.sent.read()))
    content = pair.transport.go_on()
    pair.transport.pause_reading()
    pair.transport.resume_reading()
    assert pair.transport.has_more
    assert not pair.socket.is_read
    assert content + pair.steps() == b"x" * MANY
    assert pair.socket.is_read


def test_a_paused_transport_stays_paused_when_nothing_waits(pair: Pair) -> None:
    pair.transport.pause_reading()
    pair.send([b"x"] * MANY)
    assert pair.pass_on() == b"x" * MANY
    assert not pair.socket.is_read


def test_the_end_of_input_comes_behind_all_content(pair: Pair) -> None:
    pair.send([b"x"] * MANY, ends=True)
    pair.transport.feed(memoryview(pair.sent.read()))
    content = pair.transport.go_on()
    while pair.transport.has_more:
        assert not pair.transport.has_ended
        content += pair.transport.go_on()
    assert content == b"x" * MANY
    assert pair.transport.has_ended
    assert not pair.socket.is_closed


def test_a_transport_whose_peer_has_ended_is_closed_when_reading_resumes(pair: Pair) -> None:
    async def closes() -> list[bool]:
        closed = []
        pair.transport.resume_reading()
        pair.transport.pause_reading()
        await asyncio.sleep(0)
        closed.append(pair.socket.is_closed)
        pair.transport.resume_reading()
        closed.append(pair.socket.is_closed)
        pair.transport.write(b"last")
        await asyncio.sleep(0)
        closed.append(pair.socket.is_closed)
        return closed

    pair.transport.pause_reading()
    pair.send([b"x"], ends=True)
    assert pair.pass_on() == b"x"
    assert asyncio.run(closes()) == [False, False, True]
    assert pair.client.read() == b"last"


def test_nonsense_in_one_read_with_the_end_of_the_handshake_ends_the_input(certificates: Certificates) -> None:
    pair = Pair(certificates)
    pair.send([b"first"])
    pair.sent.write(bytes(50))
    assert pair.pass_on() == b"first"
    assert pair.transport.is_ready
    assert pair.transport.has_ended
    assert pair.transport.peer_subject is None


@pytest.mark.parametrize(
    "nonsense",
    [bytes(50), b"\x17\x03\x03\x00\x20" + bytes(32), b"\x17\x03\x03\xff\xff" + bytes(0xFFFF), b"\x16\x03\x03\x00\x01x"],
    ids=["no record", "wrong content", "long record", "wrong type"],
)
def test_a_response_behind_nonsense_is_lost(pair: Pair, nonsense: bytes) -> None:
    """One that raised took the responses of other clients with it."""
    pair.send([b"first"])
    pair.sent.write(nonsense)
    assert pair.pass_on() == b"first"
    pair.transport.write(b"late")
    pair.transport.writelines([b"later", b"last"])
    with pytest.raises(ssl.SSLError, match="alert"):
        pair.client.read()


def test_a_failure_of_openssl_without_nonsense_is_told(certificates: Certificates) -> None:
    unshaken = TlsTransport(Socket(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    with pytest.raises(ssl.SSLError):
        unshaken.write(b"early")
