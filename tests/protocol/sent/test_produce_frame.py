"""A client's Produce frame is the one that kio writes, byte for byte, in every version."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.build import build
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.messages import encode_request, request_type, versions
from fakebroker.protocol.sent.produce_frame import NEWEST, OLDEST, PRODUCE, TopicData, by_topic, encode_produce_request

INT32 = st.integers(-(2**31), 2**31 - 1)
TEXT = st.text("abcz.-_é", max_size=140)
PARTITIONS = st.lists(st.tuples(INT32, st.none() | st.binary(max_size=300)), max_size=3)
TIMEOUTS = st.integers(0, 2**31 - 1)


def by_kio(
    version: int,
    number: int,
    client_id: str | None,
    acks: int,
    timeout_ms: int,
    topics: list[TopicData],
    transactional_id: str | None,
) -> bytes:
    data = [
        {
            "topic_id" if isinstance(topic, UUID) else "name": topic,
            "partition_data": [{"index": index, "records": records} for index, records in partitions],
        }
        for topic, partitions in topics
    ]
    values = {
        "transactional_id": transactional_id,
        "acks": acks,
        "timeout": timedelta(milliseconds=timeout_ms),
        "topic_data": data,
    }
    return encode_request(build(request_type(PRODUCE, version), values), number, client_id)


@given(
    st.integers(OLDEST, NEWEST),
    INT32,
    st.none() | TEXT,
    st.sampled_from([-1, 0, 1, 7]),
    TIMEOUTS,
    st.data(),
    st.none() | TEXT,
)
def test_every_version(
    version: int,
    number: int,
    client_id: str | None,
    acks: int,
    timeout_ms: int,
    data: st.DataObject,
    transactional_id: str | None,
) -> None:
    names: st.SearchStrategy[str | UUID] = st.uuids() if version == NEWEST else TEXT
    topics: list[TopicData] = data.draw(st.lists(st.tuples(names, PARTITIONS), max_size=3))
    arguments = (version, number, client_id, acks, timeout_ms, topics, transactional_id)
    assert encode_produce_request(*arguments) == by_kio(*arguments)


def test_it_knows_the_versions_that_there_are() -> None:
    assert range(OLDEST, NEWEST + 1) == versions(PRODUCE)
    for version in (OLDEST - 1, NEWEST + 1):
        with pytest.raises(ProtocolError, match=f"Produce has versions 3 to 13, and not {version}"):
            encode_produce_request(version, 1, None, 1, 1, [])


def test_a_topic_has_a_name_or_an_id() -> None:
    with pytest.raises(ProtocolError, match="Produce v13 has ids of topics"):
        encode_produce_request(13, 1, None, 1, 1, [("t", ())])
    with pytest.raises(ProtocolError, match="Produce v12 has names of topics"):
        encode_produce_request(12, 1, None, 1, 1, [(UUID(int=1), ())])


def test_by_topic() -> None:
    assert by_topic([(("b", 1), b"x"), (("a", 0), None), (("b", 0), b"y")]) == [
        ("b", [(1, b"x"), (0, b"y")]),
        ("a", [(0, None)]),
    ]
