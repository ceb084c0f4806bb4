"""The Produce response three ways: by hand, by kio, by the declaration. All versions, byte for byte."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protocol_strategies import (
    PRODUCE_VERSIONS,
    ProduceResponse,
    i32s,
    i64s,
    plain,
    produce_responses,
    response_as_declared,
    response_as_kio,
)
from support.slices import count_slices

from fakebroker.protocol.declarations import frame, produce_response, response_header
from fakebroker.protocol.messages import decode_response, encode_response
from fakebroker.protocol.produce_response import (
    PartitionProduceResponse,
    TopicProduceResponse,
    encode_appended,
    encode_produce_response,
    encode_produce_response_in_slices,
)
from fakebroker.protocol.slices import finish

DECLARATIONS = {
    version: frame(response_header(1 if version >= 9 else 0), produce_response(version)) for version in PRODUCE_VERSIONS
}


def by_hand(version: int, correlation_id: int, response: ProduceResponse) -> bytes:
    return encode_produce_response(
        version, correlation_id, response.topics, response.throttle_time_ms, response.node_endpoints
    )


def header_as_declared(version: int, correlation_id: int) -> dict[str, object]:
    return (
        {"correlation_id": correlation_id, "tagged_fields": []} if version >= 9 else {"correlation_id": correlation_id}
    )


@given(version=st.sampled_from(PRODUCE_VERSIONS), correlation_id=i32s, response=produce_responses)
def test_three_encoders_agree(version: int, correlation_id: int, response: ProduceResponse) -> None:
    encoded = by_hand(version, correlation_id, response)
    assert encoded == encode_response(response_as_kio(version, response), correlation_id)
    in_slices = encode_produce_response_in_slices(
        version, correlation_id, response.topics, response.throttle_time_ms, response.node_endpoints
    )
    assert encoded == finish(in_slices)
    assert encoded == DECLARATIONS[version].build(
        {"header": header_as_declared(version, correlation_id), "body": response_as_declared(version, response)}
    )


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
@pytest.mark.parametrize(("topics", "partitions"), [(1, 3_000), (3_000, 1), (3, 1_000), (5_000, 0)])
def test_many_partitions_are_written_in_slices(version: int, topics: int, partitions: int) -> None:
    partition_responses = tuple(
        PartitionProduceResponse(index, 3, -1, error_message="no") for index in range(partitions)
    )
    response = [TopicProduceResponse(f"t{number}", None, partition_responses) for number in range(topics)]
    encoded, count = count_slices(encode_produce_response_in_slices(version, 7, response))
    assert encoded == encode_produce_response(version, 7, response)
    assert count >= 5


@given(version=st.sampled_from(PRODUCE_VERSIONS), correlation_id=i32s, response=produce_responses)
def test_two_decoders_find_what_was_written(version: int, correlation_id: int, response: ProduceResponse) -> None:
    encoded = by_hand(version, correlation_id, response)
    assert decode_response(0, version, encoded[4:]) == (correlation_id, response_as_kio(version, response))
    parsed = DECLARATIONS[version].parse(encoded)
    assert plain(parsed.header) == header_as_declared(version, correlation_id)
    assert plain(parsed.body) == response_as_declared(version, response)


@given(
    version=st.sampled_from(PRODUCE_VERSIONS),
    correlation_id=i32s,
    topic=st.text(max_size=130),
    topic_id=st.none() | st.uuids(),
    index=i32s,
    offsets=st.tuples(i64s, i64s, i64s),
    throttle_time_ms=i32s,
)
def test_one_appended_partition_is_written_as_any_other(
    version: int,
    correlation_id: int,
    topic: str,
    topic_id: UUID | None,
    index: int,
    offsets: tuple[int, int, int],
    throttle_time_ms: int,
) -> None:
    partition = PartitionProduceResponse(index, 0, *offsets)
    topics = (TopicProduceResponse(topic, topic_id, (partition,)),)
    written = encode_appended(version, correlation_id, topic, topic_id, partition, throttle_time_ms)
    assert written == encode_produce_response(version, correlation_id, topics, throttle_time_ms)


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_an_error_code_kafka_does_not_have_can_be_written(version: int) -> None:
    topics = (TopicProduceResponse("t", None, (PartitionProduceResponse(0, 999, -1),)),)
    parsed = DECLARATIONS[version].parse(encode_produce_response(version, 1, topics))
    assert parsed.body.responses[0].partition_responses[0].error_code == 999


@pytest.mark.parametrize("version", [-1, 0, 2, 14])
def test_other_versions_are_refused(version: int) -> None:
    with pytest.raises(ValueError, match=f"not {version}"):
        encode_produce_response(version, 1, ())
