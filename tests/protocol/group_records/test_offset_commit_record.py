"""Committed offsets as records."""

from __future__ import annotations

from struct import pack
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.group_records.decode import decode_record
from fakebroker.protocol.group_records.offset_commit import VALUE, OffsetCommitKey, OffsetCommitValue

KEY = OffsetCommitKey("g", "tt", 3)
TOPIC_ID = UUID(int=1)


def test_the_key() -> None:
    assert KEY.encode() == b"\0\1" + b"\0\1g" + b"\0\2tt" + b"\0\0\0\3"


def test_the_value() -> None:
    value = OffsetCommitValue(5, 2, "md", 1_000, topic_id=TOPIC_ID)
    assert value.encode() == b"\0\4" + pack(">qi", 5, 2) + b"\3md" + pack(">q", 1_000) + b"\1\0\x10" + TOPIC_ID.bytes


def test_without_a_topic_id_nothing_is_tagged() -> None:
    assert (
        OffsetCommitValue(5, -1, "", 1_000).encode() == b"\0\4" + pack(">qi", 5, -1) + b"\1" + pack(">q", 1_000) + b"\0"
    )


def test_a_time_of_expiry_is_of_version_1() -> None:
    value = OffsetCommitValue(5, 2, "md", 1_000, 2_000, TOPIC_ID)
    assert value.encode() == b"\0\1" + pack(">q", 5) + b"\0\2md" + pack(">qq", 1_000, 2_000)


@given(
    st.integers(0, 4),
    st.builds(
        OffsetCommitValue,
        st.integers(0, 1 << 62),
        st.integers(-1, 1 << 30),
        st.text(max_size=200),
        st.integers(0, 1 << 62),
        st.integers(-1, 1 << 62),
        st.uuids(),
    ),
)
def test_what_a_version_has_comes_back(version: int, value: OffsetCommitValue) -> None:
    key, decoded = decode_record(KEY.encode(), VALUE.encode_value(value, version))  # type: ignore[misc]
    assert key == KEY
    assert decoded == OffsetCommitValue(
        value.offset,
        value.leader_epoch if version >= 3 else -1,
        value.metadata,
        value.commit_timestamp_ms,
        value.expire_timestamp_ms if version == 1 else -1,
        value.topic_id if version == 4 else UUID(int=0),
    )


def test_what_kafka_wrote_before_0_9() -> None:
    key = b"\0\0" + KEY.encode()[2:]
    assert decode_record(key, b"\0\0" + pack(">q", 5) + b"\0\2md" + pack(">q", 1_000)) == (
        KEY,
        OffsetCommitValue(5, -1, "md", 1_000),
    )


def test_a_tombstone() -> None:
    assert decode_record(KEY.encode(), None) == (KEY, None)


def test_unknown_kinds_are_nothing() -> None:
    assert decode_record(b"\x7f\0g", b"\0\0") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"\0", None),
        (KEY.encode()[:-1], None),
        (b"\0\1\x7f\xffg", None),
        (KEY.encode(), b""),
        (KEY.encode(), b"\0\5"),
        (KEY.encode(), b"\xff\xff"),
        (KEY.encode(), b"\0\4"),
    ],
)
def test_nonsense_is_an_error(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(InvalidRecordError):
        decode_record(key, value)
