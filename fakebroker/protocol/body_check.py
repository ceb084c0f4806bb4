"""Look over the body of a message before kio reads it, and hand kio only what it can read.

Theory   kio 0.6.5 is fast and trusting. What it gets wrong with bytes from strangers, and what happens here:
           an array count above what is left   kio allocates for it first; a count in the billions aborts the whole
                                               process, and no exception can be caught   -> ProtocolError, as in Kafka
           null for an array that has no null  kio gives None                            -> ProtocolError, as in Kafka
           a tagged field it does not know     kio raises; KIP-482 says to skip it       -> cut out of a copy
           a boolean that is neither 0 nor 1   kio raises; Kafka takes it for true       -> made 1 in a copy
           a struct marked null, but not by -1 kio reads on; Kafka looks at the sign     -> made -1 in a copy
           a length of -2 or less              kio raises; Kafka takes it for null       -> made -1 in a copy
           a varint with bits above the 32nd   kio raises; Kafka lets them fall off      -> written again in a copy
           text that is no UTF-8               kio raises; Kafka puts U+FFFD for it      -> `text_repair`, the same in
                                                                                            a copy, when kio has raised
         Everything else, such as null strings where none may be, kio reports by itself.

         A check is a chain of steps made once per message class. A step takes the frame and an offset and gives the
         offset behind its field, and so walks exactly as kio does: the size of a known tagged field is not believed by
         kio, by Kafka, or here. Fields of fixed size in a row are one step.
Units    offsets and sizes are bytes, from the start of the frame.
Source   clients/src/main/java/org/apache/kafka/common/protocol/Readable.java, and the readers that
         generator/src/main/java/org/apache/kafka/message/MessageDataGenerator.java writes; KIP-482
Differs  Text of 32 KiB or more after its repair is an error; Kafka reads it, but cannot write an answer that holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from functools import cache
from struct import Struct, error
from types import NoneType, UnionType
from typing import NamedTuple, cast, get_args, get_origin

from kio.static.protocol import Entity, Payload

from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.varint import decode_kept_bits, encode_unsigned_varint

__all__ = ["Check", "Edits", "body_check", "body_walk", "text_repair"]


class Edits(list[tuple[int, int, bytes]]):
    """What is different in the copy: from, to, what stands there instead."""

    repairs_text = False


class _TextEdits(Edits):
    repairs_text = True


Step = Callable[[bytes, int, Edits], int]
Check = Callable[[bytes, int], tuple[bytes, int]]

_I16 = Struct(">h")
_I32 = Struct(">i")

_INT32_MIN, _INT32_MAX = -(1 << 31), (1 << 31) - 1
_LARGEST_TEXT = 0x7FFF  # bytes

_FIXED_SIZES = {
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


class _Part(NamedTuple):
    """A step, the fewest bytes its field can take, and whether it always takes that many."""

    step: Step
    smallest: int
    is_fixed: bool = False


def body_check(message_type: type[Payload]) -> Check:
    """The check for one message class: (frame, offset) to what kio is to read, mostly the same frame and offset.

    The check raises ProtocolError when a count is not possible or the bytes end within the body.
    """
    return _check(body_walk(message_type), Edits)


@cache
def text_repair(message_type: type[Payload]) -> Check:
    """The same check, which also puts U+FFFD into the copy for what is no UTF-8."""
    return _check(body_walk(message_type), _TextEdits)


def _check(walk: Step, edits_type: type[Edits]) -> Check:
    def check(frame: bytes, offset: int) -> tuple[bytes, int]:
        edits = edits_type()
        try:
            walk(frame, offset, edits)
        except (IndexError, error):
            raise ProtocolError("the bytes end within it") from None
        return _edited(frame, offset, edits) if edits else (frame, offset)

    return check


def body_walk(message_type: type[Payload]) -> Step:
    """The steps of one message class: (frame, offset, edits) to the offset behind its body."""
    return _struct(message_type).step


def _edited(frame: bytes, offset: int, edits: Edits) -> tuple[bytes, int]:
    parts: list[bytes] = []
    for start, end, instead in sorted(edits):
        parts += frame[offset:start], instead
        offset = end
    parts.append(frame[offset:])
    return b"".join(parts), 0


def _struct(message_type: type[Entity]) -> _Part:
    """All fields of a message or a nested struct in order, and its tagged section."""
    flexible: bool = message_type.__flexible__
    parts: list[_Part] = []
    tagged: dict[int, Step] = {}
    for field in fields(message_type):
        if "tag" in field.metadata:
            tagged[field.metadata["tag"]] = _field(field, flexible, is_tagged=True).step
            continue
        part = _field(field, flexible)
        if part.is_fixed and parts and parts[-1].is_fixed:
            part = _fixed(parts.pop().smallest + part.smallest)
        parts.append(part)
    if flexible:
        parts.append(_Part(_tagged_section(tagged), 1))
    if len(parts) == 1:
        return parts[0]
    steps = [part.step for part in parts]

    def walk(frame: bytes, offset: int, edits: Edits) -> int:
        for step in steps:
            offset = step(frame, offset, edits)
        return offset

    return _Part(walk, sum(part.smallest for part in parts))


def _field(field: Field[object], flexible: bool, is_tagged: bool = False) -> _Part:
    kind, nullable = _without_none(field.type)
    if get_origin(kind) is tuple:
        element, _ = _without_none(get_args(kind)[0])
        # kio reads a tagged field as if it had no null, whatever its type says.
        return _array(_value(element, field, flexible), flexible, nullable and not is_tagged)
    value = _value(kind, field, flexible)
    return _nullable_struct(value) if nullable and not is_tagged and is_dataclass(kind) else value


def _without_none(kind: object) -> tuple[object, bool]:
    if get_origin(kind) is not UnionType:
        return kind, False
    (kept,) = (choice for choice in get_args(kind) if choice is not NoneType)
    return kept, True


def _value(kind: object, field: Field[object], flexible: bool) -> _Part:
    if isinstance(kind, type) and is_dataclass(kind):
        return _struct(cast("type[Entity]", kind))
    kafka_type = field.metadata["kafka_type"]
    if kafka_type == "bool":
        return _Part(_bool, 1)
    if kafka_type == "string":
        return _Part(_compact_string, 1) if flexible else _Part(_plain_string, 2)
    if kafka_type in ("bytes", "records"):
        return _Part(_compact_bytes, 1) if flexible else _Part(_plain_bytes, 4)
    return _fixed(_FIXED_SIZES[kafka_type])


def _fixed(size: int) -> _Part:
    return _Part(lambda frame, offset, edits: offset + size, size, is_fixed=True)


def _bool(frame: bytes, offset: int, edits: Edits) -> int:
    if frame[offset] > 1:
        edits.append((offset, offset + 1, b"\x01"))
    return offset + 1


def _plain_string(frame: bytes, offset: int, edits: Edits) -> int:
    size: int = _I16.unpack_from(frame, offset)[0]
    start = offset + 2
    if size < -1:
        edits.append((offset, start, b"\xff\xff"))
    elif size > 0:
        if edits.repairs_text and (text := _repaired(frame[start : start + size])):
            edits.append((offset, start + size, _I16.pack(len(text)) + text))
        return start + size
    return start


def _plain_bytes(frame: bytes, offset: int, edits: Edits) -> int:
    size: int = _I32.unpack_from(frame, offset)[0]
    if size < -1:
        edits.append((offset, offset + 4, b"\xff" * 4))
    return offset + 4 + max(size, 0)


def _compact_string(frame: bytes, offset: int, edits: Edits) -> int:
    if not edits.repairs_text:
        return _compact_bytes(frame, offset, edits)
    size, start = _compact_length(frame, offset, Edits())
    end = start + max(size, 0)
    if text := _repaired(frame[start:end]):
        edits.append((offset, end, encode_unsigned_varint(len(text) + 1) + text))
        return end
    return _compact_bytes(frame, offset, edits)


def _compact_bytes(frame: bytes, offset: int, edits: Edits) -> int:
    size = frame[offset]
    if 0 < size < 128:
        return offset + size
    size, offset = _compact_length(frame, offset, edits)
    return offset + max(size, 0)


def _compact_length(frame: bytes, offset: int, edits: Edits) -> tuple[int, int]:
    """The length of a compact field, -1 for null, and the offset behind it."""
    raw, end = decode_kept_bits(frame, offset)
    if raw < 0:
        # Java's int: the smallest number minus one is the largest.
        edits.append((offset, end, b"\0"))
        return (_INT32_MAX if raw == _INT32_MIN else -1), end
    if _has_lost_bits(frame, offset, end):
        edits.append((offset, end, encode_unsigned_varint(raw)))
    return raw - 1, end


def _has_lost_bits(frame: bytes, offset: int, end: int) -> bool:
    return end - offset == 5 and frame[end - 1] > 0x0F


def _repaired(text: bytes) -> bytes | None:
    """The text with U+FFFD for what is no UTF-8; None if nothing is wrong with it."""
    try:
        text.decode()
    except UnicodeDecodeError:
        repaired = text.decode(errors="replace").encode()
        if len(repaired) > _LARGEST_TEXT:
            raise ProtocolError("a text is no UTF-8") from None
        return repaired
    return None


def _array(element: _Part, flexible: bool, nullable: bool) -> _Part:
    step, smallest, is_fixed = element

    def walk(frame: bytes, offset: int, edits: Edits) -> int:
        if flexible:
            count, offset = _compact_length(frame, offset, edits)
        else:
            (count,) = _I32.unpack_from(frame, offset)
            offset += 4
            if count < -1:
                edits.append((offset - 4, offset, b"\xff" * 4))
        if count < 0:
            if not nullable:
                raise ProtocolError("an array must not be null")
            return offset
        if count * smallest > len(frame) - offset:
            raise ProtocolError(f"an array claims {count} elements, and only {len(frame) - offset} bytes are left")
        if is_fixed:
            return offset + count * smallest
        for _ in range(count):
            offset = step(frame, offset, edits)
        return offset

    return _Part(walk, 1 if flexible else 4)


def _nullable_struct(struct: _Part) -> _Part:
    def walk(frame: bytes, offset: int, edits: Edits) -> int:
        marker = frame[offset]
        if marker < 128:
            return struct.step(frame, offset + 1, edits)
        if marker != 0xFF:
            edits.append((offset, offset + 1, b"\xff"))
        return offset + 1

    return _Part(walk, 1)


def _tagged_section(known: dict[int, Step]) -> Step:
    def walk(frame: bytes, offset: int, edits: Edits) -> int:
        if frame[offset] == 0:
            return offset + 1
        start = offset
        count, offset = decode_kept_bits(frame, offset)
        count = max(count, 0)
        count_end = offset
        unknown = 0
        for _ in range(count):
            field_start = offset
            tag, size_start = decode_kept_bits(frame, offset)
            size, offset = decode_kept_bits(frame, size_start)
            step = known.get(tag)
            if step is not None:
                if _has_lost_bits(frame, field_start, size_start) or _has_lost_bits(frame, size_start, offset):
                    # The size is not believed, so any will do.
                    edits.append((field_start, offset, encode_unsigned_varint(tag) + b"\0"))
                offset = step(frame, offset, edits)
                continue
            offset += size
            if size < 0 or offset > len(frame):
                raise ProtocolError(f"a tagged field claims {size} bytes, {offset - len(frame)} more than there are")
            if edits and edits[-1][1:] == (field_start, b""):
                # One cut for all in a row: a frame full of tags must not become a list of millions.
                field_start = edits.pop()[0]
            edits.append((field_start, offset, b""))
            unknown += 1
        if unknown or _has_lost_bits(frame, start, count_end):
            edits.append((start, count_end, encode_unsigned_varint(count - unknown)))
        return offset

    return walk
