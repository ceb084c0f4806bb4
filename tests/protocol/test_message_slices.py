"""Messages read and written in slices are what they are in one go, and one request makes a bounded number of
objects."""

from __future__ import annotations

import tracemalloc
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.index import api_key_map
from support.message_strategies import damaged, damages, messages, without_none
from support.slices import count_slices

from fakebroker.protocol.build import Each, build, build_lazily
from fakebroker.protocol.codec import decoder, encoder, long_reading
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.messages import (
    decode_request,
    decode_request_in_slices,
    encode_request,
    encode_response,
    encode_response_in_slices,
    request_type,
    response_type,
    versions,
)
from fakebroker.protocol.slices import finish

MANY = 1_000_000
EVERY_VERSION = [(api_key, version) for api_key in api_key_map for version in versions(api_key)]
METADATA, SYNC_GROUP = 3, 14


@pytest.fixture(params=[(1, 524_288), (3, 524_288), (128, 10)])
def tiny_runs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set short runs, so that small messages are split in every way: by elements, and by bytes."""
    run, large_bytes = request.param
    monkeypatch.setattr(decoder, "RUN", run)
    monkeypatch.setattr(long_reading, "RUN", run)
    monkeypatch.setattr(decoder, "LARGE_BYTES", large_bytes)
    monkeypatch.setattr(encoder, "RUN", run // 2)


def read_whole(api_key: int, version: int, body: bytes) -> Any:
    try:
        return decode_request(api_key, version, body, 0)
    except ProtocolError as error:
        return error


def read_in_slices(api_key: int, version: int, body: bytes, max_elements: int = MANY) -> Any:
    try:
        return finish(decode_request_in_slices(api_key, version, body, 0, max_elements))
    except ProtocolError as error:
        return error


def body_of(request: Any) -> bytes:
    """Return the bytes of the body, without the frame's length and header."""
    empty = encode_request(request, 1, None)
    kind = type(request)
    return empty[4 + 10 + bool(kind.__flexible__) :]


@pytest.mark.usefixtures("tiny_runs")
@given(data=st.data(), api=st.sampled_from(EVERY_VERSION))
def test_a_request_read_in_slices_is_the_same(data: st.DataObject, api: tuple[int, int]) -> None:
    body = body_of(data.draw(messages(request_type(*api)))) + data.draw(st.binary(max_size=3))
    assert read_in_slices(*api, body) == read_whole(*api, body)


@pytest.mark.usefixtures("tiny_runs")
@given(data=st.data(), api=st.sampled_from(EVERY_VERSION), places=damages)
def test_a_damaged_request_fails_alike(data: st.DataObject, api: tuple[int, int], places: Any) -> None:
    body = damaged(body_of(data.draw(messages(request_type(*api)))), places)
    whole, in_slices = read_whole(*api, body), read_in_slices(*api, body)
    if isinstance(whole, ProtocolError):
        assert isinstance(in_slices, ProtocolError)
    else:
        assert in_slices == whole


@pytest.mark.usefixtures("tiny_runs")
@given(data=st.data(), api=st.sampled_from(EVERY_VERSION), correlation_id=st.integers(0, 2**31 - 1))
def test_a_response_written_in_slices_is_the_same(
    data: st.DataObject, api: tuple[int, int], correlation_id: int
) -> None:
    response = data.draw(messages(response_type(*api)))
    encoded = encode_response(response, correlation_id)
    assert finish(encode_response_in_slices(response, correlation_id)) == encoded
    assert finish(encode_response_in_slices(_lazy(response), correlation_id)) == encoded


def test_large_elements_are_read_one_in_a_slice() -> None:
    """However few they are: what is allocated in a slice is one of them."""
    large = b"x" * 1_048_576
    kind = request_type(SYNC_GROUP, 3)
    values = {
        "group_id": "g",
        "generation_id": 1,
        "member_id": "m",
        "group_instance_id": None,
        "assignments": [{"member_id": f"m{number}", "assignment": large} for number in range(8)],
    }
    body = body_of(build(kind, values))
    slices = decode_request_in_slices(SYNC_GROUP, 3, body, 0, MANY)
    request, most = None, 0
    tracemalloc.start()
    try:
        while request is None:
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            try:
                next(slices)
            except StopIteration as end:
                request = end.value
            most = max(most, tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    assert [assignment.assignment for assignment in request.assignments] == [large] * 8
    assert most < 1.5 * len(large)


def _lazy(struct: Any) -> Any:
    """Return the struct with each of its arrays of structs built lazily."""
    arrays = {}
    for field in fields(struct):
        items = getattr(struct, field.name)
        kind, _ = without_none(field.type)
        if items and "tag" not in field.metadata and get_origin(kind) is tuple and "kafka_type" not in field.metadata:
            assert hasattr(get_args(kind)[0], "__version__")
            arrays[field.name] = Each(_lazy, items)
    return replace(struct, **arrays)


def test_a_large_answer_is_built_and_written_element_by_element() -> None:
    made = 0

    def topic(number: int) -> dict[str, Any]:
        nonlocal made
        made += 1
        return {
            "error_code": ErrorCode.none,
            "name": f"t{number}",
            "topic_id": None,
            "is_internal": False,
            "partitions": Each(partition, range(number % 100)),
        }

    def partition(number: int) -> dict[str, Any]:
        return {
            "error_code": ErrorCode.none,
            "partition_index": number,
            "leader_id": 1,
            "leader_epoch": 0,
            "replica_nodes": (1, 2),
            "isr_nodes": (1,),
            "offline_replicas": (),
        }

    values = {
        "throttle_time": timedelta(0),
        "brokers": (),
        "cluster_id": None,
        "controller_id": 1,
        "topics": Each(topic, range(200)),
        "error_code": ErrorCode.none,
    }
    for version in (0, 8, 13):
        kind = response_type(METADATA, version)
        whole = encode_response(build(kind, values), 7)
        made = 0
        lazily = build_lazily(kind, values)
        assert made == 0
        slices = encode_response_in_slices(lazily, 7)
        next(slices)
        assert made < 50
        encoded, count = count_slices(slices)
        assert encoded == whole
        assert count > 200
