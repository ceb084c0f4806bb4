"""A check of message bodies before kio reads them: kio gets only what it can read.

Theory   kio 0.6.5 is fast and trusting. This is what it gets wrong with untrusted bytes, and what happens here:
         | bytes                               | kio                                    | here                       |
         | an array count above the bytes left | allocates first; may abort the process | ProtocolError, as in Kafka |
         | null for an array that has no null  | returns None                           | ProtocolError, as in Kafka |
         | a tagged field it does not know     | raises; KIP-482 says to skip it        | cut out of a copy          |
         | a boolean that is neither 0 nor 1   | raises; Kafka takes it for true        | made 1 in a copy           |
         | a struct marked null, but not by -1 | reads on; Kafka checks the sign        | made -1 in a copy          |
         | a length of -2 or less              | raises; Kafka takes it for null        | made -1 in a copy          |
         | a varint with bits above the 32nd   | raises; Kafka drops these bits         | written again in a copy    |
         | text above 32 KiB, length as varint | reads it                               | ProtocolError, as in Kafka |
         | text that is no UTF-8               | raises; Kafka replaces it by U+FFFD    | `text_repair` in a copy    |
         Everything else, such as null strings where none are allowed, kio reports by itself.

         A check is a chain of steps made once per message class. A step takes the frame and an offset and returns the
         offset behind its field. So it walks exactly as kio does: kio, Kafka and this check all ignore the size of a
         known tagged field. Fields of fixed size in a row are one step.
Units    offsets and sizes are bytes, from the start of the frame.
Source   clients/src/main/java/org/apache/kafka/common/protocol/Readable.java, and the readers that
         generator/src/main/java/org/apache/kafka/message/MessageDataGenerator.java writes; KIP-482
Differs  Text of 32 KiB or more after its repair is an error; Kafka reads it, but cannot write a response with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from functools import cache
from struct import Struct as Layout
from struct import error
from types import NoneType, UnionType
from typing import cast, get_args, get_origin

from kio.static.protocol import Entity, Payload

from fakebroker.protocol.body.fields import (
    FIXED_SIZES,
    Edits,
    Part,
    Step,
    TooMany,
    boolean,
    compact_bytes,
    compact_length,
    compact_string,
    fixed,
    nullable_bytes,
    string,
)
from fakebroker.protocol.body.shape import Array, NullableStruct, Section, Struct
from fakebroker.protocol.body.tagged import tagged_section
from fakebroker.protocol.errors import ProtocolError

__all__ = [
    "ENDS_WITHIN",
    "Check",
    "Edits",
    "TextEdits",
    "array_head",
    "body_check",
    "body_walk",
    "edited",
    "is_there",
    "message_part",
    "text_repair",
]


class TextEdits(Edits):
    repairs_text = True


Check = Callable[[bytes, int], tuple[bytes, int]]

ENDS_WITHIN = "the bytes end within it"

_COUNT = Layout(">i")  # the count of an array


def body_check(message_type: type[Payload]) -> Check:
    """Return the check for one message class: from (frame, offset) to the frame and offset for kio, mostly unchanged.

    The check raises ProtocolError when a count is not possible or the bytes end within the body.
    """
    return _check(body_walk(message_type), Edits)


@cache
def text_repair(message_type: type[Payload]) -> Check:
    """Return the check that also puts U+FFFD into the copy for what is no UTF-8."""
    return _check(body_walk(message_type), TextEdits)


def _check(walk: Step, edits_type: type[Edits]) -> Check:
    def check(frame: bytes, offset: int) -> tuple[bytes, int]:
        edits = edits_type()
        try:
            walk(frame, offset, edits)
        except (IndexError, error):
            raise ProtocolError(ENDS_WITHIN) from None
        return (edited(frame, offset, len(frame), edits), 0) if edits else (frame, offset)

    return check


def body_walk(message_type: type[Payload]) -> Step:
    """Return the walk over one message class: from (frame, offset, edits) to the offset behind its body."""
    return message_part(message_type).step


@cache
def message_part(message_type: type[Entity]) -> Part:
    """Return the whole of one message class as one part."""
    return _struct(message_type)


def edited(frame: bytes, offset: int, end: int, edits: Edits) -> bytes:
    """Return a copy of the bytes between the offsets, with the edits applied."""
    parts: list[bytes] = []
    for start, behind, instead in sorted(edits):
        parts += frame[offset:start], instead
        offset = behind
    parts.append(frame[offset:end])
    return b"".join(parts)


def _struct(message_type: type[Entity]) -> Part:
    """Return all fields of a message or a nested struct in order, and its tagged section."""
    flexible: bool = message_type.__flexible__
    parts: list[tuple[str, Part]] = []
    tagged: dict[int, tuple[str, Part]] = {}
    for field in fields(message_type):
        if "tag" in field.metadata:
            tagged[field.metadata["tag"]] = field.name, _field(field, flexible, is_tagged=True)
            continue
        part = _field(field, flexible)
        if part.is_fixed and parts and parts[-1][1].is_fixed:
            part = fixed(parts.pop()[1].smallest + part.smallest)
        parts.append((field.name, part))
    if flexible:
        parts.append(("", Part(tagged_section(tagged), 1, inside=Section(tagged))))
    if len(parts) == 1 and parts[0][1].is_fixed:
        return parts[0][1]
    inside = Struct(message_type, parts)
    if len(parts) == 1:
        return parts[0][1]._replace(inside=inside)
    steps = [part.step for _, part in parts]

    def walk(frame: bytes, offset: int, edits: Edits) -> int:
        for step in steps:
            offset = step(frame, offset, edits)
        return offset

    return Part(walk, sum(part.smallest for _, part in parts), inside=inside)


def _field(field: Field[object], flexible: bool, is_tagged: bool = False) -> Part:
    kind, nullable = _without_none(field.type)
    if get_origin(kind) is tuple:
        element, _ = _without_none(get_args(kind)[0])
        # kio reads a tagged field as not nullable, whatever its type says.
        return _array(_value(element, field, flexible), element, field, flexible, nullable and not is_tagged)
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


def _array(element: Part, kind: object, field: Field[object], flexible: bool, nullable: bool) -> Part:
    step, smallest, is_fixed, _ = element
    struct = cast("type[Entity]", kind) if is_dataclass(kind) else None
    array = Array(element, struct, field.metadata.get("kafka_type", ""), flexible, nullable)

    def walk(frame: bytes, offset: int, edits: Edits) -> int:
        if flexible and 0 < frame[offset] < 128:  # the usual header, and many arrays are small
            count = frame[offset] - 1
            offset += 1
            if count * smallest > len(frame) - offset:
                raise _claims_too_many(count, len(frame) - offset)
        else:
            count, offset = array_head(array, frame, offset, edits)
        if count <= 0:
            return offset
        edits.elements += count
        if edits.elements > edits.limit:
            raise TooMany
        if is_fixed:
            return offset + count * smallest
        for _ in range(count):
            offset = step(frame, offset, edits)
        return offset

    return Part(walk, 1 if flexible else 4, inside=array)


def array_head(array: Array, frame: bytes, offset: int, edits: Edits) -> tuple[int, int]:
    """Return the number of elements (at most -1 for null), and the offset of the first."""
    if array.flexible:
        count, offset = compact_length(frame, offset, edits)
    else:
        count = _COUNT.unpack_from(frame, offset)[0]
        offset += 4
        if count < -1:
            edits.append((offset - 4, offset, b"\xff" * 4))
    if count < 0:
        if not array.nullable:
            raise ProtocolError("an array must not be null")
    elif count * array.element.smallest > len(frame) - offset:
        raise _claims_too_many(count, len(frame) - offset)
    return count, offset


def _claims_too_many(count: int, left: int) -> ProtocolError:
    return ProtocolError(f"an array claims {count} elements, and only {left} bytes are left")


def _nullable_struct(struct: Part) -> Part:
    def walk(frame: bytes, offset: int, edits: Edits) -> int:
        if is_there(frame, offset, edits):
            return struct.step(frame, offset + 1, edits)
        return offset + 1

    return Part(walk, 1, inside=NullableStruct(struct))


def is_there(frame: bytes, offset: int, edits: Edits) -> bool:
    """Return True if a struct follows this marker."""
    marker = frame[offset]
    if 128 <= marker < 0xFF:
        edits.append((offset, offset + 1, b"\xff"))
    return marker < 128
