"""A client of TLS: a raw connection through OpenSSL."""

from __future__ import annotations

import ssl
from pathlib import Path

from fakebroker import FakeCluster
from fakebroker.server.tls.certificates import ClientCertificate
from support.raw_client import RawClient


def context_of(ca: Path, certificate: ClientCertificate | None = None) -> ssl.SSLContext:
    """Return the context of a client that trusts this CA."""
    context = ssl.create_default_context(cafile=ca)
    if certificate is not None:
        context.load_cert_chain(certificate.certificate, certificate.key)
    return context


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
        core = kafka._cluster._running.cluster
        super().__init__(core.endpoint(1, kafka._cluster._arguments.listener(listener)))
        context = context or context_of(kafka.tls.ca, certificate)
        try:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        except BaseException:
            self.socket.close()
            raise
