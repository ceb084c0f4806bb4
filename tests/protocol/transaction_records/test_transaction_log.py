"""Records of __transaction_state, as bytes (TransactionLogValue.json)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.transaction_records.transaction_log import (
    TransactionLogKey,
    TransactionLogValue,
    TransactionPartitions,
    decode_record,
    encode_key,
    encode_value,
)

BEGUN = TransactionLogValue(5, 3, 60_000, 1, (TransactionPartitions("t", (0, 2)),), 17, 16)


def test_version_0() -> None:
    assert BEGUN.encode(0).hex(" ", 4) == bytes.fromhex(
        "0000" "0000000000000005" "0003" "0000ea60" "01"
        "00000001" "000174" "00000002" "00000000" "00000002"
        "0000000000000011" "0000000000000010"
    ).hex(" ", 4)  # fmt: skip


def test_version_1() -> None:
    value = TransactionLogValue(5, 3, 60_000, 0, None, 17, -1, previous_producer_id=4, client_transaction_version=2)
    assert value.encode(1).hex() == (
        "0001" "0000000000000005" "0003" "0000ea60" "00" "00" "0000000000000011" "ffffffffffffffff"
        "02" "0008" "0000000000000004" "0202" "0002"
    )  # fmt: skip


def test_the_key() -> None:
    assert TransactionLogKey("tx").encode().hex() == "0000" "0002" "7478"  # fmt: skip


values = st.builds(
    TransactionLogValue,
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**15 - 1),
    st.integers(0, 2**31 - 1),
    st.integers(0, 7),
    st.none()
    | st.lists(
        st.builds(TransactionPartitions, st.text(max_size=5), st.lists(st.integers(0, 9), max_size=3).map(tuple)),
        max_size=3,
    ).map(tuple),
    st.integers(-1, 2**63 - 1),
    st.integers(-1, 2**63 - 1),
    st.integers(-1, 2**63 - 1),
    st.integers(-1, 2**63 - 1),
    st.integers(0, 2),
)


@given(values)
def test_what_is_written_is_read(value: TransactionLogValue) -> None:
    assert decode_record(TransactionLogKey("tx").encode(), value.encode(1)) == ("tx", value)


@given(values, st.integers(0, 1))
def test_by_hand_it_is_the_same(value: TransactionLogValue, version: int) -> None:
    topics = value.transaction_partitions
    assert encode_value(
        version,
        value.producer_id,
        value.producer_epoch,
        value.transaction_timeout_ms,
        value.transaction_status,
        None if topics is None else [(topic.topic, topic.partition_ids) for topic in topics],
        value.transaction_last_update_timestamp_ms,
        value.transaction_start_timestamp_ms,
        value.previous_producer_id,
        value.next_producer_id,
        value.client_transaction_version,
    ) == value.encode(version)


@given(st.text())
def test_the_key_by_hand(transactional_id: str) -> None:
    assert encode_key(transactional_id) == TransactionLogKey(transactional_id).encode()


def test_a_tombstone() -> None:
    assert decode_record(TransactionLogKey("tx").encode(), None) == ("tx", None)


def test_another_kind() -> None:
    assert decode_record(b"\0\1\0\0", b"") is None


@pytest.mark.parametrize(
    ("key", "value"), [(None, b""), (b"\0", b""), (b"\0\0\0\2tx", b"\0\2"), (b"\0\0\0\2tx", b"\0\0\1")]
)
def test_what_cannot_be_read(key: bytes | None, value: bytes) -> None:
    with pytest.raises(InvalidRecordError):
        decode_record(key, value)
