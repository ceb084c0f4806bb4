"""Batches that are wrong as a whole: size, magic, number, CRC, codec, counts, flags."""

from __future__ import annotations

import struct

from conformance.frames import batch, batch_of, patched
from conformance.rows import LENGTH_AT, MAGIC_AT, Rows, cases, flipped, old_message, resized
from conformance.scenario import Case

_GOOD = batch(b"good", b"one")
_LARGEST = (1 << 31) - 1


def _length(length: int) -> bytes:
    return patched(_GOOD, LENGTH_AT, struct.pack(">i", length), crc=False)


_VALIDATE_RECORDS: Rows = {
    "empty": ("no batch at all: INVALID_RECORD (ProduceRequest.validateRecords)", b""),
    "five-bytes": ("too short for the length field: INVALID_RECORD", _GOOD[:5]),
    "sixteen-bytes": ("too short for the magic byte: INVALID_RECORD", _GOOD[:16]),
    "truncated": ("a truncated batch: INVALID_RECORD", _GOOD[:-3]),
    "two": ("more than one batch: INVALID_RECORD", _GOOD + _GOOD),
    "three": ("more than one batch: INVALID_RECORD", _GOOD * 3),
    "bytes-behind": ("bytes after the batch that are not a batch are dropped", _GOOD + b"abc"),
    "length-behind": ("a length after the batch, without a magic byte, is dropped", _GOOD + _GOOD[:16]),
    "half-behind": ("half a batch after the batch is dropped", _GOOD + _GOOD[:40]),
    "bad-length-behind": ("an invalid length after the batch", _GOOD + struct.pack(">qi", 0, 3) + b"abcde"),
    "bad-magic-behind": ("an invalid magic byte after the batch", _GOOD + _GOOD[:16] + b"\x07"),
    "old-behind": ("an old message after the batch: INVALID_RECORD", _GOOD + old_message(b"old", 1)),
    "magic-0": ("a message set of magic 0: INVALID_RECORD", old_message(b"old", 0)),
    "magic-1": ("a message set of magic 1: INVALID_RECORD", old_message(b"old", 1)),
    "magic-0-and-1": ("two old messages: INVALID_RECORD", old_message(b"old", 0) + old_message(b"old", 1)),
    "magic-3": ("an unknown, higher magic byte", patched(_GOOD, MAGIC_AT, b"\x03", crc=False)),
    "magic-minus-1": ("a negative magic byte", patched(_GOOD, MAGIC_AT, b"\xff", crc=False)),
    "length-13": ("a length below the minimum", _length(13)),
    "length-zero": ("a length of zero", _length(0)),
    "length-negative": ("a negative length", _length(-1)),
    "length-too-long": ("a length beyond the end of the data: INVALID_RECORD", _length(9999)),
}

_ANALYZE: Rows = {
    "26-bytes": ("the smallest accepted length (UnifiedLog.analyzeAndValidateRecords)", resized(_GOOD, 26)),
    "27-bytes": ("a batch that ends after its lastOffsetDelta", resized(_GOOD, 27)),
    "60-bytes": ("a batch that ends before its record count", resized(_GOOD, 60)),
    "61-bytes": ("a batch of a header only, with a record count of two", resized(_GOOD, 61)),
    "base-offset-1": ("the base offset is not 0: INVALID_RECORD", _GOOD[:7] + b"\x01" + _GOOD[8:]),
    "base-offset-minus-1": ("the base offset is negative: INVALID_RECORD", b"\xff" * 8 + _GOOD[8:]),
    "leader-epoch": (
        "the broker overwrites the leader epoch, which the CRC does not cover",
        _GOOD[:12] + b"\0\0\0\x2a" + _GOOD[16:],
    ),
    "crc-record": ("a changed byte in a record: CORRUPT_MESSAGE", flipped(_GOOD, -1)),
    "crc-header": ("a changed byte in the header: CORRUPT_MESSAGE", flipped(_GOOD, 30)),
    "crc-field": ("a changed CRC: CORRUPT_MESSAGE", flipped(_GOOD, 17)),
    "crc-compressed": (
        "a changed byte in a compressed batch: CORRUPT_MESSAGE",
        flipped(batch(b"one", b"two", codec=1), -1),
    ),
    "codec-5": ("an unknown codec", batch(b"v", attributes=5)),
    "codec-6": ("an unknown codec", batch(b"v", attributes=6)),
    "codec-7": ("an unknown codec", batch(b"v", attributes=7)),
    "codec-7-crc": ("the CRC is checked before the codec", flipped(batch(b"v", attributes=7), -1)),
}

_VALIDATE_BATCH: Rows = {
    "count-0": ("a record count of 0 (LogValidator.validateBatch)", batch_of([], record_count=0, last_offset_delta=0)),
    "count-0-delta-minus-1": (
        "a record count of 0 and a lastOffsetDelta of -1: INVALID_RECORD",
        batch_of([], record_count=0, last_offset_delta=-1),
    ),
    "count-minus-1": ("a negative record count: INVALID_RECORD", batch(b"v", record_count=-1)),
    "count-too-low": (
        "more records than the record count: INVALID_RECORD",
        batch(b"1", b"2", record_count=1, last_offset_delta=0),
    ),
    "count-too-high": (
        "fewer records than the record count: INVALID_RECORD",
        batch(b"1", record_count=3, last_offset_delta=2),
    ),
    "count-largest": ("a record count of 2^31 - 1", batch(b"1", record_count=_LARGEST, last_offset_delta=_LARGEST - 1)),
    "last-delta-too-high": ("lastOffsetDelta is not count - 1: INVALID_RECORD", batch(b"1", b"2", last_offset_delta=2)),
    "last-delta-too-low": ("lastOffsetDelta is not count - 1: INVALID_RECORD", batch(b"1", b"2", last_offset_delta=0)),
    "last-delta-negative": ("a negative lastOffsetDelta: INVALID_RECORD", batch(b"1", last_offset_delta=-5)),
    "last-delta-largest": (
        "a lastOffsetDelta of 2^31 - 1: the computed count overflows",
        batch(b"1", last_offset_delta=_LARGEST),
    ),
    "control": ("a client sends a control batch: INVALID_RECORD", batch(b"v", attributes=0x20)),
    "control-compressed": (
        "a client sends a compressed control batch: INVALID_RECORD",
        batch(b"v", attributes=0x20, codec=1),
    ),
    "negative-sequence": (
        "a producer id without a sequence: INVALID_RECORD",
        batch(b"v", producer_id=4000, producer_epoch=0),
    ),
    "sequence-without-id": ("a sequence without a producer id", batch(b"v", base_sequence=7, producer_epoch=3)),
    "producer-id-minus-2": ("a producer id below -1", batch(b"v", producer_id=-2, producer_epoch=0, base_sequence=0)),
    "epoch-minus-1": (
        "a producer id without an epoch",
        batch(b"v", producer_id=4001, producer_epoch=-1, base_sequence=0),
    ),
    "unused-attributes": ("unused bits of the attributes", batch(b"v", attributes=0x7F00)),
    "sign-attribute": ("the highest bit of the attributes", batch(b"v", attributes=-(1 << 15))),
    "bit-7": ("the highest bit of the low byte", batch(b"v", attributes=0x80)),
    "delete-horizon": ("the delete horizon bit, which only the log cleaner sets", batch(b"v", attributes=0x40)),
    "attributes-append-time": (
        "unused bits in a batch with attributes that the broker rewrites",
        batch(b"v", attributes=0x7FC8),
    ),
    "max-timestamp-lies": ("a wrong maxTimestamp: the broker computes it", batch(b"v", max_timestamp_ms=5)),
    "control-and-count": ("of two errors the first is reported", batch(b"v", attributes=0x20, record_count=0)),
}

CASES: list[Case] = [
    *cases("batch", _VALIDATE_RECORDS),
    *cases("batch", _ANALYZE),
    *cases("batch", _VALIDATE_BATCH),
]
