"""The record batch, magic 2: functions that read its header, check it, build one, and list its records.

Theory   A batch is 61 bytes of header (batch_layout.py) and then its records. Base offset, length, leader epoch and
         magic are outside the CRC. So a broker places a batch in the log by writing two fields, and changes nothing
         else. That happens when the batch is read (core/log/log.py).
Units    sizes and offsets into buffers are bytes; `base_offset` and deltas count records; timestamps are milliseconds
         since the epoch.
Source   clients/src/main/java/org/apache/kafka/common/record/DefaultRecordBatch.java and DefaultRecord.java
Differs  Only uncompressed records are built and listed here. The declaration is in `fakebroker.protocol.declarations`;
         tests/protocol/test_record_batch_properties.py ties the two together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct, error
from typing import Final, NamedTuple

from crc32c import crc32c

from fakebroker.protocol.batch_layout import (
    ATTRIBUTES_AT,
    COMPRESSION_MASK,
    CONTROL_FLAG,
    CRC_AT,
    HEADER,
    LENGTH_AT,
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_FLAG,
    TRANSACTIONAL_FLAG,
)
from fakebroker.protocol.errors import InvalidRecordError, ProtocolError
from fakebroker.protocol.varint import decode_varint, decode_varlong, encode_varint

_crc32c: Final = crc32c  # a module global, which compiled code finds at once
_new: Final = tuple.__new__
__all__ = [
    "LOG_OVERHEAD",
    "RECORD_BATCH_OVERHEAD",
    "BatchHeader",
    "Buffer",
    "Record",
    "compute_crc",
    "decode_records",
    "decode_some",
    "encode_batch",
    "encode_record",
    "is_crc_valid",
    "pack_batch",
    "read_batch_header",
    "update_crc",
]

Buffer = bytes | bytearray | memoryview

_COPY_ONCE_BYTES: Final = 2_048  # below it a plain slice is faster than a memoryview

_CRC: Final = Struct(">I")
_BEFORE_CRC: Final = Struct(">qiibI")  # HEADER in two parts: up to the CRC, and what that covers
_BEHIND_CRC: Final = Struct(">hiqqqhii")
_NULL_VALUE: Final = b"\x01"
_BATCH_LENGTH: Final = Struct(">i")


class BatchHeader(NamedTuple):
    """The first 61 bytes of a batch, field by field."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_in_bytes(self) -> int:
        """Return the size of the whole batch, including its first twelve bytes."""
        return LOG_OVERHEAD + self.batch_length

    @property
    def compression(self) -> int:
        """Return 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd; 5 to 7 are invalid."""
        return self.attributes & COMPRESSION_MASK

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_FLAG != 0

    @property
    def has_log_append_time(self) -> bool:
        return self.attributes & TIMESTAMP_TYPE_FLAG != 0

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta


class Record(NamedTuple):
    """One record. The default timestamp is the batch's base timestamp, the default offset delta the index of the
    record."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None
    offset_delta: int | None = None


def new_record(
    key: bytes | None, value: bytes | None, headers: tuple[tuple[str, bytes | None], ...], timestamp_ms: int | None
) -> Record:
    """Make a Record without the Python function of a named tuple: a producer makes one for each record."""
    return _new(Record, (key, value, headers, timestamp_ms, None))


def read_batch_header(buffer: Buffer, offset: int = 0) -> BatchHeader:
    """Read a header without any checks. Raises InvalidRecordError for fewer than 61 bytes."""
    try:
        return BatchHeader._make(HEADER.unpack_from(buffer, offset))
    except error:
        raise InvalidRecordError(f"A record batch needs {RECORD_BATCH_OVERHEAD} bytes for its header.") from None


def compute_crc(buffer: Buffer, offset: int, size: int) -> int:
    """Return the CRC-32C of the batch of `size` bytes at the offset: from its attributes to its end."""
    start, end = offset + ATTRIBUTES_AT, offset + size
    if isinstance(buffer, bytes) and size < _COPY_ONCE_BYTES:
        return int(_crc32c(buffer[start:end]))
    return int(_crc32c(memoryview(buffer)[start:end]))


def update_crc(crc: int, buffer: Buffer, start: int, end: int) -> int:
    """Return the CRC-32C of earlier bytes and these."""
    return int(_crc32c(memoryview(buffer)[start:end], crc))


def is_crc_valid(buffer: Buffer, offset: int, size: int) -> bool:
    """Return True if the batch has at least the minimum size, and the CRC of its bytes."""
    if size < RECORD_BATCH_OVERHEAD or offset < 0 or offset + size > len(buffer):
        return False
    crc: int = _CRC.unpack_from(buffer, offset + CRC_AT)[0]
    return crc == compute_crc(buffer, offset, size)


def encode_batch(
    records: Sequence[Record],
    *,
    base_timestamp_ms: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    attributes: int = 0,
    base_offset: int = 0,
    partition_leader_epoch: int = -1,
    max_timestamp_ms: int | None = None,
    last_offset_delta: int | None = None,
) -> bytes:
    """Build an uncompressed batch with a valid CRC.

    The largest timestamp and the last offset delta follow from the records unless given; a test may want them wrong.
    """
    pieces: list[bytes] = [b""]
    latest_ms = base_timestamp_ms
    last_delta = -1
    for index, record in enumerate(records):
        key, value, headers, timestamp_ms, offset_delta = record
        if timestamp_ms is None:
            timestamp_ms = base_timestamp_ms
        last_delta = index if offset_delta is None else offset_delta
        if timestamp_ms > latest_ms or index == 0:
            latest_ms = timestamp_ms
        if key is None and value is not None and not headers:  # the usual record of tests and loads
            head = b"\0%b%b\x01%b" % (
                encode_varint(timestamp_ms - base_timestamp_ms),
                encode_varint(last_delta),
                encode_varint(len(value)),
            )
            pieces += (encode_varint(len(head) + len(value) + 1), head, value, b"\0")
        else:
            encoded = encode_record(record, timestamp_ms - base_timestamp_ms, last_delta)
            pieces += (encode_varint(len(encoded)), encoded)
    pieces[0] = _BEHIND_CRC.pack(
        attributes,
        last_delta if last_offset_delta is None else last_offset_delta,
        base_timestamp_ms,
        latest_ms if max_timestamp_ms is None else max_timestamp_ms,
        producer_id,
        producer_epoch,
        base_sequence,
        len(records),
    )
    signed = b"".join(pieces)
    length = len(signed) + ATTRIBUTES_AT - LOG_OVERHEAD
    return _BEFORE_CRC.pack(base_offset, length, partition_leader_epoch, 2, _crc32c(signed)) + signed


def encode_single(
    key: bytes,
    value: bytes | None,
    timestamp_ms: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    attributes: int = 0,
) -> bytes:
    """Encode one record with a key and without headers, as `encode_batch` does."""
    key_size = encode_varint(len(key))
    value_size = _NULL_VALUE if value is None else encode_varint(len(value))
    data = b"" if value is None else value
    size = encode_varint(4 + len(key_size) + len(key) + len(value_size) + len(data))
    fields = _BEHIND_CRC.pack(attributes, 0, timestamp_ms, timestamp_ms, producer_id, producer_epoch, -1, 1)
    signed = b"".join((fields, size, b"\0\0\0", key_size, key, value_size, data, b"\0"))
    return _BEFORE_CRC.pack(0, len(signed) + ATTRIBUTES_AT - LOG_OVERHEAD, -1, 2, _crc32c(signed)) + signed


def pack_batch(header: BatchHeader, records: bytes | bytearray) -> bytes:
    """Return the batch of this header and these records, compressed or not, with the right length and CRC."""
    batch = bytearray(RECORD_BATCH_OVERHEAD)
    batch += records
    HEADER.pack_into(batch, 0, *header)
    _BATCH_LENGTH.pack_into(batch, LENGTH_AT, len(batch) - LOG_OVERHEAD)
    _CRC.pack_into(batch, CRC_AT, compute_crc(batch, 0, len(batch)))
    return bytes(batch)


def encode_record(record: Record, timestamp_delta: int, offset_delta: int) -> bytes:
    """Return a record of a batch, without its length."""
    parts = [b"\0", encode_varint(timestamp_delta), encode_varint(offset_delta)]
    parts += _sized(record.key)
    parts += _sized(record.value)
    parts.append(encode_varint(len(record.headers)))
    for name, value in record.headers:
        parts += _sized(name.encode())
        parts += _sized(value)
    return b"".join(parts)


def _sized(data: bytes | None) -> Iterable[bytes]:
    return (b"\x01",) if data is None else (encode_varint(len(data)), data)


def decode_records(batch: Buffer) -> list[Record]:
    """Return the records of one uncompressed batch, each with its timestamp and offset delta.

    Raises InvalidRecordError where Kafka does: for a negative count, a record with an end that does not match its
    length, missing bytes, and bytes behind the last record.
    """
    header = read_batch_header(batch)
    if header.compression:
        raise InvalidRecordError(f"The batch is compressed with codec {header.compression}; its records are opaque.")
    data = bytes(batch[: header.size_in_bytes])
    if header.record_count >= 0 and len(data) < header.size_in_bytes:
        raise InvalidRecordError(f"The batch claims {header.size_in_bytes} bytes and has {len(data)}.")
    records: list[Record] = []
    decode_some(data, RECORD_BATCH_OVERHEAD, header, header.record_count, records)
    return records


def decode_some(data: bytes, offset: int, header: BatchHeader, count: int, records: list[Record]) -> int:
    """Add the next `count` records of a batch, from an offset of `data` on. Return the offset behind them. Raise
    InvalidRecordError as `decode_records` does."""
    if header.record_count < 0:
        raise InvalidRecordError(f"The batch claims {header.record_count} records.")
    try:
        for _ in range(count):
            record, offset = _decode_record(data, offset, header)
            records.append(record)
    except (IndexError, ProtocolError, UnicodeDecodeError) as problem:
        raise InvalidRecordError(f"Record {len(records)} of the batch is malformed: {problem}") from None
    if len(records) == header.record_count and offset != len(data):
        raise InvalidRecordError(f"{len(data) - offset} bytes are left behind the last record of the batch.")
    return offset


def _decode_record(data: bytes, offset: int, header: BatchHeader) -> tuple[Record, int]:
    size, offset = decode_varint(data, offset)
    end = offset + size
    if size < 0 or end > len(data):
        raise ProtocolError(f"it claims {size} bytes.")
    offset += 1  # attributes of a record, which are unused
    timestamp_delta, offset = decode_varlong(data, offset)
    offset_delta, offset = decode_varint(data, offset)
    key, offset = _decode_bytes(data, offset)
    value, offset = _decode_bytes(data, offset)
    count, offset = decode_varint(data, offset)
    if count < 0 or count > len(data) - offset:
        raise ProtocolError(f"it claims {count} headers.")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, offset = _decode_bytes(data, offset)
        if name is None:
            raise ProtocolError("a header has no key.")
        header_value, offset = _decode_bytes(data, offset)
        headers.append((name.decode(), header_value))
    if offset != end:
        raise ProtocolError(f"it claims {size} bytes and has {offset - end + size}.")
    timestamp_ms = header.max_timestamp_ms if header.has_log_append_time else header.base_timestamp_ms + timestamp_delta
    return Record(key, value, tuple(headers), timestamp_ms, offset_delta), end


def _decode_bytes(data: bytes, offset: int) -> tuple[bytes | None, int]:
    size, offset = decode_varint(data, offset)
    if size == -1:
        return None, offset
    end = offset + size
    if size < 0 or end > len(data):
        raise ProtocolError(f"it has a field of {size} bytes.")
    return data[offset:end], end
