"""Arbitrary bytes are a message or a ProtocolError, soon and without much memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.message_strategies import any_bytes, damaged, damages, messages

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.framing import FrameDecoder
from fakebroker.protocol.headers import decode_request_header, peek_api
from fakebroker.protocol.messages import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    is_flexible,
    request_type,
    response_type,
    versions,
)

APIS = {"ApiVersions": 18, "Metadata": 3, "InitProducerId": 22, "Produce": 0, "CreateTopics": 19, "Fetch": 1}


def read(api_key: int, version: int, body: bytes) -> None:
    try:
        request = decode_request(api_key, version, body, 0)
    except ProtocolError:
        return
    assert type(request) is request_type(api_key, version)


@pytest.mark.parametrize("api_key", APIS.values(), ids=APIS)
@given(data=st.data(), body=any_bytes)
def test_any_body(api_key: int, data: st.DataObject, body: bytes) -> None:
    read(api_key, data.draw(st.sampled_from(versions(api_key))), body)


@pytest.mark.parametrize("api_key", APIS.values(), ids=APIS)
@given(data=st.data(), places=damages)
def test_a_damaged_request(api_key: int, data: st.DataObject, places: list[tuple[int, bytes]]) -> None:
    version = data.draw(st.sampled_from(versions(api_key)))
    encoded = encode_request(data.draw(messages(request_type(api_key, version))), 1, None)[4:]
    body_offset = decode_request_header(encoded, is_flexible(api_key, version)).body_offset
    read(api_key, version, damaged(encoded[body_offset:], places))


@pytest.mark.parametrize("api_key", APIS.values(), ids=APIS)
@given(data=st.data(), places=damages)
def test_a_damaged_response(api_key: int, data: st.DataObject, places: list[tuple[int, bytes]]) -> None:
    version = data.draw(st.sampled_from(versions(api_key)))
    encoded = encode_response(data.draw(messages(response_type(api_key, version))), 1)[4:]
    try:
        _, response = decode_response(api_key, version, damaged(encoded, places))
    except ProtocolError:
        return
    assert type(response) is response_type(api_key, version)


@given(st.binary(max_size=80), st.sampled_from(sorted(APIS.values())), st.integers(0, 13))
def test_a_whole_connection_of_junk(junk: bytes, api_key: int, version: int) -> None:
    decoder = FrameDecoder(max_request_bytes=1000)
    decoder.feed(len(junk).to_bytes(4, "big") + api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + junk)
    try:
        while (frame := decoder.next_frame()) is not None:
            api = peek_api(frame)
            header = decode_request_header(frame, is_flexible(*api))
            decode_request(*api, frame, header.body_offset)
    except ProtocolError:
        return
