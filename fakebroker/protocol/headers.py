"""Request headers v0, v1 and v2, and response headers v0 and v1.

Theory   The first four bytes, API key and version, decide which header follows:
           request v0   key i16, version i16, correlation id i32                   ControlledShutdown v0 only
           request v1   and a client id, a nullable string with an i16 length
           request v2   and a tagged section; the client id keeps its i16 length   flexible versions
           response v0  correlation id i32
           response v1  and a tagged section                                       flexible versions, never ApiVersions
Units    every offset counts from the start of the frame, behind its length.
Source   clients/src/main/java/org/apache/kafka/common/requests/RequestHeader.java
         clients/src/main/resources/common/message/RequestHeader.json
         Like Kafka it takes any negative length of a client id for null, and replaces what is no UTF-8.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, final

from librt.strings import read_i16_be, read_i32_be
from mypy_extensions import mypyc_attr

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.varint import decode_kept_bits

__all__ = [
    "RequestHeader",
    "decode_request_header",
    "decode_response_header",
    "encode_request_header",
    "encode_response_header",
    "peek_api",
    "skip_tagged_fields",
]

_CONTROLLED_SHUTDOWN: Final = 7

_FIXED: Final = Struct(">hhi")
_WITH_CLIENT_ID = Struct(">hhih")
_CORRELATION_ID: Final = Struct(">i")
_MOST_TAGGED_FIELDS: Final = 1_000  # of one header; clients send none


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class RequestHeader:
    """The header of a request, and the offset of its body in the frame."""

    __slots__ = ("api_key", "api_version", "body_offset", "client_id", "correlation_id")

    def __init__(
        self, api_key: int, api_version: int, correlation_id: int, client_id: str | None, body_offset: int
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.body_offset = body_offset


def peek_api(frame: bytes) -> tuple[int, int]:
    """Return the API key and version of a request frame; they decide how the rest of the header is read."""
    if len(frame) < 4:
        raise ProtocolError(f"A request of {len(frame)} bytes is too short for an API key and version.")
    return read_i16_be(frame, 0), read_i16_be(frame, 2)


def decode_request_header(frame: bytes, flexible: bool) -> RequestHeader:
    """Read a request header: v2 when flexible, else v1, and v0 for ControlledShutdown v0.

    Raises ProtocolError when the frame is too short, or the tagged section overruns.
    """
    if len(frame) < 10:
        return _decode_short_header(frame)
    api_key: int = read_i16_be(frame, 0)
    api_version: int = read_i16_be(frame, 2)
    correlation_id: int = read_i32_be(frame, 4)
    size: int = read_i16_be(frame, 8)
    if api_key == _CONTROLLED_SHUTDOWN and api_version == 0:
        return RequestHeader(api_key, api_version, correlation_id, None, 8)
    client_id: str | None
    if size >= 0:
        offset = 10 + size
        if offset > len(frame):
            raise ProtocolError(f"The client id claims {size} bytes, and only {len(frame) - 10} are left.")
        client_id = frame[10:offset].decode("utf-8", "replace")
    else:
        client_id = None
        offset = 10
    if flexible:
        # All present clients send one zero byte: no tagged fields.
        untagged = offset < len(frame) and frame[offset] == 0
        offset = offset + 1 if untagged else skip_tagged_fields(frame, offset)
    return RequestHeader(api_key, api_version, correlation_id, client_id, offset)


def _decode_short_header(frame: bytes) -> RequestHeader:
    if len(frame) >= 8:
        api_key, api_version, correlation_id = _FIXED.unpack_from(frame)
        if api_key == _CONTROLLED_SHUTDOWN and api_version == 0:
            return RequestHeader(api_key, api_version, correlation_id, None, 8)
    raise ProtocolError(f"A request of {len(frame)} bytes is too short for its header.")


def encode_request_header(
    api_key: int, api_version: int, correlation_id: int, client_id: str | None, flexible: bool
) -> bytes:
    """Return the bytes of a request header: v2 when flexible, else v1, and v0 for ControlledShutdown v0."""
    if api_key == _CONTROLLED_SHUTDOWN and api_version == 0:
        return _FIXED.pack(api_key, api_version, correlation_id)
    tags = b"\0" if flexible else b""
    if client_id is None:
        return _WITH_CLIENT_ID.pack(api_key, api_version, correlation_id, -1) + tags
    encoded = client_id.encode()
    return _WITH_CLIENT_ID.pack(api_key, api_version, correlation_id, len(encoded)) + encoded + tags


def decode_response_header(frame: bytes, flexible: bool) -> tuple[int, int]:
    """Return the correlation id of a response, and the offset of its body. Flexible means response header v1."""
    if len(frame) < 4:
        raise ProtocolError(f"A response of {len(frame)} bytes is too short for its header.")
    (correlation_id,) = _CORRELATION_ID.unpack_from(frame)
    return correlation_id, skip_tagged_fields(frame, 4) if flexible else 4


def encode_response_header(correlation_id: int, flexible: bool) -> bytes:
    """Return the bytes of a response header: v1 when flexible, else v0."""
    return _CORRELATION_ID.pack(correlation_id) + (b"\0" if flexible else b"")


def skip_tagged_fields(frame: bytes, offset: int) -> int:
    """Skip a tagged section. Return the offset behind it.

    At most a thousand fields are allowed, because a header is read at once.
    """
    count, offset = decode_kept_bits(frame, offset)
    if count > _MOST_TAGGED_FIELDS:
        raise ProtocolError(f"A header claims {count} tagged fields, and it may have {_MOST_TAGGED_FIELDS}.")
    for _ in range(count):
        _, offset = decode_kept_bits(frame, offset)
        size, offset = decode_kept_bits(frame, offset)
        if size < 0:
            raise ProtocolError(f"A tagged field claims {size} bytes.")
        offset += size
        if offset > len(frame):
            raise ProtocolError(f"A tagged field claims {size} bytes, {offset - len(frame)} more than there are.")
    return offset
