"""The Fetch request by hand and by kio: all versions, whatever the bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.message_strategies import messages

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.fetch.by_hand import read_by_hand
from fakebroker.protocol.fetch.reader import of_kio, read_fetch_request, read_fetch_request_in_slices
from fakebroker.protocol.fetch.request import FetchRequest
from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import decode_request, encode_request, request_type
from fakebroker.protocol.slices import finish

FETCH = 1
VERSIONS = range(4, 19)

versions = st.sampled_from(VERSIONS)


@st.composite
def received_requests(draw: st.DrawFn) -> tuple[int, bytes, int]:
    """A version, a frame, and where the body starts."""
    version = draw(versions)
    frame = encode_request(draw(messages(request_type(FETCH, version))), 7, "me")[4:]
    return version, frame, decode_request_header(frame, version >= 12).body_offset


def fields(request: FetchRequest) -> tuple[object, ...]:
    return (
        request.replica_id,
        request.replica_epoch,
        request.max_wait_ms,
        request.min_bytes,
        request.max_bytes,
        request.isolation_level,
        request.session_id,
        request.session_epoch,
        [
            (
                topic.name,
                topic.topic_id,
                [
                    (p.index, p.fetch_offset, p.max_bytes, p.current_leader_epoch, p.last_fetched_epoch)
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ],
        [(topic.name, topic.topic_id, topic.partitions) for topic in request.forgotten],
        request.rack_id,
    )


def by_hand(version: int, received: bytes, offset: int) -> object:
    try:
        return fields(read_fetch_request(version, received, offset))
    except ProtocolError as problem:
        return str(problem)


def slices(version: int, received: bytes, offset: int) -> object:
    try:
        return fields(finish(read_fetch_request_in_slices(version, received, offset, 1_000_000)))
    except ProtocolError as problem:
        return str(problem)


def general(version: int, received: bytes, offset: int) -> object:
    try:
        return fields(finish(of_kio(version, decode_request(FETCH, version, received, offset))))
    except ProtocolError as problem:
        return str(problem)


@given(
    request=received_requests(),
    cut=st.integers(0, 400),
    changes=st.lists(st.tuples(st.integers(0, 400), st.sampled_from([0, 1, 2, 127, 128, 255])), max_size=3),
)
def test_the_reader_by_hand_reads_what_the_general_one_reads(
    request: tuple[int, bytes, int], cut: int, changes: list[tuple[int, int]]
) -> None:
    version, frame, offset = request
    damaged = bytearray(frame)
    for place, value in changes:
        if offset + place < len(damaged):
            damaged[offset + place] = value
    received = bytes(damaged[: offset + cut])
    assert by_hand(version, received, offset) == general(version, received, offset) == slices(version, received, offset)


@given(version=versions, received=st.binary(max_size=60) | st.lists(st.sampled_from([0, 1, 2, 3, 255])).map(bytes))
def test_both_readers_say_the_same_of_any_bytes(version: int, received: bytes) -> None:
    assert by_hand(version, received, 0) == general(version, received, 0) == slices(version, received, 0)


@given(request=received_requests())
def test_what_has_nothing_tagged_is_read_by_hand(request: tuple[int, bytes, int]) -> None:
    version, frame, offset = request
    decoded: Any = decode_request(FETCH, version, frame, offset)
    bare = {"cluster_id": None, "replica_state": None}
    has_tags = any(
        getattr(decoded, name, default) not in (default, type(decoded).__dataclass_fields__[name].default)
        for name, default in bare.items()
        if hasattr(decoded, name)
    ) or any(
        getattr(p, "replica_directory_id", None) is not None or getattr(p, "high_watermark", NEVER) != NEVER
        for topic in decoded.topics
        for p in topic.partitions
    )
    is_long = any(
        len(text) > 126
        for text in (
            getattr(decoded, "rack_id", "").encode(),
            *(getattr(topic, "topic", "").encode() for topic in decoded.topics),
            *(getattr(topic, "topic", "").encode() for topic in getattr(decoded, "forgotten_topics_data", ())),
        )
    )
    read = read_by_hand(version, frame, offset)
    if version < 12 or not (has_tags or is_long):
        assert read is not None
        assert fields(read) == fields(finish(of_kio(version, decoded)))


NEVER = (1 << 63) - 1
_BEGIN = {4: "ffffffff 00000000 00000001 00100000 00", 7: "ffffffff 00000000 00000001 00100000 00 00000000 ffffffff"}
_ONE = "00000001 0001 74 00000001 00000000 0000000000000000 0000000000000000 00100000"
_FLEXIBLE = "ffffffff 00000000 00000001 00100000 00 00000000 ffffffff"
_PART = "00000000 ffffffff 0000000000000000 ffffffff ffffffffffffffff 00100000"


@pytest.mark.parametrize(
    ("version", "body"),
    [
        (4, _BEGIN[4] + "ffffffff"),  # no topics: null
        (4, _BEGIN[4] + "00000001 ffff 00000000"),  # no topic name
        (4, _BEGIN[4] + "00000001 0001 74 ffffffff"),
        (4, _BEGIN[4] + "00000001 0009 74 00000000"),  # a name that ends too early
        (7, _BEGIN[7] + _ONE + "ffffffff"),
        (7, _BEGIN[7] + _ONE + "00000001 0001 75 00000002 00000003 00000004"),
        (7, _BEGIN[7] + _ONE + "00000001 0001 75 ffffffff"),
        (7, _BEGIN[7] + _ONE + "00000001 ffff 00000000"),
        (11, _BEGIN[7] + "00000000 00000000 ffff"),  # no rack
        (11, _BEGIN[7] + "00000000 00000000 0009 72"),
        (12, _FLEXIBLE + "00 01 01 00"),
        (12, _FLEXIBLE + "02 02 74 02" + _PART + "00 00 01 01 00"),
        (12, _FLEXIBLE + "02 02 74 02" + _PART + "01 05 00 00 01 01 00"),  # tagged fields, at each level
        (12, _FLEXIBLE + "02 02 74 02" + _PART + "00 01 05 00 01 01 00"),
        (12, _FLEXIBLE + "02 02 74 02" + _PART + "00 00 02 02 75 02 00000007 01 05 00 01 00"),
        (12, _FLEXIBLE + "02 02 74 02" + _PART + "00 00 01 01 01 05 00"),
        (12, _FLEXIBLE + "02 02 74 02" + _PART + "00 00 01 00 00"),  # no rack
        (12, _FLEXIBLE + "02 02 74 02" + _PART + "00 00 02 02 75 03 00000007 00000008 00 03 7261 00"),
        (12, _FLEXIBLE + "02 00 01 00 01 01 00"),
        (13, _FLEXIBLE + "02" + 16 * "ab" + "02" + _PART + "00 00 02" + 16 * "cd" + "02 00000007 00 01 00"),
        (13, _FLEXIBLE + "02" + 9 * "ab"),
        (15, _FLEXIBLE[9:] + "01 01 01 01 01 0d 00000003 0000000000000009 00"),  # a follower
    ],
)
def test_both_readers_say_the_same_where_things_are_out_of_the_ordinary(version: int, body: str) -> None:
    received = bytes.fromhex(body)
    assert by_hand(version, received, 0) == general(version, received, 0) == slices(version, received, 0)
