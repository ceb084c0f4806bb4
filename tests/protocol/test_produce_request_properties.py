"""The Produce request two ways, by kio and by the declaration, and the reader by hand against the general one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protocol_strategies import (
    PRODUCE_VERSIONS,
    ProduceRequest,
    blobs,
    i32s,
    plain,
    produce_requests,
    request_as_declared,
    request_as_kio,
    texts,
)

from fakebroker.protocol.declarations import frame, produce_request, request_header
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import decode_request, encode_request
from fakebroker.protocol.produce_reader import ProduceRequest as Read
from fakebroker.protocol.produce_reader import (
    _of_kio,
    read_by_hand,
    read_produce_request,
    read_produce_request_in_slices,
)
from fakebroker.protocol.slices import finish

BODIES = {version: produce_request(version) for version in PRODUCE_VERSIONS}
FRAMES = {version: frame(request_header(2 if version >= 9 else 1), BODIES[version]) for version in PRODUCE_VERSIONS}

versions = st.sampled_from(PRODUCE_VERSIONS)
client_ids = st.none() | texts
unknown_tags = st.lists(
    st.builds(lambda number, value: {"tag": number, "value": value}, st.integers(0, 2**32 - 1), blobs),
    max_size=2,
    unique_by=lambda field: field["tag"],
).map(tuple)


def header_as_declared(version: int, correlation_id: int, client_id: str | None) -> dict[str, object]:
    header: dict[str, object] = {
        "api_key": 0,
        "api_version": version,
        "correlation_id": correlation_id,
        "client_id": client_id,
    }
    return {**header, "tagged_fields": []} if version >= 9 else header


@given(version=versions, correlation_id=i32s, client_id=client_ids, request=produce_requests)
def test_kio_and_the_declaration_agree(
    version: int, correlation_id: int, client_id: str | None, request: ProduceRequest
) -> None:
    header = header_as_declared(version, correlation_id, client_id)
    body = request_as_declared(version, request)
    encoded = encode_request(request_as_kio(version, request), correlation_id, client_id)
    assert encoded == FRAMES[version].build({"header": header, "body": body})
    parsed = FRAMES[version].parse(encoded)
    assert (plain(parsed.header), plain(parsed.body)) == (header, body)


@given(version=versions, correlation_id=i32s, client_id=client_ids, request=produce_requests, trailing=blobs)
def test_a_request_is_read_as_it_was_written(
    version: int, correlation_id: int, client_id: str | None, request: ProduceRequest, trailing: bytes
) -> None:
    received = (
        FRAMES[version].build(
            {
                "header": header_as_declared(version, correlation_id, client_id),
                "body": request_as_declared(version, request),
            }
        )[4:]
        + trailing
    )
    header = decode_request_header(received, flexible=version >= 9)
    assert (header.api_key, header.api_version) == (0, version)
    assert (header.correlation_id, header.client_id) == (correlation_id, client_id)
    assert decode_request(0, version, received, header.body_offset) == request_as_kio(version, request)


@given(version=st.sampled_from(range(9, 14)), request=produce_requests, tags=unknown_tags)
def test_unknown_tagged_fields_are_skipped(
    version: int, request: ProduceRequest, tags: tuple[dict[str, object], ...]
) -> None:
    received = BODIES[version].build(request_as_declared(version, request, tags))
    assert decode_request(0, version, received, 0) == request_as_kio(version, request)


def fields(request: Read) -> tuple[object, ...]:
    return (
        request.transactional_id,
        request.acks,
        request.timeout_ms,
        [
            (topic.name, topic.topic_id, [(data.index, data.records) for data in topic.partition_data])
            for topic in request.topic_data
        ],
    )


def by_hand(version: int, received: bytes, offset: int) -> object:
    try:
        return fields(read_produce_request(version, received, offset))
    except ProtocolError as problem:
        return str(problem)


def slices(version: int, received: bytes, offset: int) -> object:
    try:
        return fields(finish(read_produce_request_in_slices(version, received, offset, 1_000_000)))
    except ProtocolError as problem:
        return str(problem)


def general(version: int, received: bytes, offset: int) -> object:
    try:
        return fields(finish(_of_kio(version, decode_request(0, version, received, offset))))
    except ProtocolError as problem:
        return str(problem)


@given(
    version=versions,
    request=produce_requests,
    offset=st.integers(0, 3),
    cut=st.integers(0, 400),
    changes=st.lists(st.tuples(st.integers(0, 400), st.sampled_from([0, 1, 2, 127, 128, 255])), max_size=3),
)
def test_the_reader_by_hand_reads_what_the_general_one_reads(
    version: int, request: ProduceRequest, offset: int, cut: int, changes: list[tuple[int, int]]
) -> None:
    received = bytearray(offset) + BODIES[version].build(request_as_declared(version, request))
    for place, value in changes:
        if place < len(received):
            received[place] = value
    received = bytes(received[: offset + cut])
    assert by_hand(version, received, offset) == general(version, received, offset) == slices(version, received, offset)


@given(version=versions, received=st.binary(max_size=60) | st.lists(st.sampled_from([0, 1, 2, 3, 255])).map(bytes))
def test_both_readers_say_the_same_of_any_bytes(version: int, received: bytes) -> None:
    assert by_hand(version, received, 0) == general(version, received, 0) == slices(version, received, 0)


PLAIN = "ffff ffff 00007530"  # no transactional id, acks -1, 30 s
COMPACT = "00 ffff 00007530"


@pytest.mark.parametrize(
    ("version", "body"),
    [
        (3, "fffe ffff 00007530 00000000"),  # a negative length
        (3, PLAIN + "ffffffff"),  # no topics: null
        (3, PLAIN + "fffffffe"),
        (3, PLAIN + "00000001 ffff 00000000"),  # no topic name
        (3, PLAIN + "00000001 fffe 00000000"),
        (3, PLAIN + "00000001 0001 74 ffffffff"),  # no partitions: null
        (3, PLAIN + "00000001 0001 74 00000080" + 128 * "00000000 00000000"),  # many partitions
        (3, PLAIN + "00000001 0001 74 00000001 00000000 ffffffff"),  # no records
        (3, PLAIN + "00000001 0001 74 00000001 00000000 fffffffe"),
        (3, PLAIN + "00000001 0001 74 00000002 00000000 ffffffff 00000000 fffffffe"),  # a slip of one byte shows
        (9, COMPACT + "00 00"),
        (9, COMPACT + "0280 00"),
        (9, COMPACT + "02 00 01 00 00"),
        (9, COMPACT + "02 02 74 00 00 00"),
        (9, COMPACT + "02 02 74 8101" + 128 * "00000000 01 00" + "00 00"),
        (9, COMPACT + "02 02 74 02 00000000 00 00 00 00"),
        (9, COMPACT + "02 02 74 02 00000000 00 00 00 01 05 7f"),  # a slip of one byte shows
        (9, COMPACT + "02 02 74 02 00000000 8000 00 00 00"),  # no records, said at length
        (9, COMPACT + "02 02 74 02 00000000 8100 00 00 00"),
        (9, COMPACT + "02 02 74 02 00000000 818000 00 00 00"),
        (9, COMPACT + "02 02 74 02 00000000 01 01 05 00 00 00"),  # tagged fields, at each level
        (9, COMPACT + "02 02 74 02 00000000 01 00 01 05 00 00"),
        (9, COMPACT + "02 02 74 02 00000000 01 00 00 01 05 00"),
        (9, "8101" + 128 * "78" + "ffff 00007530 01 00"),  # a long transactional id
        (9, COMPACT + "02 8101" + 128 * "78" + "01 00 00"),  # a long name
        (13, COMPACT + "02" + 16 * "ab" + "00 00 00"),
        (13, COMPACT + "02" + 16 * "ab" + "02 00000000 01 00 00 00"),
    ],
)
def test_both_readers_say_the_same_where_things_are_out_of_the_ordinary(version: int, body: str) -> None:
    received = bytes.fromhex(body)
    assert by_hand(version, received, 0) == general(version, received, 0) == slices(version, received, 0)


@given(version=versions, request=produce_requests, trailing=blobs)
def test_ordinary_requests_are_read_by_hand(version: int, request: ProduceRequest, trailing: bytes) -> None:
    request = request._replace(
        transactional_id=request.transactional_id and request.transactional_id[:20],
        topics=tuple(
            topic._replace(
                name=topic.name[:20] or "t",
                partitions=tuple(
                    partition._replace(records=partition.records or b"") for partition in topic.partitions
                ),
            )
            for topic in request.topics
        ),
    )
    read = read_by_hand(version, BODIES[version].build(request_as_declared(version, request)) + trailing, 0)
    assert read is not None
    assert fields(read) == fields(finish(_of_kio(version, request_as_kio(version, request))))
