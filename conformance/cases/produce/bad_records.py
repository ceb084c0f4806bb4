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
    "as-it-should-be": ("the record that the others are made of", raw(b"\x0e\0\0\0\x01\x02v\0")),
    "garbage": ("bytes that are no record: 87 (DefaultRecord.readFrom)", raw(b"\xff" * 40)),
    "zeros": ("bytes of zero", raw(b"\0" * 10)),
    "no-bytes": ("one record counted and no bytes: 87", raw(b"")),
    "bytes-left": ("bytes behind the last record: 87", raw(b"\x0e\0\0\0\x01\x02v\0xyz")),
    "size-too-long": ("a record longer than the batch: 87", raw(b"\x7e\0\0\0\x01\x02v\0")),
    "size-too-short": ("a record shorter than its fields: 87", raw(b"\x0a\0\0\0\x01\x02v\0")),
    "size-one-less": ("a size one byte too low: 87", raw(b"\x0c\0\0\0\x01\x02v\0")),
    "size-one-more": ("a size one byte too high, the byte is there: 87", raw(b"\x10\0\0\0\x01\x02v\0\0")),
    "size-negative": ("a negative size: 87", raw(b"\x01\0\0\0\x01\x02v\0")),
    "size-zero": ("a size of zero: 87", raw(b"\x00\0\0\0\x01\x02v\0")),
    "size-without-end": ("a size of six varint bytes", raw(b"\xff" * 6 + b"\0" * 6)),
    "size-cut": ("a size that ends with the batch: 87", raw(b"\xff\xff")),
    "timestamp-without-end": ("a timestamp of eleven varint bytes", raw(b"\x1e\0" + b"\xff" * 11 + b"\0\x01\x01\0")),
    "offset-without-end": ("an offset of six varint bytes", raw(b"\x16\0\0" + b"\xff" * 6 + b"\x01\x01\0")),
    "key-too-long": ("a key longer than the record: 87", raw(b"\x0e\0\0\0\x7e\x02v\0")),
    "key-minus-2": ("a key of length -2", raw(b"\x0e\0\0\0\x03\x02v\0")),
    "value-too-long": ("a value longer than the record: 87", raw(b"\x0e\0\0\0\x01\x7ev\0")),
    "value-minus-2": ("a value of length -2", raw(b"\x0c\0\0\0\x01\x03\0")),
    "value-null": ("no value is fine", batch_of([Record(b"k", None)])),
    "both-null": ("neither key nor value is fine", batch_of([Record(None, None)])),
    "header-count-negative": ("a negative count of headers: 87", raw(b"\x0e\0\0\0\x01\x02v\x01")),
    "header-count-too-high": ("more headers than bytes: 87", raw(b"\x0e\0\0\0\x01\x02v\x64")),
    "header-key-null": ("a header without a key: 87", raw(b"\x12\0\0\0\x01\x02v\x02\x01\x01")),
    "header-key-too-long": ("a header key longer than the record: 87", raw(b"\x12\0\0\0\x01\x02v\x02\x7e\x01")),
    "header-value-null": ("a header without a value is fine", batch_of([Record(None, b"v", (("h", None),))])),
    "header-empty": ("a header of nothing is fine", batch_of([Record(None, b"v", (("", b""),))])),
    "headers": ("headers are stored as they came", batch_of([Record(b"k", b"v", (("a", b"1"), ("a", b"2")))])),
    "header-no-utf8": ("a header key that is no text", raw(b"\x14\0\0\0\x01\x02v\x02\x02\xff\x01")),
    "record-attributes": ("attributes of a record mean nothing", raw(b"\x0e\x07\0\0\x01\x02v\0")),
    "record-attributes-all": ("not even all of them", raw(b"\x0e\xff\0\0\x01\x02v\0")),
    "varint-overlong": ("a length in more bytes than it needs", raw(b"\x10\0\0\0\x81\x00\x02v\0")),
    "delta-gap": ("offset deltas 0 and 5", deltas(0, 5)),
    "delta-from-1": ("offset deltas 1 and 2", deltas(1, 2)),
    "delta-twice": ("the same delta twice", deltas(0, 0)),
    "delta-falls": ("deltas that fall", deltas(1, 0)),
    "delta-negative": ("a negative delta", deltas(-1)),
}


def _gzip_with_flags(flags: int) -> bytes:
    """A good record, behind a header of gzip that says more."""
    body = bytearray(gzip.compress(b"\x0e\0\0\0\x01\x02v\0", mtime=0))
    body[3] |= flags
    return raw(bytes(body), 1)


_GZIP: Rows = {
    "gzip-as-it-should-be": ("the record that the others are made of", packed(b"\x0e\0\0\0\x01\x02v\0", 1)),
    "gzip-flags-of-nobody": ("flags of the gzip header that nobody knows are not looked at", _gzip_with_flags(0xE0)),
    "gzip-bytes-left": ("bytes behind the last record: 87", packed(b"\x0e\0\0\0\x01\x02v\0xyz", 1)),
    "gzip-too-few": ("fewer records than counted: 87", batch(b"1", codec=1, record_count=3, last_offset_delta=2)),
    "gzip-too-many": ("more records than counted: 87", batch(b"1", b"2", codec=1, record_count=1, last_offset_delta=0)),
    "gzip-of-nothing": ("one record counted and nothing compressed: 87", packed(b"", 1)),
    "gzip-size-one-more": ("a record that lies about its size", packed(b"\x10\0\0\0\x01\x02v\0", 1)),
    "gzip-size-negative": ("a negative size", packed(b"\x01\0\0\0\x01\x02v\0", 1)),
    "gzip-size-without-end": ("a size of six varint bytes", packed(b"\xff" * 6 + b"\0" * 6, 1)),
    "gzip-key-too-long": ("a key longer than the record", packed(b"\x0e\0\0\0\x7e\x02v\0", 1)),
    "gzip-header-count-negative": ("a negative count of headers", packed(b"\x0e\0\0\0\x01\x02v\x01", 1)),
    "gzip-header-key-null": ("a header without a key", packed(b"\x12\0\0\0\x01\x02v\x02\x01\x01", 1)),
    "gzip-record-attributes": ("a record that claims to be compressed", packed(b"\x0e\x01\0\0\x01\x02v\0", 1)),
    "gzip-trailing": (
        "bytes behind the compressed stream",
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
        f"{name}-garbage": (f"{name} says the header, and it is not", raw(b"not compressed at all", codec)),
        f"{name}-no-bytes": (f"{name} says the header, and there is nothing", raw(b"", codec)),
        f"{name}-cut": (f"{name} that ends too early", _cut(codec)),
        f"{name}-of-garbage": (f"{name} of bytes that are no records: 87", packed(b"\xff" * 40, codec)),
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
