"""Requests that are cheap for the client and expensive for the broker, as bytes.

All are pure functions. None is malformed, unless its name says so: what is hostile about them is what they stand for.

Units    sizes are bytes, or what the name counts.
Source   the layouts of RequestHeader v1, ListOffsets v1, Fetch v4, Metadata v4, Produce v7 (Kafka 4.0).
"""

from __future__ import annotations

import struct
from functools import cache

from cramjam import zstd

from benchmarks.drivers.frames import CLIENT_ID, PRODUCE_VERSION, produce_frame
from conformance import frames
from fakebroker.protocol.batch_layout import RECORD_BATCH_OVERHEAD
from fakebroker.protocol.compression import Codec, compress
from fakebroker.protocol.record_batch import Record, encode_batch, pack_batch, read_batch_header
from fakebroker.protocol.varint import encode_varint

TIMESTAMP_MS = 1_700_000_000_000
FAR_FUTURE_MS = 9_000_000_000_000  # beyond message.timestamp.after.max.ms
LEAST_RECORD = bytes.fromhex("0c 00 00 00 01 01 00")  # no key, no value, no headers; 7 bytes
LEAST_HEADER = bytes.fromhex("00 01")  # an empty name without a value
_BLOCK = 1 << 20
EMPTY_GZIP_MEMBER = bytes.fromhex("1f 8b 08 00 00 00 00 00 00 03 03 00 00 00 00 00 00 00 00 00")


def with_length(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


def _request(api_key: int, version: int, body: bytes) -> bytes:
    header = struct.pack(">hhih", api_key, version, 1, len(CLIENT_ID)) + CLIENT_ID.encode()
    return with_length(header + body)


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


# Requests of many small elements.


def metadata_of(topics: int) -> bytes:
    """Metadata v4 that names so many topics of 8 letters; 10 bytes for each. None is created."""
    names = b"".join(b"\0\x08%08d" % number for number in range(topics))
    return _request(3, 4, struct.pack(">i", topics) + names + b"\0")


def fetch_of(topic: str, partitions: int) -> bytes:
    """Fetch v4 of so many partitions of one topic; 16 bytes for each. It waits for nothing."""
    elements = b"".join(struct.pack(">iqi", index, 0, 1 << 20) for index in range(partitions))
    head = struct.pack(">iiiib", -1, 0, 1, 1 << 20, 0)
    return _request(1, 4, head + struct.pack(">i", 1) + _string(topic) + struct.pack(">i", partitions) + elements)


def search_by_time(topic: str, timestamp_ms: int = TIMESTAMP_MS + 1) -> bytes:
    """ListOffsets v1: the first record that is not older. By default nothing is as young, so all is looked through."""
    return frames.list_offsets(topic, timestamp_ms, version=1)


def fetch_much(topic: str, max_bytes: int) -> bytes:
    return frames.fetch(topic, version=4, max_bytes=max_bytes)


# Batches that expand to much more than their bytes.


def plain_batch(value_bytes: int) -> bytes:
    """Return a batch that is not hostile: one record with a value of so many bytes."""
    return encode_batch([Record(None, bytes(value_bytes))], base_timestamp_ms=TIMESTAMP_MS)


def _batch(body: bytes, codec: Codec, records: int, timestamp_ms: int = TIMESTAMP_MS) -> bytes:
    """A batch of these bytes, compressed already, that claims so many records."""
    plain = encode_batch([Record(None, None)], base_timestamp_ms=timestamp_ms)
    fields = read_batch_header(plain)._replace(attributes=codec, record_count=records, last_offset_delta=records - 1)
    return pack_batch(fields, body)


@cache
def _zstd_of(head: bytes, unit: bytes, count: int, tail: bytes = b"") -> bytes:
    """`head`, then `unit` so often, compressed, without having all of it at once."""
    compressor = zstd.Compressor(level=19)
    compressor.compress(head)
    block = unit * (_BLOCK // len(unit))
    for _ in range(count // (_BLOCK // len(unit))):
        compressor.compress(block)
    compressor.compress(unit * (count % (_BLOCK // len(unit))) + tail)
    return bytes(compressor.finish())


def records_bomb(records: int, timestamp_ms: int = FAR_FUTURE_MS) -> bytes:
    """A zstd batch of so many records of 7 bytes, all with a timestamp that is refused."""
    return _batch(_zstd_of(b"", LEAST_RECORD, records), Codec.ZSTD, records, timestamp_ms)


def value_bomb(value_bytes: int) -> bytes:
    """A zstd batch of one record with a value of so many zeros."""
    fields = b"\0\0\0\x01" + encode_varint(value_bytes)  # attributes, deltas, no key
    head = encode_varint(len(fields) + value_bytes + 1) + fields
    return _batch(_zstd_of(head, b"\0", value_bytes, b"\0"), Codec.ZSTD, 1)


def headers_bomb(headers: int) -> bytes:
    """A zstd batch of one record with so many headers of 2 bytes."""
    count = encode_varint(headers)
    fields = b"\0\0\0\x01\x01" + count  # attributes, deltas, no key, no value
    head = encode_varint(len(fields) + 2 * headers) + fields
    return _batch(_zstd_of(head, LEAST_HEADER, headers), Codec.ZSTD, 1)


def gzip_of_members(size: int) -> bytes:
    """Return a gzip batch of one record. So many bytes of empty members come before the bytes of the record."""
    plain = encode_batch([Record(None, b"v")], base_timestamp_ms=TIMESTAMP_MS)[RECORD_BATCH_OVERHEAD:]
    return _batch(EMPTY_GZIP_MEMBER * (size // len(EMPTY_GZIP_MEMBER)) + compress(Codec.GZIP, plain), Codec.GZIP, 1)


def many_records(records: int) -> bytes:
    """A zstd batch that is as good as any, of so many records of 7 bytes and more."""
    body = bytearray()
    for delta in range(records):
        fields = b"\0\0" + encode_varint(delta) + b"\x01\x01\0"
        body += encode_varint(len(fields)) + fields
    return _batch(compress(Codec.ZSTD, bytes(body)), Codec.ZSTD, records)


def produce_to_partitions(topic: str, batch: bytes, partitions: int) -> bytes:
    """Produce v7 of the same batch to so many partitions of one topic."""
    elements = b"".join(struct.pack(">ii", index, len(batch)) + batch for index in range(partitions))
    head = struct.pack(">hhi", -1, 1, 30_000)  # no transactional id, acks=1, timeout
    return _request(
        0, PRODUCE_VERSION, head + struct.pack(">i", 1) + _string(topic) + struct.pack(">i", partitions) + elements
    )


def produce(topic: str, batch: bytes) -> bytes:
    return produce_frame(topic, 0, batch, acks=1)
