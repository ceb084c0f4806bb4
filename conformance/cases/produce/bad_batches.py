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
    "empty": ("no batch at all: 87 (ProduceRequest.validateRecords)", b""),
    "five-bytes": ("too short for a length: 87", _GOOD[:5]),
    "sixteen-bytes": ("too short for a magic: 87", _GOOD[:16]),
    "truncated": ("a batch that ends too early: 87", _GOOD[:-3]),
    "two": ("more than one batch: 87", _GOOD + _GOOD),
    "three": ("more than one batch: 87", _GOOD * 3),
    "bytes-behind": ("what is behind the batch and no batch is dropped", _GOOD + b"abc"),
    "length-behind": ("a length behind the batch that has no magic is dropped", _GOOD + _GOOD[:16]),
    "half-behind": ("half a batch behind the batch is dropped", _GOOD + _GOOD[:40]),
    "bad-length-behind": ("a length that cannot be, behind the batch", _GOOD + struct.pack(">qi", 0, 3) + b"abcde"),
    "bad-magic-behind": ("a magic that cannot be, behind the batch", _GOOD + _GOOD[:16] + b"\x07"),
    "old-behind": ("an old message behind the batch: 87", _GOOD + old_message(b"old", 1)),
    "magic-0": ("a message set of magic 0: 87", old_message(b"old", 0)),
    "magic-1": ("a message set of magic 1: 87", old_message(b"old", 1)),
    "magic-0-and-1": ("two old messages: 87", old_message(b"old", 0) + old_message(b"old", 1)),
    "magic-3": ("a magic of the future", patched(_GOOD, MAGIC_AT, b"\x03", crc=False)),
    "magic-minus-1": ("a negative magic", patched(_GOOD, MAGIC_AT, b"\xff", crc=False)),
    "length-13": ("a length below the smallest", _length(13)),
    "length-zero": ("a length of zero", _length(0)),
    "length-negative": ("a negative length", _length(-1)),
    "length-too-long": ("a length beyond the end: 87", _length(9999)),
}

_ANALYZE: Rows = {
    "26-bytes": ("the smallest length there may be (UnifiedLog.analyzeAndValidateRecords)", resized(_GOOD, 26)),
    "27-bytes": ("a batch that ends behind its lastOffsetDelta", resized(_GOOD, 27)),
    "60-bytes": ("a batch without its count", resized(_GOOD, 60)),
    "61-bytes": ("a batch of a header alone that counts two", resized(_GOOD, 61)),
    "base-offset-1": ("a client does not know the offset: 87", _GOOD[:7] + b"\x01" + _GOOD[8:]),
    "base-offset-minus-1": ("nor is it negative: 87", b"\xff" * 8 + _GOOD[8:]),
    "leader-epoch": ("is overwritten; it is not in the CRC", _GOOD[:12] + b"\0\0\0\x2a" + _GOOD[16:]),
    "crc-record": ("a byte of a record changed: 2", flipped(_GOOD, -1)),
    "crc-header": ("a byte of the header changed: 2", flipped(_GOOD, 30)),
    "crc-field": ("the CRC itself changed: 2", flipped(_GOOD, 17)),
    "crc-compressed": ("a byte of a compressed batch changed: 2", flipped(batch(b"one", b"two", codec=1), -1)),
    "codec-5": ("a codec that nobody has", batch(b"v", attributes=5)),
    "codec-6": ("a codec that nobody has", batch(b"v", attributes=6)),
    "codec-7": ("a codec that nobody has", batch(b"v", attributes=7)),
    "codec-7-crc": ("the CRC is looked at before the codec", flipped(batch(b"v", attributes=7), -1)),
}

_VALIDATE_BATCH: Rows = {
    "count-0": ("no records (LogValidator.validateBatch)", batch_of([], record_count=0, last_offset_delta=0)),
    "count-0-delta-minus-1": ("no records and no offsets: 87", batch_of([], record_count=0, last_offset_delta=-1)),
    "count-minus-1": ("a negative count: 87", batch(b"v", record_count=-1)),
    "count-too-low": ("more records than counted: 87", batch(b"1", b"2", record_count=1, last_offset_delta=0)),
    "count-too-high": ("fewer records than counted: 87", batch(b"1", record_count=3, last_offset_delta=2)),
    "count-largest": ("2^31 - 1 records counted", batch(b"1", record_count=_LARGEST, last_offset_delta=_LARGEST - 1)),
    "last-delta-too-high": ("lastOffsetDelta is not count - 1: 87", batch(b"1", b"2", last_offset_delta=2)),
    "last-delta-too-low": ("lastOffsetDelta is not count - 1: 87", batch(b"1", b"2", last_offset_delta=0)),
    "last-delta-negative": ("a negative lastOffsetDelta: 87", batch(b"1", last_offset_delta=-5)),
    "last-delta-largest": ("the count from the offsets overflows", batch(b"1", last_offset_delta=_LARGEST)),
    "control": ("clients write no control batches: 87", batch(b"v", attributes=0x20)),
    "control-compressed": ("nor compressed ones: 87", batch(b"v", attributes=0x20, codec=1)),
    "negative-sequence": ("a producer id and no sequence: 87", batch(b"v", producer_id=4000, producer_epoch=0)),
    "sequence-without-id": ("a sequence without a producer id", batch(b"v", base_sequence=7, producer_epoch=3)),
    "producer-id-minus-2": ("a producer id below -1", batch(b"v", producer_id=-2, producer_epoch=0, base_sequence=0)),
    "epoch-minus-1": ("a producer id and no epoch", batch(b"v", producer_id=4001, producer_epoch=-1, base_sequence=0)),
    "unused-attributes": ("bits of the attributes that mean nothing", batch(b"v", attributes=0x7F00)),
    "sign-attribute": ("the highest bit of the attributes", batch(b"v", attributes=-(1 << 15))),
    "bit-7": ("the highest bit of the low byte", batch(b"v", attributes=0x80)),
    "delete-horizon": ("the bit of a delete horizon, the cleaner's", batch(b"v", attributes=0x40)),
    "attributes-append-time": (
        "unknown bits in a batch whose attributes are rewritten",
        batch(b"v", attributes=0x7FC8),
    ),
    "max-timestamp-lies": ("the largest timestamp is computed", batch(b"v", max_timestamp_ms=5)),
    "control-and-count": ("of two faults the first is told", batch(b"v", attributes=0x20, record_count=0)),
}

CASES: list[Case] = [
    *cases("batch", _VALIDATE_RECORDS),
    *cases("batch", _ANALYZE),
    *cases("batch", _VALIDATE_BATCH),
]
