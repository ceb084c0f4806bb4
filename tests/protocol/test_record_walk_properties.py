"""The record walk against Kafka's iterators written out, against `decode_records`, and against kio."""

from __future__ import annotations

import kafka_records
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka_records import INVALID_RECORD, UNKNOWN, Refused, Seen, iterate
from kio.records.readers import read_batch
from protocol_strategies import records

from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.record_batch import RECORD_BATCH_OVERHEAD, Record, decode_records, encode_batch
from fakebroker.protocol.record_walk import (
    OverlongSizeError,
    record_facts,
    timestamp_range,
    walk_records,
)
from fakebroker.protocol.varint import encode_varint

record_lists = st.lists(records, min_size=1, max_size=5)
timestamps = st.integers(-1, 2**45)


def walked(data: bytes, count: int, base_timestamp_ms: int, full: bool) -> list[Seen] | int:
    """Return the records of the walk, or the error code of the leader."""
    try:
        summary = walk_records(data, 0, count, full)
    except OverlongSizeError:
        return UNKNOWN if full else INVALID_RECORD
    except InvalidRecordError:
        return INVALID_RECORD
    facts = list(record_facts(data, 0, count, base_timestamp_ms))
    assert summary.null_keys == sum(fact.key_size < 0 for fact in facts)
    assert summary.in_order == all(fact.offset_delta == index for index, fact in enumerate(facts))
    range_ = timestamp_range(summary.earliest_delta_ms, summary.latest_delta_ms, base_timestamp_ms)
    if range_ is not None:
        assert range_ == (min(fact.timestamp_ms for fact in facts), max(fact.timestamp_ms for fact in facts))
    return [Seen(fact.timestamp_ms, fact.offset_delta, fact.key_size >= 0) for fact in facts]


def by_kafka(data: bytes, count: int, base_timestamp_ms: int, full: bool) -> list[Seen] | int:
    try:
        return iterate(data, count, base_timestamp_ms, full=full)
    except Refused as refused:
        return refused.code


@given(record_lists, timestamps, st.booleans())
def test_whole_records_are_seen_as_decode_records_and_kio_see_them(
    batch_records: list[Record], base_timestamp_ms: int, full: bool
) -> None:
    batch = encode_batch(batch_records, base_timestamp_ms=base_timestamp_ms)
    count = len(batch_records)
    seen = walked(batch[RECORD_BATCH_OVERHEAD:], count, base_timestamp_ms, full)
    assert seen == [
        (record.timestamp_ms, record.offset_delta, record.key is not None) for record in decode_records(batch)
    ]
    by_kio, _ = read_batch(batch, 0)
    assert [record.key is not None for record in by_kio.records] == [fact.has_key for fact in seen]
    # The walk may begin within a larger buffer.
    assert walk_records(batch, RECORD_BATCH_OVERHEAD, count, full) == walk_records(
        batch[RECORD_BATCH_OVERHEAD:], 0, count, full
    )


@given(record_lists, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.data())
def test_damaged_records_are_seen_as_kafka_sees_them(
    batch_records: list[Record], full: bool, base_timestamp_ms: int, data: st.DataObject
) -> None:
    body = bytearray(encode_batch(batch_records, base_timestamp_ms=0)[RECORD_BATCH_OVERHEAD:])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(body) - 1)) if body else 0
        match data.draw(st.sampled_from(["change", "cut", "insert", "append"])):
            case "change" if body:
                body[place] = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0x81, 0xFF, body[place] ^ 1]))
            case "cut":
                del body[place:]
            case "insert":
                body[place:place] = data.draw(st.binary(min_size=1, max_size=6))
            case _:
                body += data.draw(st.binary(min_size=1, max_size=3))
    count = len(batch_records) + data.draw(st.integers(-1, 1))
    damaged = bytes(body)
    if count > 0:
        assert walked(damaged, count, base_timestamp_ms, full) == by_kafka(damaged, count, base_timestamp_ms, full)


@given(st.binary(max_size=60), st.integers(1, 4), st.booleans())
def test_any_bytes_are_seen_as_kafka_sees_them(data: bytes, count: int, full: bool) -> None:
    assert walked(data, count, 0, full) == by_kafka(data, count, 0, full)


def test_the_oracle_refuses_and_accepts() -> None:
    good = encode_batch([Record(b"k", b"v", (("h", None),))], base_timestamp_ms=7)[RECORD_BATCH_OVERHEAD:]
    assert by_kafka(good, 1, 7, True) == by_kafka(good, 1, 7, False) == [Seen(7, 0, True)]
    assert by_kafka(good[:-1], 1, 7, True) == INVALID_RECORD
    assert kafka_records.as_int(2**63, 64) == -(2**63)


@pytest.mark.parametrize(
    ("name", "body", "full", "skipping"),
    [
        ("whole", "0c 00 00 00 00 01 00", [Seen(0, 0, True)], [Seen(0, 0, True)]),
        ("attributes with undefined bits", "0c 07 00 00 00 01 00", [Seen(0, 0, True)], [Seen(0, 0, True)]),
        ("claims a byte less than it has", "0a 00 00 00 00 01 00", 87, [Seen(0, 0, True)]),
        ("claims a byte more than there is", "0e 00 00 00 00 01 00", 87, [Seen(0, 0, True)]),
        ("claims a negative size", "01 00 00 00 00 01 00", 87, 87),
        ("a size that does not end", "80 80 80 80 80 00 00 00 00 01 00", -1, 87),
        ("no bytes at all", "", 87, 87),
        ("ends before its timestamp", "0c 00", 87, 87),
        ("a timestamp that does not end", "18 00 ff ff ff ff ff ff ff ff ff ff 00 01 01 00", 87, 87),
        ("a key of size -2", "0c 00 00 00 03 01 00", [Seen(0, 0, False)], [Seen(0, 0, False)]),
        ("a key beyond the end", "0c 00 00 00 7e 01 00", 87, 87),
        ("a value beyond the end", "0c 00 00 00 00 7e 00", 87, 87),
        ("-1 headers", "0c 00 00 00 00 01 01", 87, 87),
        ("more headers than bytes", "0c 00 00 00 00 01 06", 87, 87),
        ("a header without a key", "10 00 00 00 00 01 02 01 01", 87, 87),
        ("a header key that is not UTF-8", "12 00 00 00 00 01 02 02 ff 01", [Seen(0, 0, True)], [Seen(0, 0, True)]),
        ("a byte left behind", "0c 00 00 00 00 01 00 00", 87, 87),
        ("offset delta 3", "0c 00 00 06 00 01 00", [Seen(0, 3, True)], [Seen(0, 3, True)]),
        ("an offset delta with bits above 32", "14 00 00 80 80 80 80 70 00 01 00", None, None),
    ],
)
def test_one_record(name: str, body: str, full: list[Seen] | int | None, skipping: list[Seen] | int | None) -> None:
    data = bytes.fromhex(body)
    for mode, expected in ((True, full), (False, skipping)):
        assert walked(data, 1, 0, mode) == by_kafka(data, 1, 0, mode)
        if expected is not None:
            assert walked(data, 1, 0, mode) == expected


def test_timestamps_wrap_around_as_javas_do() -> None:
    body = b"\0" + encode_varint(2**63 - 1) + encode_varint(0) + b"\0\1\0"
    data = encode_varint(len(body)) + body
    summary = walk_records(data, 0, 1, True)
    assert timestamp_range(summary.earliest_delta_ms, summary.latest_delta_ms, 1) is None
    assert next(record_facts(data, 0, 1, 1)).timestamp_ms == -(2**63)


def test_the_error_names_the_record() -> None:
    batch = encode_batch([Record(b"k", b"v")] * 3, base_timestamp_ms=0)
    with pytest.raises(InvalidRecordError, match="end within record 2"):
        walk_records(batch[:-1], RECORD_BATCH_OVERHEAD, 3, True)
    with pytest.raises(InvalidRecordError, match="9 bytes are left"):
        walk_records(batch, RECORD_BATCH_OVERHEAD, 2, True)
