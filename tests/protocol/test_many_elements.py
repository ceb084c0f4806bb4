"""Requests of very many tiny elements: read in many slices, refused above the limit, in little memory either way."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from support import doses
from support.slices import count_slices

from fakebroker.protocol.codec.decoder import RUN
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.messages import decode_request, decode_request_in_slices
from fakebroker.protocol.slices import finish
from fakebroker.protocol.varint import encode_unsigned_varint

MANY = 1_000_000
METADATA, FETCH, CREATE_TOPICS, OFFSET_FETCH, DELETE_TOPICS = 3, 1, 19, 9, 20


def whole(api_key: int, version: int, body: bytes) -> Any:
    try:
        return decode_request(api_key, version, body, 0)
    except ProtocolError as error:
        return error


def in_slices(api_key: int, version: int, body: bytes, max_elements: int = MANY) -> Any:
    try:
        return finish(decode_request_in_slices(api_key, version, body, 0, max_elements))
    except ProtocolError as error:
        return error


NAMES = 20_000


def compact(count: int) -> bytes:
    return encode_unsigned_varint(count + 1)


def four(count: int) -> bytes:
    return count.to_bytes(4, "big")


FETCH_V11 = b"\xff\xff\xff\xff" + bytes(4 + 4 + 4 + 1 + 4 + 4)

# By what there are so many of: the API, its version, and the body.
LARGE: dict[str, tuple[int, int, Callable[[int], bytes]]] = {
    "topics without names": (METADATA, 1, lambda count: four(count) + bytes(2 * count)),
    "topics, compact": (
        METADATA,
        12,
        lambda count: compact(count) + b"".join(bytes(16) + b"\x09%08d\0" % i for i in range(count)) + b"\1\0\0",
    ),
    "topics to be put right": (
        METADATA,
        12,
        lambda count: compact(count) + (bytes(16) + b"\3\xffx\1\5\0") * count + b"\2\0\0",
    ),
    "partitions of one topic": (
        FETCH,
        11,
        lambda count: FETCH_V11 + four(1) + b"\0\1t" + four(count) + bytes(28 * count) + bytes(6),
    ),
    "topics of one partition": (
        FETCH,
        11,
        lambda count: FETCH_V11 + four(count) + (b"\0\1t" + four(1) + bytes(28)) * count + bytes(6),
    ),
    "settings of one topic": (
        CREATE_TOPICS,
        2,
        lambda count: four(1) + b"\0\1t" + bytes(10) + four(count) + b"\0\1a\0\0" * count + bytes(5),
    ),
    "brokers of one partition": (
        CREATE_TOPICS,
        2,
        lambda count: (
            four(1) + b"\0\1t" + bytes(6) + four(1) + four(0) + four(count) + bytes(4 * count) + four(0) + bytes(5)
        ),
    ),
    "indexes of one topic": (
        OFFSET_FETCH,
        1,
        lambda count: b"\0\1g" + four(1) + b"\0\1t" + four(count) + bytes(4 * count),
    ),
    "names of topics to be deleted": (DELETE_TOPICS, 1, lambda count: four(count) + b"\0\1t" * count + bytes(4)),
    "tagged fields": (METADATA, 12, lambda count: b"\1\1\0" + encode_unsigned_varint(count) + b"\5\0" * count),
    "tagged fields of one topic": (
        METADATA,
        12,
        lambda count: compact(1) + bytes(16) + b"\2t" + encode_unsigned_varint(count) + b"\5\1x" * count + b"\1\0\0",
    ),
}


@pytest.mark.parametrize("what", LARGE)
def test_many_of_anything_are_in_slices(what: str) -> None:
    api_key, version, body_with = LARGE[what]
    body = body_with(5_000)
    read, count = count_slices(decode_request_in_slices(api_key, version, body, 0, MANY))
    assert read == decode_request(api_key, version, body, 0)
    assert count >= 5_000 // RUN


@pytest.mark.parametrize("what", LARGE)
def test_more_of_anything_than_the_limit_are_refused_before_any_is_made(what: str) -> None:
    api_key, version, body_with = LARGE[what]
    body = body_with(NAMES)
    tracemalloc.start()
    try:
        refused = in_slices(api_key, version, body, NAMES - 1)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "elements or more (of arrays, and tagged fields), and one request may have 19999." in str(refused)
    assert peak_bytes < 300_000
    enough = 4 * NAMES
    assert not isinstance(in_slices(api_key, version, body, enough), ProtocolError)


def test_eighty_megabytes_are_refused_by_their_first_bytes() -> None:
    count = 8_000_000
    body = four(count) + bytes(10 * count)
    tracemalloc.start()
    try:
        slices = decode_request_in_slices(METADATA, 1, body, 0, 250_000)
        with pytest.raises(ProtocolError, match="it has 8000000 elements or more"):
            next(slices)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 100_000


@pytest.mark.parametrize("what", doses.nightly_but(list(LARGE)[::2], LARGE))
def test_what_is_read_takes_little_more_than_what_comes_of_it(what: str) -> None:
    api_key, version, body_with = LARGE[what]
    count = doses.count(8_000, NAMES)  # the bounds are those of one element
    body = body_with(count)
    tracemalloc.start()
    try:
        read = in_slices(api_key, version, body)
        kept_bytes, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert read is not None
    assert kept_bytes < 300 * count
    assert peak_bytes < kept_bytes + 60 * count


def test_tagged_fields_that_are_known_come_again_a_few_times_only() -> None:
    """Fetch v12: tag 0 is the cluster's id. Each is read, and the last one counts."""
    start = bytes(4) + bytes(4 + 4 + 4 + 1 + 4 + 4) + b"\1\1\1"
    for count in (3, 1_000):
        body = start + encode_unsigned_varint(count) + b"\0\2\2a" * (count - 1) + b"\0\2\2b"
        assert whole(FETCH, 12, body).cluster_id == "b"
        assert in_slices(FETCH, 12, body) == whole(FETCH, 12, body)
    body = start + encode_unsigned_varint(1_001) + b"\0\2\2a" * 1_001
    assert "a section has 1001 tagged fields that are known" in str(whole(FETCH, 12, body))
    assert "a section has 1001 tagged fields that are known" in str(in_slices(FETCH, 12, body))
