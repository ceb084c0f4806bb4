"""TLS between the harness and a broker: a socket of a client, and the certificate of Kafka in a box."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from fakebroker.server.tls.certificates import Certificates

_READ = 1 << 16


class TlsSocket:
    """The client's end of a TLS connection that one thread reads and another one writes.

    An SSLSocket must not be used by two threads at once. So TLS is done in memory, under a lock, and only the
    connected socket `plain` waits."""

    def __init__(self, plain: socket.socket, ca: Path, server_name: str) -> None:
        """Raise OSError if the handshake fails; `plain` is closed then."""
        self._plain = plain
        self._received, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cafile=ca)
        self._tls = context.wrap_bio(self._received, self._to_send, server_hostname=server_name)
        self._lock = Lock()
        try:
            while not self._shook_hands():
                self._take(plain.recv(_READ))
        except OSError:
            plain.close()
            raise

    def sendall(self, data: bytes) -> None:
        with self._lock:
            self._tls.write(data)
            self._flush()

    def recv(self, size: int) -> bytes:
        """Return what has arrived; nothing at the end of the connection."""
        while True:
            with self._lock:
                try:
                    return self._tls.read(size)
                except ssl.SSLWantReadError:
                    self._flush()
                except ssl.SSLZeroReturnError:
                    return b""
            self._take(self._plain.recv(_READ))

    def shutdown(self, how: int) -> None:
        self._plain.shutdown(how)

    def close(self) -> None:
        self._plain.close()

    def _shook_hands(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        finally:
            self._flush()
        return True

    def _take(self, data: bytes) -> None:
        with self._lock:
            self._received.write(data) if data else self._received.write_eof()

    def _flush(self) -> None:
        if self._to_send.pending:
            self._plain.sendall(self._to_send.read())


class BoxCertificates:
    """The certificates of Kafka in a box, in a folder of its own; none if no listener has TLS. `settings` are what each
    broker is told, `ca` is what clients trust."""

    def __init__(self, folder: Path, listeners: Sequence[str]) -> None:
        secured = [listener for listener in listeners if listener.endswith("SSL")]
        made = Certificates(["127.0.0.1"], folder) if secured else None
        self.ca: Path | None = None if made is None else made.ca
        self.settings = {
            f"listener.name.{listener.lower()}.ssl.keystore.{name}": value
            for listener in secured
            if made is not None
            for name, value in (("type", "PEM"), ("location", str(made.valid)))
        }
