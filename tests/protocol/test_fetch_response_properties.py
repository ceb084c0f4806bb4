"""The Fetch response by hand and by kio: all versions, byte for byte. And frames that are taken bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protocol_strategies import i32s, i64s

from fakebroker.protocol.answers.fetch_response import FetchResponseWriter, PartitionFetchResponse
from fakebroker.protocol.answers.pieces import FrameInPieces, Part, Piece, Pieces
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import decode_response, encode_response, response_type
from fakebroker.protocol.produce_response import NodeEndpoint

VERSIONS = range(4, 19)


class Kept(Piece):
    """Bytes that are there, in two parts."""

    def __init__(self, data: bytes) -> None:
        super().__init__(len(data))
        self._data = data

    def read(self, start: int, size: int) -> list[Part]:
        data = self._data[start : start + size]
        assert len(data) == size > 0
        return [data[: size // 2], memoryview(data)[size // 2 :]]


class Topic(NamedTuple):
    name: str
    topic_id: bytes
    partitions: list[PartitionFetchResponse]


pieces = st.lists(st.binary(min_size=1, max_size=40) | st.integers(3_000, 9_000).map(bytes), max_size=3).map(
    lambda datas: Pieces([Kept(data) for data in datas])
)
pairs = st.none() | st.just((-1, -1))
partitions = st.builds(
    PartitionFetchResponse,
    i32s,
    st.sampled_from([code.value for code in ErrorCode]),
    i64s,
    i64s,
    i64s,
    pieces,
    st.none() | st.lists(st.tuples(i64s, i64s), max_size=2).map(tuple),
    pairs | st.tuples(i32s, i64s),
    pairs | st.tuples(i32s, i32s),
    st.just(-1) | i32s,
)
topics = st.lists(
    st.builds(
        Topic,
        st.text(max_size=130),
        st.just(bytes(16)) | st.binary(min_size=16, max_size=16),
        st.lists(partitions, max_size=3),
    ),
    max_size=3,
)
endpoints = st.lists(
    st.builds(NodeEndpoint, i32s, st.text(max_size=140), i32s, st.none() | st.text(max_size=20)), max_size=3
)


def by_hand(
    version: int,
    correlation_id: int,
    topics: Sequence[Topic],
    throttle_time_ms: int,
    error_code: int,
    endpoints: Sequence[NodeEndpoint],
    session_id: int = 0,
) -> FrameInPieces:
    writer = FetchResponseWriter(version, correlation_id, len(topics), throttle_time_ms, error_code, session_id)
    for topic in topics:
        writer.topic(topic.name, topic.topic_id, len(topic.partitions))
        for partition in topic.partitions:
            writer.partition(partition)
    return writer.finish(endpoints)


def values(partition: PartitionFetchResponse) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "partition_index": partition.index,
        "error_code": ErrorCode(partition.error_code),
        "high_watermark": partition.high_watermark,
        "last_stable_offset": partition.last_stable_offset,
        "log_start_offset": partition.log_start_offset,
        "aborted_transactions": partition.aborted_transactions
        and [{"producer_id": producer, "first_offset": first} for producer, first in partition.aborted_transactions],
        "preferred_read_replica": partition.preferred_read_replica,
        "records": partition.records.join(),
    }
    if partition.diverging_epoch is not None:
        epoch, end_offset = partition.diverging_epoch
        fields["diverging_epoch"] = {"epoch": epoch, "end_offset": end_offset}
    if partition.current_leader is not None:
        leader_id, leader_epoch = partition.current_leader
        fields["current_leader"] = {"leader_id": leader_id, "leader_epoch": leader_epoch}
    return fields


@given(
    version=st.sampled_from(VERSIONS),
    correlation_id=i32s,
    topics=topics,
    throttle_time_ms=i32s,
    error_code=st.sampled_from([code.value for code in ErrorCode]),
    endpoints=endpoints,
    session_id=i32s,
    bite=st.integers(1, 10_000),
)
def test_by_hand_as_by_kio(
    version: int,
    correlation_id: int,
    topics: list[Topic],
    throttle_time_ms: int,
    error_code: int,
    endpoints: list[NodeEndpoint],
    session_id: int,
    bite: int,
) -> None:
    fields = {
        "throttle_time": timedelta(milliseconds=throttle_time_ms),
        "error_code": ErrorCode(error_code),
        "session_id": session_id,
        "responses": [
            {
                "topic": topic.name,
                "topic_id": UUID(bytes=topic.topic_id),
                "partitions": [values(p) for p in topic.partitions],
            }
            for topic in topics
        ],
        "node_endpoints": [endpoint._asdict() for endpoint in endpoints],
    }
    expected = encode_response(build(response_type(1, version), fields), correlation_id)
    frame = by_hand(version, correlation_id, topics, throttle_time_ms, error_code, endpoints, session_id)
    assert (len(frame), frame.left) == (len(expected), len(expected))
    pieces = []
    while frame.left:
        pieces.append(b"".join(frame.take(bite)))
        assert len(pieces[-1]) == bite or not frame.left
    assert b"".join(pieces) == expected
    assert frame.take(bite) == []
    assert decode_response(1, version, expected[4:])[0] == correlation_id


def test_what_is_large_is_not_copied() -> None:
    records = Pieces([Kept(bytes(100_000))])
    frame = by_hand(12, 1, [Topic("t", bytes(16), [PartitionFetchResponse(0, 0, records=records)])], 0, 0, ())
    parts = frame.take(frame.left)
    assert sum(len(part) for part in parts if isinstance(part, bytes)) < 51_000
    assert any(isinstance(part, memoryview) and len(part) == 50_000 for part in parts)


@pytest.mark.parametrize("version", [3, 19])
def test_other_versions_are_refused(version: int) -> None:
    with pytest.raises(ValueError, match="versions 4 to 18"):
        FetchResponseWriter(version, 1, 0)
