"""Kafka's two iterators over records, written down field by field: slow, plain, and the oracle of the record walk.

Source   clients/.../record/DefaultRecord.java readFrom, readPartiallyFrom; DefaultRecordBatch.java;
         clients/.../utils/ByteUtils.java @ 4.0.
"""

from __future__ import annotations

from typing import NamedTuple

INVALID_RECORD, UNKNOWN = 87, -1


class Refused(Exception):
    """`code` is the error of the partition."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Seen(NamedTuple):
    timestamp_ms: int
    offset_delta: int
    has_key: bool


class _IllegalArgument(Exception):
    pass


def as_int(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    @property
    def remaining(self) -> int:
        return len(self.data) - self.position

    def byte(self) -> int:
        if self.position >= len(self.data):
            raise EOFError
        self.position += 1
        return self.data[self.position - 1]

    def number(self, bits: int) -> int:
        value = 0
        for place in range(5 if bits == 32 else 10):
            byte = self.byte()
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                value &= (1 << bits) - 1
                return as_int((value >> 1) ^ -(value & 1), bits)
        raise _IllegalArgument

    def skip(self, size: int) -> None:
        if size > self.remaining:
            raise _IllegalArgument
        self.position += max(size, 0)


def read_from(reader: Reader, base_timestamp_ms: int) -> Seen:
    """The whole record. An overlong size is the caller's: Kafka reads it outside of the try."""
    size = reader.number(32)
    if reader.remaining < size:
        raise Refused(INVALID_RECORD)
    start = reader.position
    try:
        reader.byte()
        timestamp_ms = as_int(base_timestamp_ms + reader.number(64), 64)
        offset_delta = reader.number(32)
        key_size = reader.number(32)
        reader.skip(key_size)
        reader.skip(reader.number(32))
        headers = reader.number(32)
        if headers < 0 or headers > reader.remaining:
            raise Refused(INVALID_RECORD)
        for _ in range(headers):
            header_key_size = reader.number(32)
            if header_key_size < 0:
                raise Refused(INVALID_RECORD)
            reader.skip(header_key_size)
            reader.skip(reader.number(32))
    except (EOFError, _IllegalArgument):
        raise Refused(INVALID_RECORD) from None
    if reader.position - start != size:
        raise Refused(INVALID_RECORD)
    return Seen(timestamp_ms, offset_delta, key_size >= 0)


def read_partially_from(reader: Reader, base_timestamp_ms: int) -> Seen:
    """The record without its key, value and headers; the size it claims is not compared with what it has.

    A negative one is refused since 4.4.
    """
    if reader.number(32) < 0:
        raise Refused(INVALID_RECORD)
    reader.byte()
    timestamp_ms = as_int(base_timestamp_ms + reader.number(64), 64)
    offset_delta = reader.number(32)
    key_size = reader.number(32)
    reader.skip(key_size)
    reader.skip(reader.number(32))
    headers = reader.number(32)
    if headers < 0:
        raise Refused(INVALID_RECORD)
    for _ in range(headers):
        header_key_size = reader.number(32)
        if header_key_size < 0:
            raise Refused(INVALID_RECORD)
        reader.skip(header_key_size)
        reader.skip(reader.number(32))
    return Seen(timestamp_ms, offset_delta, key_size >= 0)


def iterate(data: bytes, count: int, base_timestamp_ms: int, *, full: bool) -> list[Seen]:
    """The records of an uncompressed batch (full), or of a compressed one that stays as it is."""
    reader = Reader(data)
    seen = []
    for _ in range(count):
        try:
            seen.append((read_from if full else read_partially_from)(reader, base_timestamp_ms))
        except EOFError:
            raise Refused(INVALID_RECORD) from None
        except _IllegalArgument:
            raise Refused(UNKNOWN if full else INVALID_RECORD) from None
    if reader.remaining:
        raise Refused(INVALID_RECORD)
    return seen
