from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.index import api_key_map, schema_name_map
from kio.schema.metadata.v12.request import MetadataRequest, MetadataRequestTopic
from kio.schema.types import TopicName
from support.message_strategies import messages
from support.messages import decode_request, decode_response

from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.headers import decode_request_header, peek_api
from fakebroker.protocol.messages import (
    api_name,
    encode_request,
    encode_response,
    is_flexible,
    request_type,
    response_type,
    versions,
)
from fakebroker.protocol.newer import NEWER

EVERY_VERSION = [(api_key, version) for api_key in api_key_map for version in versions(api_key)]


@given(st.data(), st.sampled_from(EVERY_VERSION), st.binary(max_size=4))
def test_every_request_survives_the_way(data: st.DataObject, api: tuple[int, int], trailing: bytes) -> None:
    request = data.draw(messages(request_type(*api)))
    encoded = encode_request(request, 5, "client")
    assert int.from_bytes(encoded[:4], "big") == len(encoded) - 4
    received = encoded[4:] + trailing
    assert peek_api(received) == api
    header = decode_request_header(received, is_flexible(*api))
    assert (header.api_key, header.api_version, header.correlation_id, header.client_id) == (*api, 5, "client")
    assert decode_request(*api, received, header.body_offset) == request


@given(st.data(), st.sampled_from(EVERY_VERSION), st.binary(max_size=4))
def test_every_response_survives_the_way(data: st.DataObject, api: tuple[int, int], trailing: bytes) -> None:
    response = data.draw(messages(response_type(*api)))
    encoded = encode_response(response, -6)
    assert int.from_bytes(encoded[:4], "big") == len(encoded) - 4
    assert decode_response(*api, encoded[4:] + trailing) == (-6, response)


@pytest.mark.parametrize("version", versions(18))
def test_api_versions_responses_have_header_v0(version: int) -> None:
    kind: Any = response_type(18, version)
    later = {"throttle_time": timedelta(0)} if version >= 1 else {}
    encoded = encode_response(kind(error_code=ErrorCode.none, api_keys=(), **later), 9)
    assert encoded[4:10] == bytes.fromhex("00000009 0000")
    # v0: an empty array; v1 and v2: and a throttle time; from v3: compact, and a tagged section
    bodies = ["00000000", "00000000 00000000", "00000000 00000000", *["01 00000000 00"] * 3]
    assert encoded[10:] == bytes.fromhex(bodies[version])


# The first flexible version of each key, as Kafka's protocol guide gives it; None for never.
FIRST_FLEXIBLE = {
    0: 9,
    1: 12,
    2: 6,
    3: 9,
    8: 8,
    9: 6,
    10: 3,
    11: 6,
    17: None,
    18: 3,
    19: 5,
    20: 4,
    22: 2,
    24: 3,
    26: 3,
    45: 0,
}


@pytest.mark.parametrize(("api_key", "first"), FIRST_FLEXIBLE.items())
def test_flexible_versions(api_key: int, first: int | None) -> None:
    for version in range(-1, versions(api_key)[-1] + 4):
        expected = first is not None and max(version, versions(api_key)[0]) >= first
        assert is_flexible(api_key, version) == expected


def test_versions() -> None:
    assert versions(0) == range(3, 14)
    assert versions(18) == range(6)
    assert list(versions(7)) == []
    assert list(versions(-1)) == []


@pytest.mark.parametrize(("api_key", "version"), list(NEWER))
def test_what_kio_lacks_is_the_next_version_and_no_other(api_key: int, version: int) -> None:
    """Else kio has it by now, and ours can go."""
    name = api_key_map[api_key]
    assert version not in schema_name_map[name]
    assert version == max(schema_name_map[name]) + 1 == versions(api_key)[-1]
    for kind in NEWER[api_key, version]:
        assert (kind.__api_key__, kind.__version__, kind.__flexible__) == (api_key, version, True)


def test_the_bytes_of_what_kio_lacks() -> None:
    """The bytes follow Kafka's message definitions of 4.4."""
    topic_id = UUID(int=5)
    partition = {"partition_index": 1, "committed_offset": 2, "committed_leader_epoch": 3, "committed_metadata": None}
    values: dict[str, Any] = {
        "transactional_id": "t",
        "group_id": "g",
        "producer_id": 4,
        "producer_epoch": 5,
        "topics": [{"topic_id": topic_id, "partitions": [partition]}],
    }
    request = build(request_type(28, 6), values)
    partition_hex = "00000001 0000000000000002 00000003 00 00"
    assert encode_request(request, 9, None)[4:] == bytes.fromhex(
        "001c 0006 00000009 ffff 00  0274 0267 0000000000000004 0005 ffffffff 01 00"
        f"02 {topic_id.hex} 02 {partition_hex} 00 00"
    )
    values = {
        "throttle_time": timedelta(0),
        "topics": [{"topic_id": topic_id, "partitions": [{"partition_index": 1, "error_code": ErrorCode.none}]}],
    }
    answer = encode_response(build(response_type(28, 6), values), 9)
    assert answer[4:] == bytes.fromhex(f"00000009 00 00000000 02 {topic_id.hex} 02 00000001 0000 00 00 00")
    fields = {"client_software_name": "a", "client_software_version": "b", "cluster_id": "c", "node_id": 7}
    request = build(request_type(18, 5), fields)
    assert encode_request(request, 9, None)[4:] == bytes.fromhex(
        "0012 0005 00000009 ffff 00 0261 0262 0263 00000007 00"
    )
    values = {"throttle_time": timedelta(0), "results": [{"group_id": "g", "error_code": ErrorCode.none}]}
    answer = encode_response(build(response_type(42, 3), values), 9)
    assert answer[4:] == bytes.fromhex("00000009 00 00000000 02 0267 0000 00 00 00")


@pytest.mark.parametrize(
    ("api_key", "name"), [(0, "Produce"), (18, "ApiVersions"), (22, "InitProducerId"), (4, "UNKNOWN(4)")]
)
def test_names(api_key: int, name: str) -> None:
    assert api_name(api_key) == name


@pytest.mark.parametrize(
    "lookup", [request_type, response_type, lambda key, version: decode_request(key, version, b"", 0)]
)
def test_what_is_not_known(lookup: Callable[[int, int], object]) -> None:
    with pytest.raises(ProtocolError, match="API key 7 is not known"):
        lookup(7, 0)
    with pytest.raises(ProtocolError, match="Produce has versions 3 to 13, and not 2"):
        lookup(0, 2)
    with pytest.raises(ProtocolError, match="ApiVersions has versions 0 to 5, and not 6"):
        lookup(18, 6)


def test_an_unknown_key_is_neither_flexible_nor_not() -> None:
    with pytest.raises(ProtocolError, match="API key 93 is not known"):
        is_flexible(93, 0)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "the bytes end within it"),
        ("00 ffff", "end within (it|a varint)"),
        ("00 ffff 00007530 02 00 01 00 00", "null"),
        ("00 ffff 00007530 02 02 74 02 0000", "an array claims 1 elements, and only 2 bytes are left"),
    ],
)
def test_a_malformed_request_says_what_and_why(body: str, reason: str) -> None:
    with pytest.raises(ProtocolError, match=f"The Produce v9 request is malformed: .*{reason}[^.]*[.]$"):
        decode_request(0, 9, bytes.fromhex(body), 0)


def test_a_request_is_a_frozen_dataclass_read_by_attribute() -> None:
    request = MetadataRequest(
        topics=(MetadataRequestTopic(name=TopicName("t"), topic_id=None),),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )
    received = encode_request(request, 1, None)[4:]
    decoded = decode_request(3, 12, received, decode_request_header(received, flexible=True).body_offset)
    assert decoded.topics[0].name == "t"
    assert not decoded.allow_auto_topic_creation


def test_a_timeout_may_be_negative() -> None:
    request = decode_request(0, 3, bytes.fromhex("ffff ffff 80000000 00000000"), 0)
    assert request.timeout == timedelta(milliseconds=-(2**31))
