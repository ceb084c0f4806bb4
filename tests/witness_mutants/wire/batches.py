"""The fields of batches and records, as in the table of facts, and their changes. The CRC is corrected, unless the
change is about it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from fakebroker.protocol.batch_layout import (
    ATTRIBUTES_AT,
    CONTROL_FLAG,
    CRC_AT,
    LENGTH_AT,
    MAGIC_AT,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_FLAG,
    TRANSACTIONAL_FLAG,
)
from fakebroker.protocol.compression import Codec, compress
from fakebroker.protocol.record_batch import (
    BatchHeader,
    Record,
    compute_crc,
    encode_record,
    is_crc_valid,
    pack_batch,
    read_batch_header,
)
from fakebroker.protocol.varint import encode_varint
from fakebroker_load.wire.log_messages import records_of, whole_batches
from witness_mutants.wire.fields import FLAGS, NUMBERS, TEXTS

BATCH, ATTRIBUTES, RECORD = "batch", "batch attributes", "record"
A_BYTE = "a byte"  # of the records, in the place of a field
MENDED, NOT_MENDED = "another, CRC mended", "another, CRC not mended"
FLAG_BITS = {
    "timestamp_type": TIMESTAMP_TYPE_FLAG,
    "is_transactional": TRANSACTIONAL_FLAG,
    "is_control": CONTROL_FLAG,
    "delete_horizon": 0x40,
}
CHANGES: Mapping[tuple[str, str], tuple[str, ...]] = {
    **{(BATCH, name): NUMBERS for name in BatchHeader._fields if name != "attributes"},
    (BATCH, "crc"): ("another value",),
    (ATTRIBUTES, "compression"): ("another value",),
    **{(ATTRIBUTES, name): FLAGS for name in FLAG_BITS},
    **{(RECORD, name): TEXTS for name in ("key", "value")},
    (RECORD, "headers"): ("one more", "one less", "another value"),
    **{(RECORD, name): NUMBERS for name in ("offset_delta", "timestamp_ms")},
    (RECORD, "attributes"): ("another value",),
    (RECORD, A_BYTE): (MENDED, NOT_MENDED),
}
# The fields that the CRC does not cover, or that are mended: place in the batch, and size.
OF_WHOLE = {"batch_length": (LENGTH_AT, 4), "magic": (MAGIC_AT, 1), "crc": (CRC_AT, 4)}
Another = Callable[[Any, str, list[Any]], Any]  # a value, a change, the values of others -> another value


class NothingToChange(Exception):
    """The message has no such field, or no other value of it."""


def altered(
    data: bytes, thing: str, field: str, change: str, before: bytes | None, another: Another, draw: random.Random
) -> bytes:
    """Return batches with one field changed. `before` are the previous batches. Raises NothingToChange."""
    batches = [batch for _, batch in whole_batches(data)]
    if not batches:
        raise NothingToChange
    at = draw.randrange(len(batches))
    others = [batch for number, batch in enumerate(batches) if number != at]
    others += [batch for _, batch in whole_batches(before or b"")]
    change_one = _of_record if thing == RECORD else _of_header
    new = change_one(batches[at], field, change, others, another, draw)
    whole = sum(map(len, batches))
    return b"".join([*batches[:at], new, *batches[at + 1 :], data[whole:]])


def _of_header(
    batch: bytes, field: str, change: str, others: list[bytes], another: Another, draw: random.Random
) -> bytes:
    header, records = read_batch_header(batch), batch[RECORD_BATCH_OVERHEAD:]
    if field in (*FLAG_BITS, "compression"):
        bits = FLAG_BITS.get(field) or draw.choice(range(1, 8))
        return pack_batch(header._replace(attributes=header.attributes ^ bits), records)
    value = another(
        getattr(header, field), change, [getattr(read_batch_header(other_batch), field) for other_batch in others]
    )
    if field not in OF_WHOLE:
        return pack_batch(header._replace(**{field: value}), records)
    offset, size = OF_WHOLE[field]
    other: bytes = (value & (1 << 8 * size) - 1).to_bytes(size, "big")
    return batch[:offset] + other + batch[offset + size :]


def _of_record(
    batch: bytes, field: str, change: str, others: list[bytes], another: Another, draw: random.Random
) -> bytes:
    header = read_batch_header(batch)
    if field == A_BYTE:
        place = draw.randrange(RECORD_BATCH_OVERHEAD, len(batch))
        new = bytearray(batch)
        new[place] ^= draw.randrange(1, 256)
        if change == MENDED:
            new[CRC_AT:ATTRIBUTES_AT] = compute_crc(bytes(new), 0, len(new)).to_bytes(4, "big")
        return bytes(new)
    records = records_of(header, batch)
    if not records:
        raise NothingToChange
    at = draw.randrange(len(records))
    record = records[at]
    pieces = [_encoded(header, number, entry) for number, entry in enumerate(records)]
    if field == "attributes":
        pieces[at] = bytes([draw.randrange(1, 256)]) + pieces[at][1:]
    elif field == "headers":
        added = () if change == "one less" else (("another", b"header"),)
        kept = record.headers if change == "one more" else record.headers[:-1]
        pieces[at] = _encoded(header, at, record._replace(headers=(*kept, *added)))
    else:
        same = [other_record for number, other_record in enumerate(records) if number != at]
        same += [other_record for one in others for other_record in records_of(read_batch_header(one), one) or ()]
        value = another(getattr(record, field), change, [getattr(other_record, field) for other_record in same])
        pieces[at] = _encoded(header, at, record._replace(**{field: value}))
    plain = b"".join(encode_varint(len(piece)) + piece for piece in pieces)
    return pack_batch(header, compress(Codec(header.compression), plain))


def _encoded(header: BatchHeader, number: int, record: Record) -> bytes:
    """Return the bytes of a record without their length."""
    timestamp_ms = header.base_timestamp_ms if record.timestamp_ms is None else record.timestamp_ms
    delta = number if record.offset_delta is None else record.offset_delta
    return encode_record(record, timestamp_ms - header.base_timestamp_ms, delta)


def is_whole(data: bytes) -> bool:
    """Return True if each batch has the CRC of its bytes, and nothing is behind the last one."""
    batches = [batch for _, batch in whole_batches(data)]
    return sum(map(len, batches)) == len(data) and all(is_crc_valid(batch, 0, len(batch)) for batch in batches)
