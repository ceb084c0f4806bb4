"""The fields of a message, each a step: from its beginning to its end, with the repairs on the way.

check.py lists the repairs and their reasons.

Units    offsets and sizes are bytes, from the start of the frame.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from sys import maxsize
from typing import NamedTuple

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.varint import decode_kept_bits, encode_unsigned_varint


class TooMany(Exception):
    """A walk found more elements than its limit."""


class Edits(list[tuple[int, int, bytes]]):
    """The differences of the copy: from, to, and the bytes in between. Also the number of elements in arrays and tagged
    fields so far. An array that would exceed the `limit` raises TooMany before the walk."""

    repairs_text = False
    elements = 0
    limit = maxsize


Step = Callable[[bytes, int, Edits], int]

_I16 = Struct(">h")
_I32 = Struct(">i")

_INT32_MIN, _INT32_MAX = -(1 << 31), (1 << 31) - 1
_LARGEST_TEXT = 0x7FFF  # bytes

FIXED_SIZES = {
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "error_code": 2,
    "int32": 4,
    "uint32": 4,
    "timedelta_i32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
    "timedelta_i64": 8,
    "datetime_i64": 8,
    "uuid": 16,
}


class Part(NamedTuple):
    """A step, the fewest bytes its field can take, and whether it always takes that many. `inside`: the parts of a
    field that may take long (shape.py)."""

    step: Step
    smallest: int
    is_fixed: bool = False
    inside: object = None


def fixed(size: int) -> Part:
    return Part(lambda frame, offset, edits: offset + size, size, is_fixed=True)


def boolean(frame: bytes, offset: int, edits: Edits) -> int:
    if frame[offset] > 1:
        edits.append((offset, offset + 1, b"\x01"))
    return offset + 1


def string(frame: bytes, offset: int, edits: Edits) -> int:
    size: int = _I16.unpack_from(frame, offset)[0]
    start = offset + 2
    if size < -1:
        edits.append((offset, start, b"\xff\xff"))
    elif size > 0:
        if edits.repairs_text and (text := _repaired(frame[start : start + size])):
            edits.append((offset, start + size, _I16.pack(len(text)) + text))
        return start + size
    return start


def nullable_bytes(frame: bytes, offset: int, edits: Edits) -> int:
    size: int = _I32.unpack_from(frame, offset)[0]
    if size < -1:
        edits.append((offset, offset + 4, b"\xff" * 4))
    return offset + 4 + max(size, 0)


def compact_string(frame: bytes, offset: int, edits: Edits) -> int:
    if not edits.repairs_text:
        end = compact_bytes(frame, offset, edits)
        if end - offset > _LARGEST_TEXT:
            _refuse_long(compact_length(frame, offset, Edits())[0])
        return end
    size, start = compact_length(frame, offset, Edits())
    end = start + max(size, 0)
    if text := _repaired(frame[start:end]):
        edits.append((offset, end, encode_unsigned_varint(len(text) + 1) + text))
        return end
    return compact_bytes(frame, offset, edits)


def _refuse_long(size: int) -> None:
    if size > _LARGEST_TEXT:
        raise ProtocolError(f"a text has {size} bytes, and may have {_LARGEST_TEXT}")


def compact_bytes(frame: bytes, offset: int, edits: Edits) -> int:
    size = frame[offset]
    if 0 < size < 128:
        return offset + size
    size, offset = compact_length(frame, offset, edits)
    return offset + max(size, 0)


def compact_length(frame: bytes, offset: int, edits: Edits) -> tuple[int, int]:
    """Return the length of a compact field, -1 for null, and the offset behind it."""
    raw, end = decode_kept_bits(frame, offset)
    if raw < 0:
        # As a Java int: the smallest number minus one is the largest.
        edits.append((offset, end, b"\0"))
        return (_INT32_MAX if raw == _INT32_MIN else -1), end
    if has_lost_bits(frame, offset, end):
        edits.append((offset, end, encode_unsigned_varint(raw)))
    return raw - 1, end


def has_lost_bits(frame: bytes, offset: int, end: int) -> bool:
    return end - offset == 5 and frame[end - 1] > 0x0F


def _repaired(text: bytes) -> bytes | None:
    """Return the text with U+FFFD for what is no UTF-8; None if the text is valid."""
    try:
        text.decode()
    except UnicodeDecodeError:
        repaired = text.decode(errors="replace").encode()
        if len(repaired) > _LARGEST_TEXT:
            raise ProtocolError("a text is no UTF-8") from None
        return repaired
    return None
