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
from typing import cast, get_args, get_origin

from kio.static.protocol import Entity, Payload

from fakebroker.protocol.body.fields import (
    FIXED_SIZES,
    Edits,
    Part,
    Step,
    boolean,
    compact_bytes,
    compact_length,
    compact_string,
    fixed,
    has_lost_bits,
    nullable_bytes,
    string,
)
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.varint import decode_kept_bits, encode_unsigned_varint

__all__ = ["Check", "Edits", "body_check", "body_walk", "text_repair"]


class _TextEdits(Edits):
    repairs_text = True


Check = Callable[[bytes, int], tuple[bytes, int]]

_COUNT = Struct(">i")  # of an array


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


def _struct(message_type: type[Entity]) -> Part:
    """All fields of a message or a nested struct in order, and its tagged section."""
    flexible: bool = message_type.__flexible__
    parts: list[Part] = []
    tagged: dict[int, Step] = {}
    for field in fields(message_type):
        if "tag" in field.metadata:
            tagged[field.metadata["tag"]] = _field(field, flexible, is_tagged=True).step
            continue
        part = _field(field, flexible)
        if part.is_fixed and parts and parts[-1].is_fixed:
            part = fixed(parts.pop().smallest + part.smallest)
        parts.append(part)
    if flexible:
        parts.append(Part(_tagged_section(tagged), 1))
    if len(parts) == 1:
        return parts[0]
    steps = [part.step for part in parts]

    def walk(frame: bytes, offset: int, edits: Edits) -> int:
        for step in steps:
            offset = step(frame, offset, edits)
        return offset

    return Part(walk, sum(part.smallest for part in parts))


def _field(field: Field[object], flexible: bool, is_tagged: bool = False) -> Part:
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


def _value(kind: object, field: Field[object], flexible: bool) -> Part:
    if isinstance(kind, type) and is_dataclass(kind):
        return _struct(cast("type[Entity]", kind))
    kafka_type = field.metadata["kafka_type"]
    if kafka_type == "bool":
        return Part(boolean, 1)
    if kafka_type == "string":
        return Part(compact_string, 1) if flexible else Part(string, 2)
    if kafka_type in ("bytes", "records"):
        return Part(compact_bytes, 1) if flexible else Part(nullable_bytes, 4)
    return fixed(FIXED_SIZES[kafka_type])


def _array(element: Part, flexible: bool, nullable: bool) -> Part:
    step, smallest, is_fixed = element

    def walk(frame: bytes, offset: int, edits: Edits) -> int:
        if flexible:
            count, offset = compact_length(frame, offset, edits)
        else:
            (count,) = _COUNT.unpack_from(frame, offset)
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

    return Part(walk, 1 if flexible else 4)


def _nullable_struct(struct: Part) -> Part:
    def walk(frame: bytes, offset: int, edits: Edits) -> int:
        marker = frame[offset]
        if marker < 128:
            return struct.step(frame, offset + 1, edits)
        if marker != 0xFF:
            edits.append((offset, offset + 1, b"\xff"))
        return offset + 1

    return Part(walk, 1)


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
                if has_lost_bits(frame, field_start, size_start) or has_lost_bits(frame, size_start, offset):
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
        if unknown or has_lost_bits(frame, start, count_end):
            edits.append((start, count_end, encode_unsigned_varint(count - unknown)))
        return offset

    return walk
