"""The table of batch offsets, against the executable declaration of a record batch."""

from __future__ import annotations

from struct import calcsize

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.protocol import batch_layout as layout
from fakebroker.protocol.declarations.records import RECORD_BATCH
from fakebroker.protocol.record_batch import BatchHeader, Record, encode_batch, read_batch_header

# In their order: where each field begins, and its type in a struct's format.
FIELDS = {
    "base_offset": (layout.BASE_OFFSET_AT, "q"),
    "batch_length": (layout.LENGTH_AT, "i"),
    "partition_leader_epoch": (layout.LEADER_EPOCH_AT, "i"),
    "magic": (layout.MAGIC_AT, "b"),
    "crc": (layout.CRC_AT, "I"),
    "attributes": (layout.ATTRIBUTES_AT, "h"),
    "last_offset_delta": (layout.LAST_OFFSET_DELTA_AT, "i"),
    "base_timestamp_ms": (layout.BASE_TIMESTAMP_AT, "q"),
    "max_timestamp_ms": (layout.MAX_TIMESTAMP_AT, "q"),
    "producer_id": (layout.PRODUCER_ID_AT, "q"),
    "producer_epoch": (layout.PRODUCER_EPOCH_AT, "h"),
    "base_sequence": (layout.BASE_SEQUENCE_AT, "i"),
    "record_count": (layout.RECORD_COUNT_AT, "i"),
}


def test_each_field_begins_where_the_one_before_ends() -> None:
    at = 0
    for offset, kind in FIELDS.values():
        assert offset == at
        at += calcsize(f">{kind}")
    assert at == layout.RECORD_BATCH_OVERHEAD == layout.HEADER.size
    assert layout.HEADER.format == ">" + "".join(kind for _, kind in FIELDS.values())
    assert tuple(FIELDS) == BatchHeader._fields
    assert layout.LOG_OVERHEAD == layout.LEADER_EPOCH_AT  # the length counts what comes behind itself


@given(
    producer_id=st.integers(-1, 2**62),
    producer_epoch=st.integers(-1, 2**15 - 1),
    base_sequence=st.integers(-1, 2**31 - 1),
    base_timestamp_ms=st.integers(0, 2**50),
    base_offset=st.integers(0, 2**62),
    partition_leader_epoch=st.integers(-1, 2**31 - 1),
    attributes=st.sampled_from([0, 8, 16, 24]),
)
def test_the_declaration_finds_the_same_values_there(attributes: int, **values: int) -> None:
    batch = encode_batch([Record(b"k", b"v"), Record(None, None)], attributes=attributes, **values)
    declared = RECORD_BATCH.parse(batch)
    covered = declared.batch.covered
    header = read_batch_header(batch)

    assert header.base_offset == declared.base_offset == values["base_offset"]
    assert header.partition_leader_epoch == declared.batch.partition_leader_epoch == values["partition_leader_epoch"]
    assert header.crc == declared.batch.crc
    for name in ("producer_id", "producer_epoch", "base_sequence", "base_timestamp_ms"):
        assert getattr(header, name) == covered[name] == values[name]
        offset, kind = FIELDS[name]
        size = calcsize(f">{kind}")
        assert int.from_bytes(batch[offset : offset + size], "big", signed=True) == values[name]
    assert (
        (header.last_offset_delta, header.record_count) == (covered.last_offset_delta, covered.record_count) == (1, 2)
    )
    assert bool(batch[layout.FLAGS_AT] & layout.TRANSACTIONAL_FLAG) == covered.attributes.is_transactional
    assert bool(batch[layout.FLAGS_AT] & layout.TIMESTAMP_TYPE_FLAG) == covered.attributes.has_log_append_time
    assert bool(batch[layout.FLAGS_AT] & layout.CONTROL_FLAG) == covered.attributes.is_control
    assert batch[layout.FLAGS_AT] & layout.COMPRESSION_MASK == covered.attributes.compression
