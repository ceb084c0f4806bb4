"""The record batch by hand against the declaration, and what a broker may rely on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.records.readers import read_batch
from protocol_strategies import i16s, i32s, i64s, plain, records

from fakebroker.core.log.log import LoggedBatch
from fakebroker.protocol.declarations import RECORD_BATCH
from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.record_batch import (
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    BatchHeader,
    Record,
    compute_crc,
    decode_records,
    encode_batch,
    encode_single,
    is_crc_valid,
    read_batch_header,
)

timestamps = st.integers(0, 2**42)
record_lists = st.lists(records, max_size=4)
headers = st.fixed_dictionaries(
    {
        "base_offset": i64s,
        "partition_leader_epoch": i32s,
        "attributes": i16s.map(lambda bits: bits & ~0b1111),  # no codec; create time
        "last_offset_delta": i32s,
        "base_timestamp_ms": timestamps,
        "max_timestamp_ms": i64s,
        "producer_id": i64s,
        "producer_epoch": i16s,
        "base_sequence": i32s,
    }
)


def timestamp_ms(record: Record) -> int:
    assert record.timestamp_ms is not None
    return record.timestamp_ms


def as_declared(values: dict[str, int], batch_records: list[Record]) -> dict[str, Any]:
    bits = values["attributes"] & 0xFFFF
    covered = {
        "attributes": {
            "unused": bits >> 7,
            "has_delete_horizon": bool(bits & 0x40),
            "is_control": bool(bits & 0x20),
            "is_transactional": bool(bits & 0x10),
            "has_log_append_time": bool(bits & 0x08),
            "compression": bits & 0x07,
        },
        **{
            name: values[name]
            for name in (
                "last_offset_delta",
                "base_timestamp_ms",
                "max_timestamp_ms",
                "producer_id",
                "producer_epoch",
                "base_sequence",
            )
        },
        "record_count": len(batch_records),
        "records": [
            {
                "attributes": 0,
                "timestamp_delta_ms": timestamp_ms(record) - values["base_timestamp_ms"],
                "offset_delta": record.offset_delta,
                "key": record.key,
                "value": record.value,
                "headers": [{"key": key, "value": value} for key, value in record.headers],
            }
            for record in batch_records
        ],
    }
    return {
        "base_offset": values["base_offset"],
        "batch": {"partition_leader_epoch": values["partition_leader_epoch"], "covered": covered},
    }


@given(headers, record_lists)
def test_a_batch_is_built_as_declared(values: dict[str, int], batch_records: list[Record]) -> None:
    batch = encode_batch(batch_records, **values)
    declared = as_declared(values, batch_records)
    assert batch == RECORD_BATCH.build(declared)
    parsed = plain(RECORD_BATCH.parse(batch))
    assert parsed["base_offset"] == declared["base_offset"]
    assert parsed["batch"]["partition_leader_epoch"] == declared["batch"]["partition_leader_epoch"]
    assert parsed["batch"]["covered"] == declared["batch"]["covered"]


@given(headers, record_lists)
def test_a_batch_is_read_as_declared(values: dict[str, int], batch_records: list[Record]) -> None:
    batch = RECORD_BATCH.build(as_declared(values, batch_records))
    header = read_batch_header(b"before" + batch, 6)
    assert header.size_in_bytes == header.batch_length + LOG_OVERHEAD == len(batch)
    assert header.magic == 2
    assert header.record_count == len(batch_records)
    assert {name: getattr(header, name) for name in values} == values
    assert header.last_offset == values["base_offset"] + values["last_offset_delta"]
    assert header.is_transactional == bool(values["attributes"] & 0x10)
    assert header.is_control == bool(values["attributes"] & 0x20)
    assert is_crc_valid(b"before" + batch, 6, len(batch))
    assert decode_records(batch) == batch_records


@given(st.lists(records, min_size=1, max_size=3), timestamps)
def test_kio_reads_the_same_records(batch_records: list[Record], base_timestamp_ms: int) -> None:
    batch = encode_batch(batch_records, base_timestamp_ms=base_timestamp_ms)
    by_kio, _ = read_batch(batch, 0)
    assert [
        (record.key, record.value, tuple((header.key, header.value) for header in record.headers), record.offset)
        for record in by_kio.records
    ] == [
        (record.key, record.value, tuple((key.encode(), value) for key, value in record.headers), record.offset_delta)
        for record in batch_records
    ]


@given(st.lists(st.tuples(st.none() | st.binary(), timestamps), min_size=1, max_size=4), timestamps)
def test_what_is_not_given_follows_from_the_records(contents: list[tuple[bytes, int]], base_timestamp_ms: int) -> None:
    batch = encode_batch(
        [Record(None, value, timestamp_ms=timestamp_ms) for value, timestamp_ms in contents],
        base_timestamp_ms=base_timestamp_ms,
    )
    header = read_batch_header(batch)
    assert header.last_offset_delta == len(contents) - 1
    assert header.max_timestamp_ms == max(timestamp_ms for _, timestamp_ms in contents)
    assert [record.offset_delta for record in decode_records(batch)] == list(range(len(contents)))
    assert (header.base_offset, header.partition_leader_epoch, header.attributes) == (0, -1, 0)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)


def test_a_record_without_a_timestamp_has_the_base_timestamp() -> None:
    batch = encode_batch([Record(b"k", b"v")], base_timestamp_ms=5)
    assert decode_records(batch) == [Record(b"k", b"v", (), 5, 0)]
    assert read_batch_header(batch).max_timestamp_ms == 5


def test_log_append_time_overrules_the_records() -> None:
    batch = encode_batch(
        [Record(b"k", b"v", timestamp_ms=7)], base_timestamp_ms=5, max_timestamp_ms=99, attributes=0x08
    )
    assert read_batch_header(batch).has_log_append_time
    assert decode_records(batch)[0].timestamp_ms == 99


@given(headers, record_lists, i64s, i32s)
def test_a_place_in_the_log_changes_two_fields_and_leaves_the_crc_valid(
    values: dict[str, int], batch_records: list[Record], base_offset: int, leader_epoch: int
) -> None:
    sent = encode_batch(batch_records, **values)
    before = read_batch_header(sent)
    batch = LoggedBatch(base_offset, base_offset, leader_epoch, sent).data
    assert read_batch_header(batch) == before._replace(base_offset=base_offset, partition_leader_epoch=leader_epoch)
    assert is_crc_valid(batch, 0, len(batch))


@given(st.data())
def test_the_crc_sees_every_changed_bit_behind_it_and_none_before(data: st.DataObject) -> None:
    batch = bytearray(encode_batch([Record(b"key", b"value", (("h", None),))], base_timestamp_ms=1))
    place = data.draw(st.integers(0, len(batch) - 1))
    batch[place] ^= 1 << data.draw(st.integers(0, 7))
    assert is_crc_valid(batch, 0, len(batch)) == (place < 17)


def test_the_crc_is_castagnoli() -> None:
    assert compute_crc(bytes(21) + b"123456789", 0, 30) == 0xE3069283
    assert compute_crc(memoryview(b"??" + bytes(21) + b"123456789!"), 2, 30) == 0xE3069283


@pytest.mark.parametrize(("offset", "size"), [(0, 60), (0, 69), (0, 71), (1, 70), (-1, 70), (0, -5)])
def test_a_crc_of_something_else_is_not_valid(offset: int, size: int) -> None:
    batch = encode_batch([Record(b"k", b"v")], base_timestamp_ms=1_700_000_000_000)
    assert len(batch) == 70
    assert is_crc_valid(batch, 0, 70)
    assert not is_crc_valid(batch, offset, size)


def test_a_batch_may_be_empty() -> None:
    batch = encode_batch([], base_timestamp_ms=0)
    assert len(batch) == RECORD_BATCH_OVERHEAD
    assert read_batch_header(batch).last_offset_delta == -1
    assert decode_records(batch) == []


@pytest.mark.parametrize("codec", range(8))
def test_the_codec_is_in_the_low_three_bits(codec: int) -> None:
    batch = encode_batch([Record(b"k", b"v")], base_timestamp_ms=0, attributes=0x78 | codec)
    assert read_batch_header(batch).compression == codec
    if codec:
        with pytest.raises(InvalidRecordError, match=f"codec {codec}"):
            decode_records(batch)


def test_a_header_needs_its_bytes() -> None:
    with pytest.raises(InvalidRecordError, match="61 bytes"):
        read_batch_header(bytes(60))
    assert read_batch_header(bytes(61)) == BatchHeader._make([0] * 13)


def with_records(count: int, body: str) -> bytes:
    """Return a batch with these bytes as its `count` records."""
    batch = bytearray(encode_batch([], base_timestamp_ms=0)) + bytes.fromhex(body)
    batch[8:12] = (len(batch) - LOG_OVERHEAD).to_bytes(4, "big")
    batch[57:61] = count.to_bytes(4, "big", signed=True)
    return bytes(batch)


GOOD = "10 00 00 00 02 6b 02 76 00"


@pytest.mark.parametrize(
    ("count", "body", "reason"),
    [
        (-1, "", "claims -1 records"),
        (2, GOOD, "Record 1 .* end within a varint"),
        (1, GOOD + "00", "1 bytes are left"),
        (1, "12 00 00 00 02 6b 02 76 00", "claims 9 bytes"),
        (1, "0e 00 00 00 02 6b 02 76 00", "claims 7 bytes and has 8"),
        (1, "01 00 00 00 02 6b 02 76 00", "claims -1 bytes"),
        (1, "10 00 00 00 03 6b 02 76 00", "field of -2 bytes"),
        (1, "10 00 00 00 7e 6b 02 76 00", "field of 63 bytes"),
        (1, "10 00 00 00 02 6b 02 76 01", "claims -1 headers"),
        (1, "10 00 00 00 02 6b 02 76 7e", "claims 63 headers"),
        (1, "14 00 00 00 02 6b 02 76 02 01 01", "header has no key"),
        (1, "16 00 00 00 02 6b 02 76 02 02 ff 01", "decode byte 0xff"),
    ],
)
def test_malformed_records(count: int, body: str, reason: str) -> None:
    with pytest.raises(InvalidRecordError, match=reason):
        decode_records(with_records(count, body))


def test_a_batch_that_is_cut_is_malformed() -> None:
    batch = with_records(1, GOOD)
    assert decode_records(batch) == [Record(b"k", b"v", (), 0, 0)]
    assert decode_records(batch + b"the next batch") == [Record(b"k", b"v", (), 0, 0)]
    with pytest.raises(InvalidRecordError, match="claims 70 bytes and has 69"):
        decode_records(batch[:-1])


@given(st.integers(-1, 3), st.binary(max_size=40))
def test_any_bytes_give_records_or_an_invalid_record_error(count: int, body: bytes) -> None:
    batch = with_records(count, body.hex())
    try:
        decoded = decode_records(batch)
    except InvalidRecordError:
        return
    assert len(decoded) == count


@given(
    st.binary(max_size=300),
    st.none() | st.binary(max_size=300),
    st.integers(0, 2**63 - 1),
    st.integers(-1, 2**63 - 1),
    st.integers(-1, 2**15 - 1),
    st.sampled_from([0, 0x10, 0x30]),
)
def test_one_record_by_hand(
    key: bytes, value: bytes | None, timestamp_ms: int, producer_id: int, producer_epoch: int, attributes: int
) -> None:
    expected = encode_batch(
        [Record(key, value)],
        base_timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        attributes=attributes,
    )
    assert encode_single(key, value, timestamp_ms, producer_id, producer_epoch, attributes) == expected
