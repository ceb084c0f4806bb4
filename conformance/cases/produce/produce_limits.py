"""Settings of a topic that limit a batch: sizes, timestamps, keys, codecs."""

from __future__ import annotations

from typing import Any

from conformance.frames import TIMESTAMP_MS, batch, batch_of, produce
from conformance.rows import Rows, cases, raw
from conformance.scenario import Case, ReadLog, Send, Settle, Topic
from fakebroker.protocol.record_batch import Record

_FUTURE_MS = 4_000_000_000_000  # in 2096
_APPEND_TIME = 0x08


def _of_size(size: int) -> bytes:
    """A batch of exactly `size` bytes."""
    data = batch(b"x" * (size - 61 - 9))
    while len(data) != size:
        data = batch(b"x" * (size - 61 - 9 - (len(data) - size)))
    return data


def _times(*times_ms: int, key: bytes | None = b"k", codec: int = 0, **header: Any) -> bytes:
    """A batch with a record per timestamp."""
    return batch_of(
        [Record(key, b"v", timestamp_ms=time_ms) for time_ms in times_ms],
        codec=codec,
        timestamp_ms=times_ms[0],
        **header,
    )


_SIZES: Rows = {
    "exact": ("a batch of exactly max.message.bytes", _of_size(500)),
    "one-more": ("one byte more than max.message.bytes: MESSAGE_TOO_LARGE", _of_size(501)),
    "one-more-crc": ("the size is checked before the CRC: MESSAGE_TOO_LARGE", _of_size(501)[:-1] + b"\xff"),
    "compressed": ("max.message.bytes limits the compressed size", batch(b"x" * 5000, codec=1)),
    "two": ("max.message.bytes limits the batch, not the record", batch(b"x" * 200, b"y" * 200)),
}

_CREATE_TIME: Rows = {
    "future": ("later than message.timestamp.after.max.ms allows: INVALID_TIMESTAMP", _times(_FUTURE_MS)),
    "one-future": ("one of three records is too late", _times(TIMESTAMP_MS, _FUTURE_MS, TIMESTAMP_MS)),
    "two-future": ("all records that are too late are listed", _times(_FUTURE_MS, TIMESTAMP_MS, _FUTURE_MS)),
    "future-gzip": ("a record that is too late, compressed", _times(TIMESTAMP_MS, _FUTURE_MS, codec=1)),
    "long-ago": ("an old timestamp: message.timestamp.before.max.ms has no limit", _times(1)),
    "zero": ("timestamp 0", _times(0)),
    "none": ("timestamp -1: no timestamp", _times(-1)),
    "minus-2": ("a timestamp below -1", _times(-2)),
    "smallest": ("the smallest timestamp", _times(-(1 << 63))),
    "largest": ("the largest timestamp", _times((1 << 63) - 1)),
    "falling": ("descending timestamps", _times(TIMESTAMP_MS, TIMESTAMP_MS - 50, TIMESTAMP_MS - 10)),
    "header-lies": (
        "a wrong maxTimestamp in the header: the broker computes it",
        _times(TIMESTAMP_MS, max_timestamp_ms=_FUTURE_MS),
    ),
    "header-lies-gzip": (
        "a wrong maxTimestamp in the header, compressed",
        _times(TIMESTAMP_MS, max_timestamp_ms=_FUTURE_MS, codec=1),
    ),
    "append-time-bit": (
        "a client sets the LogAppendTime bit: the broker clears it",
        _times(TIMESTAMP_MS, attributes=_APPEND_TIME),
    ),
    "append-time-bit-gzip": (
        "a client sets the LogAppendTime bit, compressed",
        _times(TIMESTAMP_MS, attributes=_APPEND_TIME, codec=1),
    ),
    "append-time-bit-none": (
        "the LogAppendTime bit without a timestamp: INVALID_TIMESTAMP",
        _times(-1, attributes=_APPEND_TIME),
    ),
    "append-time-bit-max-none": (
        "the LogAppendTime bit with timestamps and without maxTimestamp",
        _times(TIMESTAMP_MS, TIMESTAMP_MS + 5, attributes=_APPEND_TIME, max_timestamp_ms=-1),
    ),
    "append-time-bit-future": (
        "the LogAppendTime bit with a maxTimestamp in the future",
        _times(TIMESTAMP_MS, attributes=_APPEND_TIME, max_timestamp_ms=_FUTURE_MS),
    ),
    "append-time-bit-none-gzip": (
        "the LogAppendTime bit without a timestamp, compressed: INVALID_TIMESTAMP",
        _times(-1, -1, attributes=_APPEND_TIME, codec=1),
    ),
}

_BEFORE: Rows = {
    "too-old": ("older than message.timestamp.before.max.ms allows: INVALID_TIMESTAMP", _times(TIMESTAMP_MS)),
    "too-old-gzip": (
        "older than message.timestamp.before.max.ms allows, compressed",
        _times(TIMESTAMP_MS, TIMESTAMP_MS + 1, codec=1),
    ),
    "no-time": ("a record without a timestamp is never too old", _times(-1)),
}

_LOG_APPEND_TIME: Rows = {
    "plain": ("the broker's time is in the response and in the batch header", _times(TIMESTAMP_MS, TIMESTAMP_MS + 9)),
    "gzip": ("the broker's time is in the response and in the batch header, compressed", _times(TIMESTAMP_MS, codec=1)),
    "future": ("the broker ignores the client's timestamp", _times(_FUTURE_MS)),
    "bit": (
        "a client sets the LogAppendTime bit: INVALID_TIMESTAMP",
        _times(TIMESTAMP_MS, TIMESTAMP_MS, attributes=_APPEND_TIME),
    ),
    "bit-gzip": (
        "a client sets the LogAppendTime bit, compressed: another error message",
        _times(TIMESTAMP_MS, attributes=_APPEND_TIME, codec=1),
    ),
    "none": ("a record without a timestamp is accepted", _times(-1)),
}

_COMPACTED: Rows = {
    "null-key": ("a record without a key: INVALID_RECORD", batch_of([Record(None, b"v")])),
    "one-null-key": (
        "one of three records has no key",
        batch_of([Record(b"k", b"v"), Record(None, b"v"), Record(b"k", b"v")]),
    ),
    "all-null-keys": ("all records without a key are listed", batch_of([Record(None, b"v")] * 3)),
    "null-key-gzip": ("all records are without a key, compressed", batch_of([Record(None, b"v")] * 2, 1)),
    "empty-key": ("an empty key is valid", batch_of([Record(b"", b"v")])),
    "tombstone": ("a null value: a tombstone", batch_of([Record(b"k", None)])),
    "null-key-and-future": (
        "a record without a key and one that is too late: the partition gets the error of the timestamp",
        batch_of([Record(None, b"v"), Record(b"k", b"v", timestamp_ms=_FUTURE_MS)]),
    ),
    "null-key-in-future": ("a record with both errors gets the error of the key", _times(_FUTURE_MS, key=None)),
    "key-minus-2": ("a key of length -2 is null", raw(b"\x0e\0\0\0\x03\x02v\0")),
}

_TWO_CODECS: Rows = {
    "plain": ("the broker compresses the batch", batch(b"x" * 300, b"y" * 300)),
    "same": ("the broker keeps the batch as sent", batch(b"x" * 300, b"y" * 300, codec=1)),
    "other": ("the broker compresses the batch with another codec", batch(b"x" * 300, b"y" * 300, codec=3)),
    "deltas": ("odd offset deltas are corrected", batch_of([Record(b"k", b"v", offset_delta=4)])),
    "negative-time": ("a timestamp below -1 cannot be written again", _times(-2)),
    "unused-attributes": ("unused bits of the attributes are lost", batch(b"v", attributes=0x7FC0)),
    "null-key": ("null keys and values, and headers", batch_of([Record(None, None, (("h", b"1"), ("i", None)))])),
    "idempotent": (
        "producer id and sequence are kept",
        batch(b"v", producer_id=4010, producer_epoch=1, base_sequence=0),
    ),
    "lies-about-size": (
        "records are parsed, and their sizes are checked",
        batch_of([Record(None, b"v")], 3, body=b"\x10\0\0\0\x01\x02v\0"),
    ),
}


_DECOMPRESSED: Rows = {
    "above": (
        "a record of a compressed batch is larger than the limit (4.4): INVALID_RECORD",
        batch(b"x" * 995, codec=1),
    ),
    "exact": ("a record of a compressed batch is as large as the limit", batch(b"x" * 993, codec=1)),
    "several": ("the limit is for each record", batch(*[b"x" * 900] * 4, codec=3)),
    "plain": ("the limit is only for compressed batches", batch(b"x" * 5000)),
    "zstd": ("a record above the limit, in every codec", batch(b"x" * 5000, codec=4)),
}


def _grows() -> Case:
    topic = Topic("recompress-grows", configs={"compression.type": "uncompressed", "max.message.bytes": "500"})
    frames = (
        produce(topic.name, batch(b"x" * 5000, codec=1)),
        produce(topic.name, batch(b"x" * 300, codec=1), correlation_id=2),
    )
    return Case(
        "recompress/grows",
        "the size is checked again after recompression: MESSAGE_TOO_LARGE",
        (Send(frames), Settle(), ReadLog(topic.name)),
        (topic,),
    )


def _segment() -> Case:
    topic = Topic("size-segment", configs={"segment.bytes": "1048576", "max.message.bytes": "3000000"})
    frames = (produce(topic.name, _of_size(1048577)), produce(topic.name, _of_size(1048576), correlation_id=2))
    return Case(
        "size/segment",
        "a batch that does not fit into a segment: RECORD_LIST_TOO_LARGE",
        (Send(frames), Settle(), ReadLog(topic.name)),
        (topic,),
    )


CASES: list[Case] = [
    *cases("size", _SIZES, max_message_bytes="500"),
    _segment(),
    *cases("create-time", _CREATE_TIME),
    *cases("before-max", _BEFORE, message_timestamp_before_max_ms="3600000"),
    *cases("append-time", _LOG_APPEND_TIME, message_timestamp_type="LogAppendTime"),
    *cases("compacted", _COMPACTED, cleanup_policy="compact"),
    *cases("recompress", _TWO_CODECS, compression_type="gzip"),
    *cases(
        "decompress",
        {name: row for name, row in _TWO_CODECS.items() if name != "negative-time"},
        compression_type="uncompressed",
    ),
    *cases("decompressed-max", _DECOMPRESSED, max_decompressed_message_bytes="1000"),
    _grows(),
]
