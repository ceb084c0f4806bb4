"""Clients of TLS: raw connections through OpenSSL."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path

from fakebroker import FakeCluster
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server.tls.certificates import ClientCertificate
from support.raw_client import RawClient


def context_of(ca: Path, certificate: ClientCertificate | None = None) -> ssl.SSLContext:
    """Return the context of a client that trusts this CA."""
    context = ssl.create_default_context(cafile=ca)
    if certificate is not None:
        context.load_cert_chain(certificate.certificate, certificate.key)
    return context


def endpoint(kafka: FakeCluster, listener: str) -> NodeEndpoint:
    """Return the address of the first broker's listener of that name."""
    core = kafka._cluster.server.driver.cluster
    return core.registry[1].endpoint(kafka._cluster.server.arguments.listener(listener))


class TlsClient(RawClient):
    """One connection to the first broker's listener of that name. Raises ssl.SSLError if the handshake fails."""

    def __init__(
        self,
        kafka: FakeCluster,
        listener: str = "SSL",
        context: ssl.SSLContext | None = None,
        *,
        certificate: ClientCertificate | None = None,
    ) -> None:
        super().__init__(endpoint(kafka, listener))
        context = context or context_of(kafka.tls.ca, certificate)
        try:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        except BaseException:
            self.socket.close()
            raise


class RecordsClient(RawClient):
    """A client that encrypts outside of its socket: the test chooses the records, and what is sent at once.
    The end of the handshake is sent with the first of them."""

    def __init__(self, kafka: FakeCluster, context: ssl.SSLContext | None = None, socket_bytes: int = 1 << 20) -> None:
        super().__init__(endpoint(kafka, "SSL"))
        self._socket_bytes = socket_bytes
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = context or context_of(kafka.tls.ca)
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")
        try:
            self._shake_hands()
        except BaseException:
            self.socket.close()
            raise

    def _shake_hands(self) -> None:
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._exchange()

    def _exchange(self) -> None:
        self.send_encrypted()
        data = self.socket.recv(65_536)
        if not data:
            raise EOFError("the broker closed the connection")
        self._incoming.write(data)

    def encrypt(self, parts: Sequence[bytes]) -> None:
        """Make a record of each part; `send_encrypted` sends them."""
        for part in parts:
            self.tls.write(part)

    def encrypt_the_end(self) -> None:
        """Make a close_notify."""
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:  # it wants the broker's
            return

    def send_encrypted(self, *more: bytes) -> None:
        """Send what is encrypted, and more bytes behind it."""
        data = self._outgoing.read() + b"".join(more)
        for start in range(0, len(data), self._socket_bytes):
            self.socket.sendall(data[start : start + self._socket_bytes])

    def is_closed_by_broker(self) -> bool:
        try:
            self._exactly(1)
        except (EOFError, ConnectionResetError):
            return True
        return False

    def _exactly(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            try:
                part = self.tls.read(size - len(received))
            except ssl.SSLWantReadError:
                self._exchange()
                continue
            except ssl.SSLZeroReturnError:  # in place of an empty part, if this side has ended, too
                part = b""
            if not part:
                raise EOFError(f"the broker ended TLS after {len(received)} of {size} bytes")
            received += part
        return received
