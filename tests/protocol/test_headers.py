from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.request_header.v1.header import RequestHeader as KioV1
from kio.schema.request_header.v2.header import RequestHeader as KioV2
from kio.serial import entity_reader
from protocol_strategies import i16s, i32s, texts

from fakebroker.protocol.declarations import request_header, response_header
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
    peek_api,
)

DECLARED = {False: request_header(1), True: request_header(2)}
KIO: dict[bool, Any] = {False: entity_reader(KioV1), True: entity_reader(KioV2)}

client_ids = st.none() | texts
api_keys = i16s.filter(lambda key: key != 7)


def fields(header: RequestHeader) -> tuple[int, int, int, str | None, int]:
    return header.api_key, header.api_version, header.correlation_id, header.client_id, header.body_offset


@given(api_keys, i16s, i32s, client_ids, st.booleans(), st.binary(max_size=5))
def test_a_request_header_is_what_the_declaration_and_kio_say(
    api_key: int, version: int, correlation_id: int, client_id: str | None, flexible: bool, body: bytes
) -> None:
    encoded = encode_request_header(api_key, version, correlation_id, client_id, flexible)
    values: dict[str, object] = {
        "api_key": api_key,
        "api_version": version,
        "correlation_id": correlation_id,
        "client_id": client_id,
    }
    assert encoded == DECLARED[flexible].build({**values, "tagged_fields": []} if flexible else values)
    by_kio, _ = KIO[flexible](encoded, 0)
    assert by_kio.request_api_key == api_key
    assert by_kio.client_id == client_id
    assert peek_api(encoded + body) == (api_key, version)
    header = decode_request_header(encoded + body, flexible)
    assert fields(header) == (api_key, version, correlation_id, client_id, len(encoded))


@given(
    client_ids,
    st.lists(st.builds(lambda tag, value: {"tag": tag, "value": value}, st.integers(0, 2**32 - 1), st.binary())),
)
def test_tagged_fields_of_a_request_header_are_skipped(client_id: str | None, tags: list[dict[str, object]]) -> None:
    encoded = DECLARED[True].build(
        {"api_key": 3, "api_version": 12, "correlation_id": 1, "client_id": client_id, "tagged_fields": tags}
    )
    assert fields(decode_request_header(encoded + b"body", True)) == (3, 12, 1, client_id, len(encoded))


@given(i32s, st.booleans())
def test_response_headers(correlation_id: int, flexible: bool) -> None:
    encoded = encode_response_header(correlation_id, flexible)
    declared = response_header(1 if flexible else 0)
    assert declared.parse(encoded).correlation_id == correlation_id
    assert declared.build(declared.parse(encoded)) == encoded
    assert decode_response_header(encoded + b"body", flexible) == (correlation_id, len(encoded))


def test_controlled_shutdown_v0_has_no_client_id() -> None:
    encoded = bytes.fromhex("0007 0000 00000005")
    assert encode_request_header(7, 0, 5, "ignored", flexible=False) == encoded
    assert fields(decode_request_header(encoded, flexible=False)) == (7, 0, 5, None, 8)
    assert fields(decode_request_header(encoded + b"a body", flexible=False)) == (7, 0, 5, None, 8)


@pytest.mark.parametrize(
    ("frame", "flexible", "reason"),
    [
        ("", False, "0 bytes is too short"),
        ("0000 0009 00000007", False, "8 bytes is too short"),
        ("0000 0009 00000007 00", False, "9 bytes is too short"),
        ("0000 0009 00000007 0004 6465", False, "claims 4 bytes, and only 2 are left"),
        ("0000 0009 00000007 ffff", True, "end within a varint"),
        ("0000 0009 00000007 ffff 01 00", True, "end within a varint"),
        ("0000 0009 00000007 ffff 01 00 05 61", True, "claims 5 bytes, 4 more"),
        ("0000 0009 00000007 ffff ffffffffff00", True, "longer than"),
        ("0000 0009 00000007 ffff 01 00 ffffffff0f", True, "claims -1 bytes"),
        ("0000 0009 00000007 ffff ffffffff07", True, "claims 2147483647 tagged fields"),
        ("0000 0009 00000007 ffff e907" + 1_001 * "0500", True, "claims 1001 tagged fields"),
    ],
)
def test_malformed_request_headers(frame: str, flexible: bool, reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        decode_request_header(bytes.fromhex(frame), flexible)


@pytest.mark.parametrize(
    ("frame", "flexible", "client_id", "offset"),
    [
        ("0000 0009 00000007 fffe 00", False, None, 10),
        ("0000 0009 00000007 8000 00", True, None, 11),
        ("0000 0009 00000007 0002 c328", False, "\ufffd(", 12),
        ("0000 0009 00000007 ffff 81808080 70 07 00", True, None, 17),  # one tag; what is above 32 bits falls off
        ("0000 0009 00000007 ffff ffffffff0f", True, None, 15),  # -1 tags
    ],
)
def test_what_kafka_forgives(frame: str, flexible: bool, client_id: str | None, offset: int) -> None:
    assert fields(decode_request_header(bytes.fromhex(frame), flexible)) == (0, 9, 7, client_id, offset)


@given(st.binary(max_size=30), st.booleans())
def test_any_bytes_give_a_header_or_a_protocol_error(frame: bytes, flexible: bool) -> None:
    try:
        header = decode_request_header(frame, flexible)
    except ProtocolError:
        return
    assert 8 <= header.body_offset <= len(frame)


def test_four_bytes_are_enough_for_an_api_or_a_correlation_id() -> None:
    assert peek_api(bytes.fromhex("0012 0003")) == (18, 3)
    assert decode_response_header(bytes.fromhex("fffffffe"), flexible=False) == (-2, 4)


def test_too_short_for_anything() -> None:
    with pytest.raises(ProtocolError, match="3 bytes is too short"):
        peek_api(b"\0\0\0")
    with pytest.raises(ProtocolError, match="3 bytes is too short"):
        decode_response_header(b"\0\0\0", flexible=False)
    with pytest.raises(ProtocolError, match="end within a varint"):
        decode_response_header(b"\0\0\0\0", flexible=True)
