"""Requests and responses as kio's frozen dataclasses, for every API key and version that kio knows, and newer ones.

`decode_request` takes a frame and the offset behind its header; `encode_response` returns a whole frame, ready for the
socket. Both can be done in slices. The other two directions are for clients: tests, the load generator, tools.

Units    an offset counts from the start of the frame, behind its length.
Source   clients/src/main/java/org/apache/kafka/common/requests/RequestContext.java and AbstractRequest.java; KIP-511
         for the header of ApiVersions responses
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from struct import error
from typing import Any, cast

from kio.index import load_request_schema, load_response_schema
from kio.schema.index import api_key_map, schema_name_map
from kio.static.protocol import RequestPayload, ResponsePayload

from fakebroker.protocol.codec.decoder import ENDS_WITHIN, Decoder
from fakebroker.protocol.codec.encoder import Encoder
from fakebroker.protocol.codec.loading import files_to_load
from fakebroker.protocol.codec.long_reading import read_in_slices
from fakebroker.protocol.codec.schemas import names_of, table_of
from fakebroker.protocol.codec.tables import Struct
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
    "request_frame",
    "request_type",
    "response_type",
    "versions",
]

_API_VERSIONS = 18

_request_types: dict[tuple[int, int], type[RequestPayload]] = {}
_response_types: dict[tuple[int, int], type[ResponsePayload]] = {}
_tables: dict[type[RequestPayload | ResponsePayload], Struct] = {}

# Exceptions for bad bytes: of the decoder, and those that Python raises for values that it has not.
_DECODE_ERRORS = (ProtocolError, ValueError, IndexError, ArithmeticError, error)


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
    kind = request_type(api_key, version)
    try:
        return cast(RequestPayload, Decoder(frame, offset, repairs=True).struct(_table(kind)))
    except _DECODE_ERRORS as problem:
        raise _malformed(f"{api_name(api_key)} v{version} request", problem) from problem


def decode_request_in_slices(
    api_key: int, version: int, frame: bytes, offset: int, max_elements: int
) -> Slices[RequestPayload]:
    """Read the body of a request in slices. Raises ProtocolError also for more than `max_elements` in arrays and tagged
    fields."""
    decoder = Decoder(frame, offset, repairs=True, max_elements=max_elements)
    table = _table(request_type(api_key, version))
    try:
        return cast(RequestPayload, (yield from read_in_slices(decoder, table)))
    except _DECODE_ERRORS as problem:
        raise _malformed(f"{api_name(api_key)} v{version} request", problem) from problem


def encode_response(response: ResponsePayload, correlation_id: int) -> bytes:
    """Return the whole frame of a response, including its length."""
    encoder, table = _begin_response(response, correlation_id)
    encoder.struct(table, response)
    return encoder.frame()


def encode_response_in_slices(response: ResponsePayload, correlation_id: int) -> Slices[bytes]:
    """Return the whole frame of a response, in slices. Arrays of structs may be lazy (build.py)."""
    encoder, table = _begin_response(response, correlation_id)
    yield from encoder.in_slices(table, response)
    return encoder.frame()


def _begin_response(response: ResponsePayload, correlation_id: int) -> tuple[Encoder, Struct]:
    kind = type(response)
    return Encoder(encode_response_header(correlation_id, _has_response_header_v1(kind))), _table(kind)


def encode_request(request: RequestPayload, correlation_id: int, client_id: str | None) -> bytes:
    """Return the whole frame of a request, including its length."""
    return _encode_request(type(request), request, correlation_id, client_id).frame()


def request_frame(
    api_key: int, version: int, values: Mapping[str, Any], correlation_id: int = 1, client_id: str | None = None
) -> bytes:
    """Return the whole frame of a request from plain values: nested structs are dicts, arrays any collections.

    A missing field has Kafka's default. Fields of other versions are left out. Raises ProtocolError for an unknown key
    or version, and ValueError for a name that no version has.
    """
    kind = request_type(api_key, version)
    encoder = _encode_request(kind, dict(values), correlation_id, client_id)
    if encoder.unused:
        _check_names(api_key, values)
    return encoder.frame()


def _encode_request(kind: type[RequestPayload], values: object, correlation_id: int, client_id: str | None) -> Encoder:
    header = encode_request_header(
        kind.__api_key__, kind.__version__, correlation_id, client_id, bool(kind.__flexible__)
    )
    encoder = Encoder(header)
    encoder.struct(_table(kind), values)
    return encoder


def _table(kind: type[RequestPayload | ResponsePayload]) -> Struct:
    table = _tables.get(kind)
    if table is None:
        table = _tables[kind] = table_of(kind)
    return table


def _check_names(api_key: int, values: object) -> None:
    """Raise ValueError for a name that no version has, at any depth."""
    if isinstance(values, Mapping):
        if unknown := values.keys() - field_names(api_key):
            raise ValueError(f"no version of {api_name(api_key)} has a field {min(unknown)!r}.")
        values = values.values()
    elif not isinstance(values, list | tuple):
        return
    for value in values:
        _check_names(api_key, value)


@cache
def field_names(api_key: int) -> frozenset[str]:
    """Return the names of the fields of all versions of a request, at any depth."""
    kinds = [request_type(api_key, version) for version in versions(api_key)]
    return frozenset(name for kind in kinds for name in names_of(_table(kind)))


def decode_response(api_key: int, version: int, frame: bytes) -> tuple[int, ResponsePayload]:
    """Read the frame of a response (without its length) to a request of that key and version: (correlation id,
    message).

    Raises ProtocolError like `decode_request`, and for an error code that kio's enum lacks.
    """
    kind = response_type(api_key, version)
    correlation_id, offset = decode_response_header(frame, _has_response_header_v1(kind))
    try:
        return correlation_id, cast(ResponsePayload, Decoder(frame, offset, repairs=False).struct(_table(kind)))
    except _DECODE_ERRORS as problem:
        raise _malformed(f"{api_name(api_key)} v{version} response", problem) from problem


def _has_response_header_v1(kind: type[ResponsePayload]) -> bool:
    # A client must be able to read this response before it knows the broker's versions.
    return bool(kind.__flexible__) and kind.__api_key__ != _API_VERSIONS


def _check_version(api_key: int, version: int) -> None:
    known = versions(api_key)
    if not known:
        raise ProtocolError(f"API key {api_key} is not known.")
    if version not in known:
        raise ProtocolError(f"{api_name(api_key)} has versions {known[0]} to {known[-1]}, and not {version}.")


def _malformed(what: str, problem: Exception) -> ProtocolError:
    reason = ENDS_WITHIN if isinstance(problem, IndexError | error) else str(problem).rstrip(".")
    return ProtocolError(f"The {what} is malformed: {reason}.")
