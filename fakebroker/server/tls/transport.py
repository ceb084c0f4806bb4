"""A transport under TLS: what the driver writes is encrypted, what the peer sends is decrypted.

Theory   asyncio's own TLS tells a protocol of a connection when the handshake is over. Here the broker counts it from
         the start, as Kafka does. So handshakes that never end count towards max.connections, and are closed by
         connections.max.idle.ms. OpenSSL does the work, in memory; the socket stays asyncio's.
         A read of the socket is decrypted in steps, so it adds no more than its own size. Even the smallest record
         takes 2.6 us, and 256 KiB of records with one byte each take 30 ms. So a step has a limit of records.
         Renegotiation is off.
Source   clients/.../common/network/SslTransportLayer.java @ 4.0.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

__all__ = ["HandshakeError", "TlsTransport"]

_RECORDS_BYTES: Final = 262_144  # plaintext at once; OpenSSL returns one record of at most 16 KiB
_RECORDS_AT_ONCE: Final = 256


class HandshakeError(Exception):
    """The handshake failed, with the reason."""


class TlsTransport(asyncio.Transport):
    """The transport of one accepted connection, on top of that of its socket. Without a context the handshake stalls.

    is_ready   the handshake is over
    records    how many the last step has decrypted
    has_more   there may be more that no step has decrypted
    """

    def __init__(self, below: asyncio.Transport, context: ssl.SSLContext | None) -> None:
        super().__init__()
        self._below = below
        self.is_ready = self.has_more = False
        self.records = 0
        self._stalls = context is None
        if context is None:
            return
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    def feed(self, data: bytes | memoryview) -> None:
        """Take bytes of the socket; `go_on` uses them."""
        if not self._stalls:
            self._incoming.write(data)

    def go_on(self) -> bytes:
        """Do a step with the bytes of the socket. Return what they contain, nothing during the handshake. Raises
        HandshakeError once the peer has the alert; another failure closes the connection."""
        self.records, self.has_more = 0, False
        if self._stalls:
            return b""
        try:
            if not self.is_ready:
                self._tls.do_handshake()
                self.is_ready = True
            return self._read()
        except ssl.SSLWantReadError:
            return b""
        except ssl.SSLError as error:
            if not self.is_ready:
                self._stalls = True  # until it is closed, what comes now is nothing
                raise HandshakeError(_reason(error)) from None
            self._below.close()
            return b""
        finally:
            self._flush()

    def _read(self) -> bytes:
        parts: list[bytes] = []
        try:
            while len(parts) < _RECORDS_AT_ONCE:
                part = self._tls.read(_RECORDS_BYTES)
                if not part:
                    self.close()  # the peer has closed its side
                    break
                parts.append(part)
            else:
                self.has_more = True
        except ssl.SSLWantReadError:
            pass
        self.records = len(parts)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def peer_subject(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """Return the subject of the client's certificate; an empty one if it has sent none."""
        certificate: Any = self._tls.getpeercert() or {}
        return certificate.get("subject", ())  # type: ignore[no-any-return]

    def _flush(self) -> None:
        if self._outgoing.pending and not self._below.is_closing():
            self._below.write(self._outgoing.read())

    # What the driver uses of a transport.

    def write(self, data: Any) -> None:
        self._tls.write(data)
        self._flush()

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        for data in list_of_data:
            self._tls.write(data)
        self._flush()

    def close(self) -> None:
        """Tell the peer, and close the socket when all is written."""
        if self.is_ready and not self._below.is_closing():
            with suppress(ssl.SSLError):  # it wants the peer's answer, for which Kafka does not wait either
                self._tls.unwrap()
            self._flush()
        self._below.close()

    def abort(self) -> None:
        self._below.abort()

    def is_closing(self) -> bool:
        return self._below.is_closing()

    def pause_reading(self) -> None:
        self._below.pause_reading()

    def resume_reading(self) -> None:
        self._below.resume_reading()

    def get_write_buffer_size(self) -> int:
        return self._below.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._below.get_extra_info(name, default)


def _reason(error: ssl.SSLError) -> str:
    """Return OpenSSL's reason in words, as in "unknown ca" or "wrong version number"."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    reason = error.reason or str(error)
    return reason.removeprefix("TLSV1_ALERT_").removeprefix("SSLV3_ALERT_").replace("_", " ").lower()
