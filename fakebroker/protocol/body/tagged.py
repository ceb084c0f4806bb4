"""A walk over the tagged section of a struct: fields that kio does not know are cut out (check.py).

Units    offsets and sizes are bytes, from the start of the frame.
Source   KIP-482
Differs  One section has at most a thousand known fields: each may be repeated, and the last one counts. kio reads each
         of them, and Kafka any number.
"""

from __future__ import annotations

from fakebroker.protocol.body.fields import Edits, Part, Step, TooMany, has_lost_bits
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.varint import decode_kept_bits, encode_unsigned_varint

_MOST_KNOWN = 1_000


def tagged_section(known: dict[int, tuple[str, Part]]) -> Step:
    def walk(frame: bytes, offset: int, edits: Edits) -> int:
        if frame[offset] == 0:
            return offset + 1
        start = offset
        count, offset = section_head(frame, offset)
        count_end = offset
        edits.elements += count
        if edits.elements > edits.limit:
            raise TooMany
        offset, unknown = tagged_fields(known, frame, offset, edits, count)
        end_section(frame, start, count_end, edits, count, unknown)
        return offset

    return walk


def section_head(frame: bytes, offset: int) -> tuple[int, int]:
    """Return the number of tagged fields, and the offset of the first."""
    count, offset = decode_kept_bits(frame, offset)
    if count * 2 > len(frame) - offset:
        raise ProtocolError(f"a section claims {count} tagged fields, and only {len(frame) - offset} bytes are left")
    return max(count, 0), offset


def tagged_fields(
    known: dict[int, tuple[str, Part]], frame: bytes, offset: int, edits: Edits, count: int
) -> tuple[int, int]:
    """Walk over `count` tagged fields. Return the offset behind them, and the number of unknown ones."""
    unknown = 0
    for _ in range(count):
        field_start = offset
        tag, offset, size = tagged_field_head(known, frame, offset, edits)
        found = known.get(tag)
        if found is not None:
            offset = found[1].step(frame, offset, edits)
            continue
        offset += size
        if size < 0 or offset > len(frame):
            raise ProtocolError(f"a tagged field claims {size} bytes, {offset - len(frame)} more than there are")
        if edits and edits[-1][1:] == (field_start, b""):
            # One cut for all fields in a row: a frame full of tags must not become a list of millions.
            field_start = edits.pop()[0]
        edits.append((field_start, offset, b""))
        unknown += 1
    return offset, unknown


def tagged_field_head(
    known: dict[int, tuple[str, Part]], frame: bytes, offset: int, edits: Edits
) -> tuple[int, int, int]:
    """Return the tag of a field, the offset of its value, and its size, which is not reliable for a known field."""
    tag, size_start = decode_kept_bits(frame, offset)
    size, start = decode_kept_bits(frame, size_start)
    if tag in known and (has_lost_bits(frame, offset, size_start) or has_lost_bits(frame, size_start, start)):
        # The size is not used, so any will do.
        edits.append((offset, start, encode_unsigned_varint(tag) + b"\0"))
    return tag, start, size


def end_section(frame: bytes, start: int, count_end: int, edits: Edits, count: int, unknown: int) -> None:
    """Correct the count for kio, after the walk over all fields of a section."""
    if count - unknown > _MOST_KNOWN:
        raise ProtocolError(f"a section has {count - unknown} tagged fields that are known, most of them again")
    if unknown or has_lost_bits(frame, start, count_end):
        edits.append((start, count_end, encode_unsigned_varint(count - unknown)))
