"""Encoders by tables write the same as kio, for every API and version; plain values get Kafka's defaults."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.index import api_key_map
from kio.serial import entity_writer
from support.message_strategies import messages

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.messages import (
    decode_request,
    encode_request,
    encode_response,
    request_frame,
    request_type,
    response_type,
    versions,
)

EVERY_VERSION = [(api_key, version) for api_key in api_key_map for version in versions(api_key)]
FETCH, METADATA, OFFSET_COMMIT, JOIN_GROUP = 1, 3, 8, 11


def by_kio(message: Any) -> bytes:
    with BytesIO() as buffer:
        entity_writer(type(message))(buffer, message)
        return buffer.getvalue()


def plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


@given(data=st.data(), api=st.sampled_from(EVERY_VERSION))
def test_a_request_is_what_kio_writes(data: st.DataObject, api: tuple[int, int]) -> None:
    message = data.draw(messages(request_type(*api)))
    frame = encode_request(message, 1, None)
    assert frame.endswith(by_kio(message))
    assert request_frame(*api, plain(message)) == frame


@given(data=st.data(), api=st.sampled_from(EVERY_VERSION))
def test_a_response_is_what_kio_writes(data: st.DataObject, api: tuple[int, int]) -> None:
    message = data.draw(messages(response_type(*api)))
    assert encode_response(message, 1)[8:].removeprefix(b"\0" * (api[0] != 18 and message.__flexible__)) == by_kio(
        message
    )


def test_a_request_without_values_has_all_defaults() -> None:
    for api in EVERY_VERSION:
        message = decode_request(*api, request_frame(*api, {}), 14 + bool(request_type(*api).__flexible__))
        for field in fields(message):
            value = getattr(message, field.name)
            if field.default is MISSING:
                assert is_dataclass(value) or not value, (api, field.name)
            else:
                assert value == field.default, (api, field.name)


def test_defaults_are_those_of_kafkas_definitions() -> None:
    frame = request_frame(FETCH, 11, {"topics": [{"topic": "t", "partitions": [{"partition_max_bytes": 7}]}]})
    message: Any = decode_request(FETCH, 11, frame, 14)
    assert (message.max_wait, message.max_bytes, message.session_epoch) == (timedelta(0), 0x7FFFFFFF, -1)
    assert (message.rack_id, message.forgotten_topics_data) == ("", ())
    partition = message.topics[0].partitions[0]
    assert (partition.current_leader_epoch, partition.log_start_offset, partition.fetch_offset) == (-1, -1, 0)


def test_a_field_of_another_version_is_left_out() -> None:
    values = {"group_id": "g", "rebalance_timeout": timedelta(seconds=1), "reason": "why", "group_instance_id": None}
    assert request_frame(JOIN_GROUP, 0, values) == request_frame(JOIN_GROUP, 0, {"group_id": "g"})


@pytest.mark.parametrize(
    "values",
    [
        {"group": "g"},
        {"group_id": "g", "topics": [{"name": "t", "partition": []}]},
        {"group_id": "g", "topics": [{"name": "t", "partitions": [{"index": 1}]}]},
    ],
)
def test_a_name_that_no_version_has_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"no version of OffsetCommit has a field '(group|partition|index)'"):
        request_frame(OFFSET_COMMIT, 7, values)


def test_null_where_a_version_has_none_is_refused() -> None:
    with pytest.raises(TypeError, match="group_id must not be null"):
        request_frame(JOIN_GROUP, 0, {"group_id": None})


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(ProtocolError, match="Metadata has versions 0 to 13, and not 99"):
        request_frame(METADATA, 99, {})
