"""A walk over the records of a batch that makes no objects of them.

Theory   A leader needs few facts: are the records whole, what is the latest timestamp, has each a key, do the offset
         deltas run 0, 1, 2 ... `walk_records` determines them in one pass over the bytes, and raises where Kafka's
         iterator does.
         Kafka has two iterators, and so there are two modes. The full one reads every field and compares each record
         with the length it claims. The skipping one, for compressed batches that stay as they are, only follows the
         fields. It misses a wrong length, unless that is negative (4.4).
         `record_facts` visits walked records again, one by one, where a response must name the wrong record.
Units    positions and sizes are bytes; timestamps and their deltas are milliseconds.
Source   clients/.../record/DefaultRecord.java readFrom, readPartiallyFrom; DefaultRecordBatch.java RecordIterator;
         clients/.../utils/ByteUtils.java readVarint, readVarlong @ 4.0.
Differs  Nothing that a client can see. Like Kafka, and unlike `decode_records`, it takes any negative size for null. It
         drops the bits above 32 (or 64) of the last byte of a varint, and does not decode header keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from mypy_extensions import i64

from fakebroker.protocol.errors import InvalidRecordError

LARGEST_SIZE: Final = 2**31 - 1
_FAR: Final = 2**61  # compiled code compares numbers within this limit without making objects
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1


class OverlongSizeError(InvalidRecordError):
    """The varint with the size of a record does not end within five bytes.

    Kafka's iterator over uncompressed records raises IllegalArgumentException for this error alone.
    """


class RecordsSummary(NamedTuple):
    """The results of a walk. Deltas count from the batch's base timestamp and base offset."""

    earliest_delta_ms: int
    latest_delta_ms: int
    null_keys: int
    in_order: bool


class RecordFacts(NamedTuple):
    """One record. Its key, value and headers are the bytes from `body` to `end`; a size of -1 is null."""

    timestamp_ms: int
    offset_delta: int
    key_size: int
    value_size: int
    body: int
    end: int


def walk_records(
    data: bytes, start: int, count: int, check_sizes: bool, largest_size: int = LARGEST_SIZE
) -> RecordsSummary:
    """Call `walk`, and return its results with names."""
    return RecordsSummary(*walk(data, start, count, check_sizes, largest_size))


def walk(
    data: bytes, start: i64, count: i64, check_sizes: bool, largest_size: i64 = LARGEST_SIZE
) -> tuple[i64, i64, i64, bool]:
    """Check `count` records that begin at `start` and must end where `data` ends. Return the fields of RecordsSummary.

    No record may claim more than `largest_size` bytes behind its size. Raises InvalidRecordError with the index of the
    first record that is not whole.
    """
    position, index, earliest, latest, null_keys, in_order = walk_whole(
        data, start, 0, count, check_sizes, largest_size, 0, 0, 0, True
    )
    if index < count:
        raise InvalidRecordError(f"The bytes end within record {index}.")
    end: i64 = len(data)
    if position != end:
        if position > end:
            raise InvalidRecordError(f"The bytes end within record {count - 1}.")
        raise InvalidRecordError(f"{end - position} bytes are left behind the last record.")
    return earliest, latest, null_keys, in_order


def walk_whole(
    data: bytes,
    start: i64,
    index: i64,
    count: i64,
    check_sizes: bool,
    largest_size: i64,
    earliest: i64,
    latest: i64,
    null_keys: i64,
    in_order: bool,
) -> tuple[i64, i64, i64, i64, i64, bool]:
    """Continue a walk from record `index` on, as far as there are whole records. Return the position and the index of
    the next one, and the facts so far. The value of the last record may extend beyond the end of `data`.

    Raises InvalidRecordError for an impossible record.
    """
    # Compiled, with numbers of 64 bits: 140 instructions a record; with Python's numbers it takes 900. The forms of one
    # and two bytes of each varint are inlined: calls for each field would take half of the time.
    position: i64 = start
    raw: i64
    low: i64
    no_key: i64
    try:
        while index < count:
            raw = data[position]
            position += 1
            if raw > 127:
                low = data[position]
                if low < 128:
                    raw = raw & 127 | low << 7
                    position += 1
                else:
                    raw, position = size_at(data, position - 1)
            size = raw >> 1
            if raw & 1 or size > largest_size:
                raise size_error(index, largest_size)
            claimed_end = position + size
            position += 1  # the attributes of a record are unused
            raw = data[position]
            delta: i64 = (raw >> 1) ^ -(raw & 1)
            position += 1
            if raw > 127:
                low = data[position]
                if low < 128:
                    raw = raw & 127 | low << 7
                    delta = (raw >> 1) ^ -(raw & 1)
                    position += 1
                else:
                    delta, position = delta_at(data, position - 1)
            if index == 0:
                earliest = latest = delta
            elif delta > latest:
                latest = delta
            elif delta < earliest:
                earliest = delta
            raw = data[position]
            position += 1
            if raw > 127:
                low = data[position]
                if low < 128:
                    raw = raw & 127 | low << 7
                    position += 1
                else:
                    raw, position = varint_at(data, position - 1)
            if raw != index << 1:
                in_order = False
            raw = data[position]
            position += 1
            if raw > 127:
                raw, position = varint_at(data, position - 1)
            no_key = raw & 1
            if not no_key:
                position += raw >> 1
            raw = data[position]
            position += 1
            if raw > 127:
                low = data[position]
                if low < 128:
                    raw = raw & 127 | low << 7
                    position += 1
                else:
                    raw, position = varint_at(data, position - 1)
            if not raw & 1:
                position += raw >> 1
            raw = data[position]
            position += 1
            if raw:
                position = skip_headers(data, position - 1, index)
            if check_sizes and position != claimed_end:
                raise end_error(index, position, claimed_end)
            null_keys += no_key
            start = position
            index += 1
    except IndexError:  # within the record: it is read again from its start
        pass
    return start, index, earliest, latest, null_keys, in_order


def size_error(index: int, largest_size: int) -> InvalidRecordError:
    return InvalidRecordError(f"Record {index} has a size below 0 or above {largest_size} bytes.")


def end_error(index: int, position: int, claimed_end: int) -> InvalidRecordError:
    side = "before" if position < claimed_end else "behind"
    return InvalidRecordError(
        f"Record {index} ends {abs(position - claimed_end)} bytes {side} the end that its size claims."
    )


def record_facts(data: bytes, start: int, count: int, base_timestamp_ms: int) -> Iterator[RecordFacts]:
    """Yield the records one by one, after `walk_records` found them whole."""
    position = start
    for index in range(count):
        _, position = varint_at(data, position)
        raw, position = varlong_at(data, position + 1)
        timestamp_ms = wrap_int64(base_timestamp_ms + ((raw >> 1) ^ -(raw & 1)))
        raw, body = varint_at(data, position)
        offset_delta = (raw >> 1) ^ -(raw & 1)
        key_size, position = field_at(data, body)
        value_size, position = field_at(data, position)
        position = skip_headers(data, position, index)
        yield RecordFacts(timestamp_ms, offset_delta, key_size, value_size, body, position)


def timestamp_range(earliest_delta_ms: int, latest_delta_ms: int, base_timestamp_ms: int) -> tuple[int, int] | None:
    """Return the earliest and the latest timestamp; None if one overflows 64 bits."""
    earliest = base_timestamp_ms + earliest_delta_ms
    latest = base_timestamp_ms + latest_delta_ms
    if earliest >= -_FAR and latest <= _FAR:
        return earliest, latest
    return (earliest, latest) if earliest >= _INT64_MIN and latest <= _INT64_MAX else None


def wrap_int64(value: int) -> int:
    """Return the number as Java's long has it after an overflow."""
    return (value - _INT64_MIN) % 2**64 + _INT64_MIN


def field_at(data: bytes, position: int) -> tuple[int, int]:
    """Return the size of a key or value and the position behind its bytes."""
    raw, position = varint_at(data, position)
    return (-1, position) if raw & 1 else (raw >> 1, position + (raw >> 1))


def skip_headers(data: bytes, position: i64, index: i64) -> i64:
    raw: i64
    size: i64
    raw, position = varint_at(data, position)
    if raw & 1:
        raise InvalidRecordError(f"Record {index} has a negative number of headers.")
    for _ in range(raw >> 1):
        size, position = varint_at(data, position)
        if size & 1:
            raise InvalidRecordError(f"Record {index} has a header key of negative size.")
        position += size >> 1
        size, position = varint_at(data, position)
        if not size & 1:
            position += size >> 1
    return position


def varint_at(data: bytes, position: i64) -> tuple[i64, i64]:
    """Return the zigzag bits of a varint of at most five bytes, and the position behind it."""
    raw: i64 = 0
    shift: i64 = 0
    while shift < 35:
        byte: i64 = data[position]
        position += 1
        raw |= (byte & 127) << shift
        if byte < 128:
            return raw & 0xFFFFFFFF, position
        shift += 7
    raise InvalidRecordError("A varint does not end within five bytes.")


def size_at(data: bytes, position: i64) -> tuple[i64, i64]:
    try:
        return varint_at(data, position)
    except InvalidRecordError as error:
        raise OverlongSizeError(str(error)) from None


def varlong_at(data: bytes, position: int) -> tuple[int, int]:
    """Return the zigzag bits of a varlong of at most ten bytes, and the position behind it."""
    raw = shift = 0
    while shift < 70:
        byte = data[position]
        position += 1
        raw |= (byte & 127) << shift
        if byte < 128:
            return raw & 0xFFFFFFFFFFFFFFFF, position
        shift += 7
    raise InvalidRecordError("A varlong does not end within ten bytes.")


def delta_at(data: bytes, position: i64) -> tuple[i64, i64]:
    """Return the number of a varlong, and the position behind it."""
    raw, behind = varlong_at(data, position)
    return (raw >> 1) ^ -(raw & 1), behind
