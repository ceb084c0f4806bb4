"""A large Produce request, read without putting it together, against the general way. What is large does not matter
here: the frames are cut as large ones are."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.message_strategies import damaged, damages

from fakebroker.protocol.build import build
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.messages import decode_request, encode_request, request_type
from fakebroker.protocol.produce_reader import ProduceRequest, _of_kio, read_by_hand, read_produce_request
from fakebroker.protocol.slices import finish

VERSIONS = range(3, 14)
ID = UUID(int=77)


def request(version: int, records: list[bytes], topics: int = 1, transactional_id: str | None = None) -> bytes:
    """The frame, without its length."""
    partitions = [{"index": index, "records": data} for index, data in enumerate(records)]
    values: dict[str, Any] = {
        "transactional_id": transactional_id,
        "acks": -1,
        "timeout": timedelta(milliseconds=1_500),
        "topic_data": [
            ({"topic_id": ID} if version >= 13 else {"name": "topic"}) | {"partition_data": partitions}
            for _ in range(topics)
        ],
    }
    return encode_request(build(request_type(0, version), values), 7, "client")[4:]


def large(frame: bytes, given_bytes: int) -> LargeFrame:
    """Return the frame in the decoder's form: so many bytes were there when its buffer was made, in two pieces."""
    frame_ = LargeFrame(
        [memoryview(frame)[: given_bytes // 2], frame[given_bytes // 2 : given_bytes]], len(frame) - given_bytes
    )
    assert frame_.copy(frame[given_bytes:]) == len(frame) - given_bytes
    return frame_


def fields(request: ProduceRequest) -> tuple[Any, ...]:
    topics = [
        (topic.name, topic.topic_id, [(part.index, part.records, part.is_plain) for part in topic.partition_data])
        for topic in request.topic_data
    ]
    return request.transactional_id, request.acks, request.timeout_ms, topics


def compare(version: int, frame: bytes, given_bytes: int) -> bool:
    """Return True if the request was read in parts; check that the general way reads the same, and so does the whole
    frame."""
    offset = decode_request_header(frame, version >= 9).body_offset
    parts = large(frame, given_bytes)
    produce_request = read_by_hand(version, parts, offset)
    if produce_request is None:
        assert parts.join() == frame
    else:
        assert fields(produce_request) == fields(finish(_of_kio(version, decode_request(0, version, frame, offset))))
    assert outcome(version, large(frame, given_bytes), offset) == outcome(version, frame, offset)
    return produce_request is not None


def outcome(version: int, frame: bytes | LargeFrame, offset: int) -> Any:
    try:
        return fields(read_produce_request(version, frame, offset))
    except ProtocolError as error:
        return str(error)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [100, 126, 127, 128, 20_000])
def test_it_takes_one_partition_of_one_topic(version: int, size: int) -> None:
    assert compare(version, request(version, [bytes([1]) * size]), 90)


@pytest.mark.parametrize("version", VERSIONS)
def test_it_takes_what_is_small_before_and_behind_the_large_records(version: int) -> None:
    small, one = b"small", bytes([1]) * 200
    assert compare(version, request(version, [small, one, small]), 120)
    assert compare(version, request(version, [one], topics=2), 90)
    assert compare(version, request(version, [one]) + b"\0", 90)  # and what is behind it all is ignored


@pytest.mark.parametrize("version", VERSIONS)
def test_it_leaves_the_rest_to_the_general_way(version: int) -> None:
    one = bytes([1]) * 200
    assert not compare(version, request(version, [one, bytes(70_000)]), 90)  # two that are large
    assert not compare(version, request(version, [one])[:-1], 90)
    assert not compare(
        version, request(version, [one], transactional_id="t" * 200), 90
    )  # it is longer than what is there


@given(
    version=st.sampled_from(VERSIONS),
    records=st.lists(st.binary(max_size=300), min_size=1, max_size=2),
    given_bytes=st.integers(30, 200),
    places=st.just([]) | damages,
    transactional_id=st.none() | st.just("tx"),
)
@example(9, [b""], 50, [], None)
@example(3, [b""], 50, [], None)
def test_what_it_takes_the_general_way_reads_the_same(
    version: int, records: list[bytes], given_bytes: int, places: list[Any], transactional_id: str | None
) -> None:
    frame = request(version, records, transactional_id=transactional_id)
    start = decode_request_header(frame, version >= 9).body_offset
    frame = frame[:start] + (damaged(frame[start:], places) if places else frame[start:])
    if len(frame) > start + 1:
        compare(version, frame, min(given_bytes, len(frame) - 1))


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=4), st.binary(min_size=1, max_size=99), st.data())
def test_any_part_of_a_large_frame_can_be_taken_out(parts: list[bytes], rest: bytes, data: st.DataObject) -> None:
    whole = b"".join(parts) + rest
    frame = LargeFrame(parts, len(rest))
    frame.copy(rest)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    assert frame.beginning == b"".join(parts)
    assert frame.last(3) == rest[-3:]
    assert len(frame) == len(whole)
    assert frame.cut(start, end) == whole[start:end]


def test_a_whole_frame_may_be_taken_out_again() -> None:
    frame = large(b"abcdef", 3)
    assert frame.join() == frame.join() == b"abcdef"
    assert frame.cut(2, 4) == b"cd"


def test_a_header_that_is_cut_is_told_as_such() -> None:
    with pytest.raises(ProtocolError):
        decode_request_header(large(request(3, [b"x" * 100]), 12).beginning, flexible=False)
