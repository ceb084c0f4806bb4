"""Batches with a correct header and wrong records, plain and compressed."""

from __future__ import annotations

import gzip
import struct

from conformance.frames import batch, batch_of, with_crc
from conformance.rows import LENGTH_AT, Rows, cases, deltas, packed, raw
from conformance.scenario import Case
from fakebroker.protocol.record_batch import Record

# A record is: size, attributes, timestamp delta, offset delta, key (\x01 is null), value, headers (\0 is none).
_PLAIN: Rows = {
    "as-it-should-be": ("the valid record that the other cases change", raw(b"\x0e\0\0\0\x01\x02v\0")),
    "garbage": ("bytes that are not a record: INVALID_RECORD (DefaultRecord.readFrom)", raw(b"\xff" * 40)),
    "zeros": ("zero bytes", raw(b"\0" * 10)),
    "no-bytes": ("a record count of one and no bytes: INVALID_RECORD", raw(b"")),
    "bytes-left": ("bytes after the last record: INVALID_RECORD", raw(b"\x0e\0\0\0\x01\x02v\0xyz")),
    "size-too-long": ("a record longer than the batch: INVALID_RECORD", raw(b"\x7e\0\0\0\x01\x02v\0")),
    "size-too-short": ("a record shorter than its fields: INVALID_RECORD", raw(b"\x0a\0\0\0\x01\x02v\0")),
    "size-one-less": ("a size that is one byte too small: INVALID_RECORD", raw(b"\x0c\0\0\0\x01\x02v\0")),
    "size-one-more": (
        "a size that is one byte too large, with that byte present: INVALID_RECORD",
        raw(b"\x10\0\0\0\x01\x02v\0\0"),
    ),
    "size-negative": ("a negative size: INVALID_RECORD", raw(b"\x01\0\0\0\x01\x02v\0")),
    "size-zero": ("a size of zero: INVALID_RECORD", raw(b"\x00\0\0\0\x01\x02v\0")),
    "size-without-end": ("a varint of six bytes as the size", raw(b"\xff" * 6 + b"\0" * 6)),
    "size-cut": ("a size that ends with the batch: INVALID_RECORD", raw(b"\xff\xff")),
    "timestamp-without-end": (
        "a varint of eleven bytes as the timestamp",
        raw(b"\x1e\0" + b"\xff" * 11 + b"\0\x01\x01\0"),
    ),
    "offset-without-end": ("a varint of six bytes as the offset", raw(b"\x16\0\0" + b"\xff" * 6 + b"\x01\x01\0")),
    "key-too-long": ("a key longer than the record: INVALID_RECORD", raw(b"\x0e\0\0\0\x7e\x02v\0")),
    "key-minus-2": ("a key of length -2", raw(b"\x0e\0\0\0\x03\x02v\0")),
    "value-too-long": ("a value longer than the record: INVALID_RECORD", raw(b"\x0e\0\0\0\x01\x7ev\0")),
    "value-minus-2": ("a value of length -2", raw(b"\x0c\0\0\0\x01\x03\0")),
    "value-null": ("a null value is valid", batch_of([Record(b"k", None)])),
    "both-null": ("a null key with a null value is valid", batch_of([Record(None, None)])),
    "header-count-negative": ("a negative count of headers: INVALID_RECORD", raw(b"\x0e\0\0\0\x01\x02v\x01")),
    "header-count-too-high": (
        "a header count above the number of bytes: INVALID_RECORD",
        raw(b"\x0e\0\0\0\x01\x02v\x64"),
    ),
    "header-key-null": ("a header without a key: INVALID_RECORD", raw(b"\x12\0\0\0\x01\x02v\x02\x01\x01")),
    "header-key-too-long": (
        "a header key longer than the record: INVALID_RECORD",
        raw(b"\x12\0\0\0\x01\x02v\x02\x7e\x01"),
    ),
    "header-value-null": ("a header with a null value is valid", batch_of([Record(None, b"v", (("h", None),))])),
    "header-empty": ("a header with an empty key and value is valid", batch_of([Record(None, b"v", (("", b""),))])),
    "headers": ("headers are stored as they came", batch_of([Record(b"k", b"v", (("a", b"1"), ("a", b"2")))])),
    "header-no-utf8": ("a header key that is not valid UTF-8", raw(b"\x14\0\0\0\x01\x02v\x02\x02\xff\x01")),
    "record-attributes": ("the attributes of a record are ignored", raw(b"\x0e\x07\0\0\x01\x02v\0")),
    "record-attributes-all": ("all bits of the attributes of a record are ignored", raw(b"\x0e\xff\0\0\x01\x02v\0")),
    "varint-overlong": ("a length with more varint bytes than needed", raw(b"\x10\0\0\0\x81\x00\x02v\0")),
    "delta-gap": ("offset deltas 0 and 5", deltas(0, 5)),
    "delta-from-1": ("offset deltas 1 and 2", deltas(1, 2)),
    "delta-twice": ("the same offset delta twice", deltas(0, 0)),
    "delta-falls": ("descending offset deltas", deltas(1, 0)),
    "delta-negative": ("a negative offset delta", deltas(-1)),
}


def _gzip_with_flags(flags: int) -> bytes:
    """A good record, behind a header of gzip that says more."""
    body = bytearray(gzip.compress(b"\x0e\0\0\0\x01\x02v\0", mtime=0))
    body[3] |= flags
    return raw(bytes(body), 1)


_GZIP: Rows = {
    "gzip-as-it-should-be": ("the valid record that the other cases change", packed(b"\x0e\0\0\0\x01\x02v\0", 1)),
    "gzip-flags-of-nobody": ("unknown flags of the gzip header are ignored", _gzip_with_flags(0xE0)),
    "gzip-bytes-left": ("bytes after the last record: INVALID_RECORD", packed(b"\x0e\0\0\0\x01\x02v\0xyz", 1)),
    "gzip-too-few": (
        "fewer records than the record count: INVALID_RECORD",
        batch(b"1", codec=1, record_count=3, last_offset_delta=2),
    ),
    "gzip-too-many": (
        "more records than the record count: INVALID_RECORD",
        batch(b"1", b"2", codec=1, record_count=1, last_offset_delta=0),
    ),
    "gzip-of-nothing": ("a record count of one and no compressed bytes: INVALID_RECORD", packed(b"", 1)),
    "gzip-size-one-more": ("gzip: a record with a wrong size", packed(b"\x10\0\0\0\x01\x02v\0", 1)),
    "gzip-size-negative": ("gzip: a negative size", packed(b"\x01\0\0\0\x01\x02v\0", 1)),
    "gzip-size-without-end": ("a varint of six bytes as the size", packed(b"\xff" * 6 + b"\0" * 6, 1)),
    "gzip-key-too-long": ("gzip: a key longer than the record", packed(b"\x0e\0\0\0\x7e\x02v\0", 1)),
    "gzip-header-count-negative": ("gzip: a negative count of headers", packed(b"\x0e\0\0\0\x01\x02v\x01", 1)),
    "gzip-header-key-null": ("gzip: a header without a key", packed(b"\x12\0\0\0\x01\x02v\x02\x01\x01", 1)),
    "gzip-record-attributes": (
        "gzip: a record with attributes that say it is compressed",
        packed(b"\x0e\x01\0\0\x01\x02v\0", 1),
    ),
    "gzip-trailing": (
        "bytes after the gzip stream",
        (lambda whole: with_crc(whole[:LENGTH_AT] + struct.pack(">i", len(whole) - 8) + whole[12:] + b"tail"))(
            batch(b"v", codec=1)
        ),
    ),
}


def _cut(codec: int) -> bytes:
    """A compressed batch that ends six bytes too early, its length and CRC right."""
    whole = batch(b"x" * 200, codec=codec)
    return with_crc(whole[:LENGTH_AT] + struct.pack(">i", len(whole) - 18) + whole[12:-6])


def _codec(name: str, codec: int) -> Rows:
    return {
        f"{name}-garbage": (f"codec {name}, but the bytes are not {name}", raw(b"not compressed at all", codec)),
        f"{name}-no-bytes": (f"codec {name}, but there are no bytes", raw(b"", codec)),
        f"{name}-cut": (f"{name}: a truncated stream", _cut(codec)),
        f"{name}-of-garbage": (
            f"{name}: the decompressed bytes are not records: INVALID_RECORD",
            packed(b"\xff" * 40, codec),
        ),
        f"{name}-delta-gap": ("offset deltas 0 and 5, compressed", deltas(0, 5, codec=codec)),
        f"{name}-delta-from-1": ("offset deltas 1 and 2, compressed", deltas(1, 2, codec=codec)),
    }


CASES: list[Case] = [
    *cases("record", _PLAIN),
    *cases("record", _GZIP),
    *(
        case
        for number, name in enumerate(("gzip", "snappy", "lz4", "zstd"), 1)
        for case in cases("record", _codec(name, number))
    ),
]
