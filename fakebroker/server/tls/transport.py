"""A transport under TLS: what the driver writes is encrypted, what the peer sends is decrypted.

Theory   asyncio's own TLS tells a protocol of a connection when the handshake is over. Here the broker counts it from
         the start, as Kafka does. So handshakes that never end count towards max.connections, and are closed by
         connections.max.idle.ms. OpenSSL does the work, in memory; the socket stays asyncio's.
         A read of the socket is decrypted in steps, so it adds no more than its own size. Even the smallest record
         takes 2.6 us, and 256 KiB of records with one byte each take 30 ms. A record that changes the key (KeyUpdate)
         takes 12 us, and OpenSSL uses all of those that it has in one call. So a step has limits of records of both
         kinds, and OpenSSL gets only a few records at once. The headers of records, which are in plain text, say where
         to cut. Bytes that are no TLS are cut anywhere, and OpenSSL refuses them.
         Requests in front of bytes that are no TLS are handled. If both are in one read, the responses are lost,
         as in Kafka, which does not handle the requests either.
         The peer ends its side by close_notify, perhaps right behind its last request. The protocol closes the
         connection when that request is handled, as at FIN without TLS. At FIN asyncio closes the socket at once. So
         the socket is not read while bytes wait for a step.
         Renegotiation is off.
Source   clients/.../common/network/SslTransportLayer.java @ 4.0.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from contextlib import suppress
from struct import Struct
from typing import Any, Final

from fakebroker.core.security.distinguished_name import subject_of

__all__ = ["HandshakeError", "TlsTransport"]

_RECORDS_BYTES: Final = 262_144  # plaintext at once; OpenSSL returns one record of at most 16 KiB
_RECORDS_AT_ONCE: Final = 256  # with content, in a step
_RECORDS_FED: Final = 32  # to OpenSSL at once; and records without content in a step
_HEADER: Final = Struct(">xxxH")  # of a record: type, version, and the length of the rest
_HEADER_BYTES: Final = _HEADER.size
# Java's brokers send this alert to a client without TLS. OpenSSL sends none for these reasons.
_INTERNAL_ERROR: Final = bytes.fromhex("15030300020250")
_NO_TLS: Final = ("HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "WRONG_VERSION_NUMBER")
_LENGTH_AT: Final = _HEADER.unpack_from


class HandshakeError(Exception):
    """The handshake failed, with the reason."""


class TlsTransport(asyncio.Transport):
    """The transport of one accepted connection, on top of that of its socket. Without a context the handshake stalls.

    is_ready   the handshake is over
    records    how many with content the last step has decrypted
    has_more   there may be more that no step has decrypted
    has_ended  the peer has closed its side or sent what is no TLS, and all that it sent before is decrypted
    peer_subject  the name of the client's certificate; None if it has sent none
    """

    def __init__(self, below: asyncio.Transport, context: ssl.SSLContext | None) -> None:
        super().__init__()
        self._below = below
        self.is_ready = self.has_more = self.has_ended = False
        self.records = 0
        self.peer_subject: str | None = None
        self._is_paused = False  # by the driver
        self._is_read = True  # the socket
        self._end: asyncio.Handle | None = None
        self._stalls = context is None
        if context is None:
            return
        self._received = bytearray()  # what OpenSSL has not got yet, from the header of a record on
        self._rest = 0  # bytes that are missing in the last record that OpenSSL has got
        self._unused = 0  # records that OpenSSL has got, and has perhaps not used
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    def feed(self, data: memoryview) -> None:
        """Take bytes of the socket; `go_on` uses them."""
        if self._stalls or self.has_ended:
            return
        self.has_more = True
        if self._received:
            self._received += data
        else:
            given = self._give(data, _RECORDS_FED)
            self._received += data[given:]

    def go_on(self) -> bytes:
        """Do a step with the bytes of the socket. Return what they contain, nothing during the handshake. Raises
        HandshakeError once the peer has the alert. Another failure ends what the peer has sent."""
        self.records, self.has_more = 0, False
        if self._stalls or self.has_ended:
            return b""
        try:
            return self._step()
        except (ssl.SSLError, HandshakeError) as error:
            self._received.clear()
            self._stalls = True  # until it is closed, what comes now is nothing
            if isinstance(error, HandshakeError):
                raise
            if error.reason in _NO_TLS and not self._outgoing.pending:
                self._below.write(_INTERNAL_ERROR)
            raise HandshakeError(_reason(error)) from None
        finally:
            self._flush()
            self._choose_reading()

    def _step(self) -> bytes:
        parts: list[bytes] = []
        others = used = 0  # records without content; parts that are subtracted from `_unused`
        while len(parts) < _RECORDS_AT_ONCE:
            try:
                if not self.is_ready:
                    self._tls.do_handshake()
                    self.peer_subject = _subject(self._tls.getpeercert(binary_form=True))
                    self.is_ready = True
                part = self._tls.read(_RECORDS_BYTES)
            except ssl.SSLWantReadError:
                others += max(0, self._unused - (len(parts) - used))
                self._unused, used = 0, len(parts)
                if not self._give_more(_RECORDS_FED - others):
                    break
                continue
            except ssl.SSLError:
                if not self.is_ready:
                    raise
                part = b""
            if not part:
                self.has_ended = True
                self._received.clear()
                break
            parts.append(part)
        else:
            self.has_more = True
            self._unused -= len(parts) - used
        self.records = len(parts)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _give_more(self, limit: int) -> bool:
        """Give OpenSSL at most so many records of those that wait. Return False if there are none for this step."""
        if len(self._received) < _HEADER_BYTES:
            return False
        if limit <= 0:
            self.has_more = True
            return False
        with memoryview(self._received) as received:
            given = self._give(received, limit)
        del self._received[:given]
        return True

    def _give(self, data: memoryview, limit: int) -> int:
        """Give OpenSSL the rest of its last record, and as much of the next records, up to a limit of records. Return
        how many bytes it has got."""
        end, last, records = self._rest, len(data) - _HEADER_BYTES, 0
        while records < limit and end <= last:
            (length,) = _LENGTH_AT(data, end)
            end += _HEADER_BYTES + length
            records += 1
        given = min(end, len(data))
        self._rest = end - given
        self._unused += records
        self._incoming.write(data[:given])
        return given

    def _choose_reading(self) -> None:
        """Read the socket, unless the driver has paused it or bytes wait for a step."""
        is_read = not (self._is_paused or self.has_more or self.has_ended)
        if is_read != self._is_read and not self._below.is_closing():
            self._is_read = is_read
            if is_read:
                self._below.resume_reading()
            else:
                self._below.pause_reading()

    def _flush(self) -> None:
        if self._outgoing.pending and not self._below.is_closing():
            self._below.write(self._outgoing.read())

    # What the driver uses of a transport.

    def write(self, data: Any) -> None:
        self.writelines((data,))

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        """Send data. They are lost if the peer has sent what is no TLS: OpenSSL encrypts nothing after that."""
        try:
            for data in list_of_data:
                self._tls.write(data)
        except ssl.SSLError:
            if not self.has_ended:
                raise
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
        self._is_paused = True
        if self._end is not None:
            self._end.cancel()
            self._end = None
        self._choose_reading()

    def resume_reading(self) -> None:
        """Read the socket. If the peer has closed its side, close the connection in the next turn of the loop: the
        driver may be about to write responses."""
        self._is_paused = False
        if not self.has_ended:
            self._choose_reading()
        elif self._end is None:
            self._end = asyncio.get_running_loop().call_soon(self.close)

    def get_write_buffer_size(self) -> int:
        return self._below.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._below.get_extra_info(name, default)


def _subject(certificate: bytes | None) -> str | None:
    """Return the name of a certificate. Raises HandshakeError if it cannot be read."""
    try:
        return None if certificate is None else subject_of(certificate)
    except ValueError as error:
        raise HandshakeError(f"the client's certificate: {error}") from None


def _reason(error: ssl.SSLError) -> str:
    """Return OpenSSL's reason in words, as in "unknown ca" or "wrong version number"."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    reason = error.reason or str(error)
    return reason.removeprefix("TLSV1_ALERT_").removeprefix("SSLV3_ALERT_").replace("_", " ").lower()
