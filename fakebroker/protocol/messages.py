"""Requests and responses as kio's frozen dataclasses, for every API key and version that kio knows, and newer ones.

`decode_request` takes a frame and the offset behind its header; `encode_response` returns a whole frame, ready for the
socket. Both can be done in slices. The other two directions are for clients: tests, the load generator, tools.

Units    an offset counts from the start of the frame, behind its length.
Source   clients/src/main/java/org/apache/kafka/common/requests/RequestContext.java and AbstractRequest.java; KIP-511
         for the header of ApiVersions responses
"""

from __future__ import annotations

from io import BytesIO
from struct import Struct, error

from kio.index import load_request_schema, load_response_schema
from kio.schema.index import api_key_map, schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import InvalidUnicode, SerialError
from kio.serial.readers import Reader
from kio.serial.writers import Writer
from kio.static.protocol import RequestPayload, ResponsePayload

from fakebroker.protocol.body.check import Check, body_check, text_repair
from fakebroker.protocol.body.loading import files_to_load
from fakebroker.protocol.body.read_slices import read_in_slices
from fakebroker.protocol.body.write_slices import write_in_slices
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.headers import decode_response_header, encode_request_header, encode_response_header
from fakebroker.protocol.newer import NEWER
from fakebroker.protocol.slices import Slices

__all__ = [
    "api_name",
    "decode_request",
    "decode_request_in_slices",
    "decode_response",
    "encode_request",
    "encode_response",
    "encode_response_in_slices",
    "is_flexible",
    "request_type",
    "response_type",
    "versions",
]

_API_VERSIONS = 18

_LENGTH = Struct(">i")

_request_types: dict[tuple[int, int], type[RequestPayload]] = {}
_response_types: dict[tuple[int, int], type[ResponsePayload]] = {}
_request_readers: dict[tuple[int, int], tuple[Check, Reader[RequestPayload]]] = {}
_response_readers: dict[tuple[int, int], tuple[Check, Reader[ResponsePayload]]] = {}
_request_writers: dict[type[RequestPayload], Writer[RequestPayload]] = {}
_response_writers: dict[type[ResponsePayload], Writer[ResponsePayload]] = {}

# Exceptions for bad bytes: of our checks, of kio, and those that Rust and enums raise through kio.
_DECODE_ERRORS = (ProtocolError, SerialError, ValueError, LookupError, ArithmeticError, TypeError, error)


def versions(api_key: int) -> range:
    """Return the versions of an API that can be read and written; empty for a key that kio does not know."""
    name = api_key_map.get(api_key)
    if name is None:
        return range(0)
    known = {*schema_name_map[name], *(version for key, version in NEWER if key == api_key)}
    return range(min(known), max(known) + 1)


def api_name(api_key: int) -> str:
    """Return the name of an API, "Produce"; "UNKNOWN(n)" for a key without one."""
    name = api_key_map.get(api_key)
    return f"UNKNOWN({api_key})" if name is None else name.title().replace("_", "")


def request_type(api_key: int, version: int) -> type[RequestPayload]:
    """Return the class of a request. Raises ProtocolError for an unknown key or version."""
    try:
        return _request_types[api_key, version]
    except KeyError:
        _check_version(api_key, version)
        newer = NEWER.get((api_key, version))
        with files_to_load:
            kind = load_request_schema(api_key, version) if newer is None else newer[0]
        return _request_types.setdefault((api_key, version), kind)


def response_type(api_key: int, version: int) -> type[ResponsePayload]:
    """Return the class of a response. Raises ProtocolError for an unknown key or version."""
    try:
        return _response_types[api_key, version]
    except KeyError:
        _check_version(api_key, version)
        newer = NEWER.get((api_key, version))
        with files_to_load:
            kind = load_response_schema(api_key, version) if newer is None else newer[1]
        return _response_types.setdefault((api_key, version), kind)


def is_flexible(api_key: int, version: int) -> bool:
    """Return True if messages of this version have compact lengths and tagged fields, and so request header v2.

    A version outside the known range is treated like the nearest known one. So the header of a future ApiVersions
    request can be read. Raises ProtocolError for an unknown key.
    """
    kind = _request_types.get((api_key, version))
    if kind is None:
        known = versions(api_key)
        if not known:
            raise ProtocolError(f"API key {api_key} is not known.")
        kind = request_type(api_key, min(max(version, known[0]), known[-1]))
    return bool(kind.__flexible__)


def decode_request(api_key: int, version: int, frame: bytes, offset: int) -> RequestPayload:
    """Read the body of a request at the offset.

    Bytes behind the body are ignored, as in Kafka. Raises ProtocolError for anything malformed, and for an unknown key
    or version.
    """
    try:
        check, read = _request_readers[api_key, version]
    except KeyError:
        check, read = _request_readers[api_key, version] = _request_reader(api_key, version)
    try:
        try:
            return read(*check(frame, offset))[0]
        except InvalidUnicode:
            return read(*text_repair(request_type(api_key, version))(frame, offset))[0]
    except _DECODE_ERRORS as problem:
        raise _malformed(f"{api_name(api_key)} v{version} request", problem) from problem


def decode_request_in_slices(
    api_key: int, version: int, frame: bytes, offset: int, max_elements: int
) -> Slices[RequestPayload]:
    """Read the body of a request in slices. Raises ProtocolError also for more than `max_elements` in arrays and tagged
    fields."""
    try:
        return (yield from read_in_slices(request_type(api_key, version), frame, offset, max_elements))
    except _DECODE_ERRORS as problem:
        raise _malformed(f"{api_name(api_key)} v{version} request", problem) from problem


def encode_response(response: ResponsePayload, correlation_id: int) -> bytes:
    """Return the whole frame of a response, including its length."""
    kind = type(response)
    try:
        write = _response_writers[kind]
    except KeyError:
        write = _response_writers[kind] = entity_writer(kind)
    with BytesIO() as buffer:
        _begin_response(buffer, kind, correlation_id)
        write(buffer, response)
        return _with_length(buffer)


def encode_response_in_slices(response: ResponsePayload, correlation_id: int) -> Slices[bytes]:
    """Return the whole frame of a response, in slices. Arrays of structs may be lazy (build.py)."""
    with BytesIO() as buffer:
        _begin_response(buffer, type(response), correlation_id)
        yield from write_in_slices(buffer, response)
        return _with_length(buffer)


def _begin_response(buffer: BytesIO, kind: type[ResponsePayload], correlation_id: int) -> None:
    buffer.write(b"\0\0\0\0")
    buffer.write(encode_response_header(correlation_id, _has_response_header_v1(kind)))


def encode_request(request: RequestPayload, correlation_id: int, client_id: str | None) -> bytes:
    """Return the whole frame of a request, including its length."""
    kind = type(request)
    try:
        write = _request_writers[kind]
    except KeyError:
        write = _request_writers[kind] = entity_writer(kind)
    with BytesIO() as buffer:
        buffer.write(b"\0\0\0\0")
        buffer.write(
            encode_request_header(
                kind.__api_key__, kind.__version__, correlation_id, client_id, bool(kind.__flexible__)
            )
        )
        write(buffer, request)
        return _with_length(buffer)


def decode_response(api_key: int, version: int, frame: bytes) -> tuple[int, ResponsePayload]:
    """Read the frame of a response (without its length) to a request of that key and version: (correlation id,
    message).

    Raises ProtocolError like `decode_request`, and for an error code that kio's enum lacks.
    """
    kind = response_type(api_key, version)
    try:
        check, read = _response_readers[api_key, version]
    except KeyError:
        check, read = _response_readers[api_key, version] = body_check(kind), entity_reader(kind)
    correlation_id, offset = decode_response_header(frame, _has_response_header_v1(kind))
    try:
        return correlation_id, read(*check(frame, offset))[0]
    except _DECODE_ERRORS as problem:
        raise _malformed(f"{api_name(api_key)} v{version} response", problem) from problem


def _request_reader(api_key: int, version: int) -> tuple[Check, Reader[RequestPayload]]:
    kind = request_type(api_key, version)
    return body_check(kind), entity_reader(kind)


def _has_response_header_v1(kind: type[ResponsePayload]) -> bool:
    # A client must be able to read this response before it knows the broker's versions.
    return bool(kind.__flexible__) and kind.__api_key__ != _API_VERSIONS


def _with_length(buffer: BytesIO) -> bytes:
    with buffer.getbuffer() as view:
        _LENGTH.pack_into(view, 0, len(view) - 4)
    return buffer.getvalue()


def _check_version(api_key: int, version: int) -> None:
    known = versions(api_key)
    if not known:
        raise ProtocolError(f"API key {api_key} is not known.")
    if version not in known:
        raise ProtocolError(f"{api_name(api_key)} has versions {known[0]} to {known[-1]}, and not {version}.")


def _malformed(what: str, problem: Exception) -> ProtocolError:
    reason = str(problem).rstrip(".") or type(problem).__name__
    return ProtocolError(f"The {what} is malformed: {reason}.")
