"""Connections that stamp what they receive, and answers decoded into plain values.

Theory   A connection remembers the API key and version of each request by its correlation id, so that an answer can be
         decoded. What cannot be decoded is kept as hex: then both sides are compared byte by byte.
Units    seconds of the monotonic clock for arrival times; frames without their length.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from conformance.scenario import LOOPBACK
from conformance.targets.described import KEY as DESCRIBE_TRANSACTIONS
from conformance.targets.described import described_transactions
from conformance.targets.tls import TlsSocket
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.messages import decode_response, versions

FENCE_ID = 0x7FFFFFF0  # the correlation id of the request behind what a case sends
FENCE = struct.pack(">ihhih", 10, 18, 0, FENCE_ID, -1)  # ApiVersions v0, no client id
_API_VERSIONS = 18
_CONNECT_LIMIT_S = 10.0


class Arrival(NamedTuple):
    at_s: float
    frame: bytes


class Connection(Protocol):
    """A connection as the runner needs it, on sockets and in virtual time."""

    @property
    def arrivals(self) -> list[Arrival]: ...
    @property
    def closed(self) -> bool: ...

    def send(self, data: bytes) -> None: ...
    def wait(self, seen: int, until_s: float) -> None:
        """Return when more than `seen` frames have arrived, or the broker closed, or it is `until_s`."""

    def close(self) -> None: ...


class SocketConnection:
    """A blocking socket and a thread that reads it. `host` is the client's own address. With the certificate of a CA
    the connection has TLS; OSError if the handshake fails."""

    def __init__(self, address: tuple[str, int], host: str = LOOPBACK, ca: Path | None = None) -> None:
        self.arrivals: list[Arrival] = []
        self.closed = False
        plain = socket.create_connection(address, _CONNECT_LIMIT_S, (host, 0))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket: socket.socket | TlsSocket = plain if ca is None else TlsSocket(plain, ca, address[0])
        plain.settimeout(None)
        self._changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError:  # closed by the broker: the reader notes it
            return

    def wait(self, seen: int, until_s: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.closed or len(self.arrivals) > seen, max(until_s - time.monotonic(), 0))

    def close(self) -> None:
        with suppress(OSError):  # the broker may have closed it
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _read(self) -> None:
        data = b""
        while True:
            try:
                part = self._socket.recv(1 << 20)
            except OSError:
                part = b""
            at_s = time.monotonic()
            data += part
            with self._changed:
                while len(data) >= 4 and len(data) >= 4 + (size := int.from_bytes(data[:4], "big")):
                    self.arrivals.append(Arrival(at_s, data[4 : 4 + size]))
                    data = data[4 + size :]
                self.closed = not part
                self._changed.notify_all()
                if self.closed:
                    return


class Sent(NamedTuple):
    api_key: int
    version: int


def correlation_id(frame: bytes) -> int:
    """Return the correlation id of a response without its length; -1 if it is too short to have one."""
    return struct.unpack_from(">i", frame)[0] if len(frame) >= 4 else -1


def requests_in(data: bytes) -> tuple[dict[int, Sent], bytes]:
    """The requests of which at least the header is there, by correlation id, and the bytes of the unfinished frame.

    Behind a frame that has no room for a header nothing is read.
    """
    requests: dict[int, Sent] = {}
    while len(data) >= 12:
        size, api_key, version, number = struct.unpack_from(">ihhi", data)
        if size < 8:
            return requests, b""
        requests[number] = Sent(api_key, version)
        if len(data) < 4 + size:
            break
        data = data[4 + size :]
    return requests, data


def decoded(sent: Sent | None, frame: bytes) -> Any:
    """The body of an answer as plain values: dicts, lists, numbers, strings; hex if it cannot be decoded."""
    if sent is None:
        return {"hex": frame[4:].hex()}
    if sent.api_key == DESCRIBE_TRANSACTIONS:
        with suppress(ValueError):
            return described_transactions(frame)[0]
    try:
        return plain(decode_response(sent.api_key, sent.version, frame)[1])
    except ProtocolError:
        pass
    # A version of ApiVersions that is not supported is answered in v0; one that kio does not know yet looks like the
    # newest that it knows.
    for version in (0, versions(_API_VERSIONS)[-1]) if sent.api_key == _API_VERSIONS else ():
        with suppress(ProtocolError):
            return {"as_version": version} | plain(decode_response(_API_VERSIONS, version, frame)[1])
    return {"hex": frame[4:].hex()}


def named(code: int) -> str:
    """An error code as transcripts have it: "NONE(0)"."""
    return f"{kafka_name(code)}({int(code)})"


@cache
def _names(kind: type) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass."""
    return tuple(field.name for field in fields(kind))


def plain(value: Any) -> Any:
    """A kio message as JSON-like values. Error codes are written "NAME(number)", ids as text, bytes as hex."""
    if value is None or type(value) in (bool, int, str):
        return value
    if is_dataclass(value):
        return {name: plain(getattr(value, name)) for name in _names(value.__class__)}
    if isinstance(value, tuple | list | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, ErrorCode):
        return named(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return value
