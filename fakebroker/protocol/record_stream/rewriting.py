"""A stream that rewrites records as Kafka writes them.

Theory   Kafka writes -1 for null, the shortest varints, header keys decoded as text, offsets 0, 1, 2 ..., and
         timestamps relative to the first one. A record begins with its size, and may be arbitrarily long. So there are
         two passes in the same pieces. `measure` notes the sizes of records that cross the ends of pieces, and of
         header keys that are longer than a piece. `write` needs these sizes. Records within a piece are measured when
         they are written.
Units    sizes are bytes; timestamps and their deltas milliseconds.
Source   clients/.../record/DefaultRecord.java writeTo @ 4.0.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from typing import Final

from mypy_extensions import i64

from fakebroker.protocol.record_stream.fields import RecordFields
from fakebroker.protocol.record_walk import LARGEST_SIZE, delta_at, skip_headers, varint_at, wrap_int64
from fakebroker.protocol.varint import encode_varint

_LONG_KEY: Final = 64 * 1024
_decoder: Final = getincrementaldecoder("utf-8")


class RecordSizes:
    """The sizes that `measure` found and `write` needs, in the order of their use."""

    def __init__(self) -> None:
        self.cut_records: list[int] = []
        self.long_keys: list[int] = []


class RewritingStream(RecordFields):
    """A stream that rewrites records after a check of all of them. `take` returns the output since the last call.

    timestamp_ms        the timestamp of all records, or None if each has its own
    first_timestamp_ms  known after the first record
    """

    def __init__(
        self, count: i64, base_timestamp_ms: int, timestamp_ms: int | None, measured: RecordSizes, writes: bool
    ) -> None:
        super().__init__(count, False, LARGEST_SIZE)
        self.wants_bytes = True
        self.first_timestamp_ms = -1
        self._base_timestamp_ms = base_timestamp_ms
        self._timestamp_ms = timestamp_ms
        self._measured = measured
        self._writes = writes
        self._written = bytearray()
        self._size: i64 = 0  # of the incomplete record, as far as it has come
        self._start = b""
        self._cut_records = 0
        self._long_keys = 0
        self._is_key = False  # the next bytes are a header key
        self._key_size: i64 = 0
        self._key_parts: list[bytes] = []
        self._key_decoder = _decoder("replace")

    def take(self) -> bytes:
        written = bytes(self._written)
        self._written.clear()
        return written

    def whole_records(self, data: bytes, position: i64) -> i64:
        end: i64 = len(data)
        start = position
        raw: i64
        while self.index < self.count:
            try:
                _, position = varint_at(data, start)
                delta, position = delta_at(data, position + 1)
                _, position = varint_at(data, position)
                body = position
                for _ in range(2):
                    raw, position = varint_at(data, position)
                    if not raw & 1:
                        position += raw >> 1
                headers = position
                has_headers = data[position] != 0
                position = skip_headers(data, position, self.index)
            except IndexError:
                break
            if position > end:
                break
            start = position
            first = self._first_fields(delta)
            if self._writes:
                fields = canonical_fields(data, body, headers, has_headers)
                self._written += encode_varint(len(first) + len(fields))
                self._written += first
                self._written += fields
            self.index += 1
        return start

    def whole_headers(self, data: bytes, position: i64) -> i64:
        end: i64 = len(data)
        start = position
        raw: i64
        while self.headers_left > 1:
            try:
                raw, key_start = varint_at(data, position)
                if raw & 1:
                    raise self.header_key_error()
                key_end = key_start + (raw >> 1)
                raw, position = varint_at(data, key_end)
            except IndexError:
                break
            value_start = position
            if not raw & 1:
                position += raw >> 1
            if position > end or key_end - key_start > _LONG_KEY:
                break
            key = canonical_key(data[key_start:key_end])
            self._put(encode_varint(len(key)))
            self._put(key)
            self._put(encode_varint(-1 if raw & 1 else int(raw >> 1)))
            if position > value_start:
                self._put(data[value_start:position])
            self.headers_left -= 1
            start = position
        return start

    def _first_fields(self, delta_ms: int) -> bytes:
        timestamp_ms = self._timestamp_ms
        if timestamp_ms is None:
            timestamp_ms = wrap_int64(self._base_timestamp_ms + delta_ms)
        if self.index == 0:
            self.first_timestamp_ms = timestamp_ms
        return b"\0" + encode_varint(timestamp_ms - self.first_timestamp_ms) + encode_varint(int(self.index))

    # An incomplete record.

    def on_record(self) -> None:
        self._size = 0

    def on_timestamp(self, delta_ms: int) -> None:
        self._start = self._first_fields(delta_ms)

    def on_offset(self, delta: i64) -> None:
        if self._writes:
            self._written += encode_varint(self._measured.cut_records[self._cut_records])
            self._cut_records += 1
        self._put(self._start)

    def on_key(self, size: i64) -> None:
        self._put(encode_varint(int(size)))

    def on_value(self, size: i64) -> None:
        self._put(encode_varint(int(size)))

    def on_headers(self, count: i64) -> None:
        self._put(encode_varint(int(count)))

    def on_header_key(self, size: i64) -> None:
        self._is_key = True
        self._key_size = size
        if size > _LONG_KEY:
            self._key_decoder = _decoder("replace")
            if self._writes:
                self._put(encode_varint(self._measured.long_keys[self._long_keys]))
                self._long_keys += 1
            else:
                self._measured.long_keys.append(0)

    def on_bytes(self, data: bytes) -> None:
        if not self._is_key:
            self._put(data)
        elif self._key_size > _LONG_KEY:
            self._put_of_long_key(self._key_decoder.decode(data).encode())
        else:
            self._key_parts.append(data)

    def on_header_value(self, size: i64) -> None:
        self._is_key = False
        if self._key_size > _LONG_KEY:
            self._put_of_long_key(self._key_decoder.decode(b"", True).encode())
            if not self._writes:  # the length of its size is known only now
                self._size += len(encode_varint(self._measured.long_keys[-1]))
        else:
            key = canonical_key(b"".join(self._key_parts))
            self._key_parts = []
            self._put(encode_varint(len(key)))
            self._put(key)
        self._put(encode_varint(int(size)))

    def on_record_end(self) -> None:
        if not self._writes:
            self._measured.cut_records.append(int(self._size))

    def _put_of_long_key(self, text: bytes) -> None:
        if not self._writes:
            self._measured.long_keys[-1] += len(text)
        self._put(text)

    def _put(self, part: bytes) -> None:
        if self._writes:
            self._written += part
        else:
            self._size += len(part)


def canonical_key(key: bytes) -> bytes:
    """Return the key decoded and encoded as text."""
    return key if key.isascii() else key.decode(errors="replace").encode()


def canonical_fields(data: bytes, body: i64, headers: i64, has_headers: bool) -> bytes:
    """Return key, value and headers of a whole record; `body` is the position of the key's size, `headers` their
    number."""
    position = body
    parts: list[bytes] = []
    for _ in range(2):
        position = _sized(data, position, parts)
    if not has_headers:
        parts.append(b"\0")
        return b"".join(parts)
    raw, position = varint_at(data, headers)
    count = raw >> 1
    parts.append(encode_varint(int(count)))
    for _ in range(count):
        raw, position = varint_at(data, position)
        size = raw >> 1
        key = canonical_key(data[position : position + size])
        parts += encode_varint(len(key)), key
        position = _sized(data, position + size, parts)
    return b"".join(parts)


def _sized(data: bytes, position: i64, parts: list[bytes]) -> i64:
    raw, position = varint_at(data, position)
    if raw & 1:
        parts.append(b"\1")
        return position
    size = raw >> 1
    parts.append(encode_varint(int(size)))
    if size:
        parts.append(data[position : position + size])
    return position + size
