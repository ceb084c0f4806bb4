"""Reading a Produce response by hand gives the same as kio; unusual ones are left to kio."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.messages import decode_response
from fakebroker.protocol.produce_response import (
    PartitionProduceResponse,
    TopicProduceResponse,
    encode_produce_response,
)
from fakebroker.protocol.sent.produce_answer import AnsweredPartition, PlainAnswer, read_plain_answer

PRODUCE_VERSIONS = list(range(3, 14))
i32s, i64s = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
UUIDS = st.integers(0, 2**128 - 1).map(lambda number: UUID(int=number))
TIMES = st.sampled_from([-1, 0, 1, 1_700_000_000_000])
CODES = st.sampled_from([int(code) for code in ErrorCode])
NAMES = st.text("abcz.-_é", min_size=1, max_size=60)
PARTITIONS = st.builds(PartitionProduceResponse, i32s, CODES, i64s, TIMES, i64s)
TOPICS = st.lists(
    st.builds(
        TopicProduceResponse,
        NAMES,
        UUIDS,
        st.lists(PARTITIONS, max_size=4).map(tuple),
    ),
    max_size=4,
)
UNUSUAL = st.builds(
    PartitionProduceResponse,
    i32s,
    CODES,
    i64s,
    TIMES,
    i64s,
    st.lists(st.tuples(i32s, st.none() | NAMES), max_size=2).map(tuple),
    st.none() | NAMES,
    st.none() | st.tuples(i32s, i32s),
)


def written(version: int, correlation_id: int, topics: list[TopicProduceResponse], throttle_ms: int = 0) -> bytes:
    return encode_produce_response(version, correlation_id, topics, throttle_ms)[4:]


def read(frame: bytes, version: int) -> PlainAnswer:
    answer = read_plain_answer(frame, version)
    assert answer is not None
    return answer


Values = tuple[int, list[tuple[str | bytes, int, int, int]], int]


def values_of(answer: PlainAnswer) -> Values:
    partitions = [(one.topic, one.partition, one.error_code, one.base_offset) for one in answer.partitions]
    return answer.correlation_id, partitions, answer.throttle_ms


def by_kio(version: int, frame: bytes) -> PlainAnswer:
    correlation_id, answer = decode_response(0, version, frame)
    response: Any = answer
    partitions_ = []
    for topic in response.responses:
        name = topic.name if version < 13 else (topic.topic_id or UUID(int=0)).bytes
        for one in topic.partition_responses:
            partitions_.append(AnsweredPartition(name, int(one.index), int(one.error_code), int(one.base_offset)))
    return PlainAnswer(correlation_id, partitions_, round(response.throttle_time.total_seconds() * 1_000))


@given(st.sampled_from(PRODUCE_VERSIONS), i32s, TOPICS, st.integers(0, 2**31 - 1))
def test_the_usual_answer_of_every_version_is_read(
    version: int, correlation_id: int, topics: list[TopicProduceResponse], throttle_ms: int
) -> None:
    frame = written(version, correlation_id, topics, throttle_ms)
    assert values_of(read(frame, version)) == values_of(by_kio(version, frame))


@given(st.sampled_from(PRODUCE_VERSIONS), i32s, st.lists(UNUSUAL, max_size=3), UUIDS)
def test_an_unusual_one_is_left_to_kio_or_read_as_kio_does(
    version: int, correlation_id: int, partitions: list[PartitionProduceResponse], topic_id: UUID
) -> None:
    frame = written(version, correlation_id, [TopicProduceResponse("t", topic_id, tuple(partitions))])
    answer = read_plain_answer(frame, version)
    assert answer is None or values_of(answer) == values_of(by_kio(version, frame))


@given(st.sampled_from(PRODUCE_VERSIONS), TOPICS, st.data())
def test_what_is_cut_or_changed_is_never_read_otherwise(
    version: int, topics: list[TopicProduceResponse], data: st.DataObject
) -> None:
    frame = bytearray(written(version, 7, topics))
    at = data.draw(st.integers(0, len(frame) - 1))
    if data.draw(st.booleans()):
        del frame[at:]
    else:
        frame[at] ^= data.draw(st.integers(1, 255))
    answer = read_plain_answer(bytes(frame), version)
    if answer is not None:
        assert values_of(answer) == values_of(by_kio(version, bytes(frame)))


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
@pytest.mark.parametrize(
    ("topics", "partitions", "size"), [(1, 127, 10), (127, 1, 10), (1, 1, 127)], ids=["partitions", "topics", "name"]
)
def test_what_takes_more_than_a_byte_is_left_to_kio(version: int, topics: int, partitions: int, size: int) -> None:
    partition_responses = tuple(PartitionProduceResponse(index, 0, 5) for index in range(partitions))
    topic_responses = [
        TopicProduceResponse("t" * size, UUID(int=number), partition_responses) for number in range(topics)
    ]
    frame = written(version, 7, topic_responses)
    answer = read_plain_answer(frame, version)
    assert answer is None or values_of(answer) == values_of(by_kio(version, frame))


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_errors_of_records_and_messages_are_left_to_kio(version: int) -> None:
    if version < 8:
        return  # has none
    for one in (
        PartitionProduceResponse(0, 87, -1, record_errors=((3, None),)),
        PartitionProduceResponse(0, 87, -1, error_message="no"),
    ):
        assert read_plain_answer(written(version, 7, [TopicProduceResponse("t", None, (one,))]), version) is None


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_an_unknown_error_is_left_to_kio(version: int) -> None:
    topic_responses = [TopicProduceResponse("t", None, (PartitionProduceResponse(0, 9_999, -1),))]
    frame = written(version, 7, topic_responses)
    assert read_plain_answer(frame, version) is None
    with pytest.raises(ProtocolError):
        decode_response(0, version, frame)
