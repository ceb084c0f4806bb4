"""A reader of large messages in slices.

Theory   A part is first read at once, up to so many elements and bytes (decoder.py). If it has more, it is read again,
         field by field and element by element, with a turn for others in between.
Units    a slice is some 300 elements, nested ones included, or some bytes.
"""

from __future__ import annotations

from struct import unpack_from

from fakebroker.protocol.codec.decoder import RUN, Decoder, TooMany, check_known
from fakebroker.protocol.codec.tables import INT32, Field, Struct
from fakebroker.protocol.slices import Slices


def read_in_slices(decoder: Decoder, struct: Struct) -> Slices[object]:
    """Read a message. Raises as `Decoder.struct` does."""
    start = decoder.at
    decoder.begin()
    try:
        return decoder.struct(struct)
    except TooMany:
        decoder.again(start, 0)
    return (yield from _long_struct(decoder, struct))


def _long_struct(decoder: Decoder, struct: Struct) -> Slices[object]:
    made: object = struct.new(struct.kind)
    for field in struct.fields:
        value: object = yield from _long_field(decoder, field, struct.flexible)
        field.set(made, value)
    if not struct.flexible:
        return made
    for field in struct.tagged:
        field.set(made, field.default)
    known = walked = 0
    decoder.again(decoder.at, decoder.elements)
    for _ in range(decoder.section()):
        tagged = decoder.tag(struct)
        if tagged is not None:
            known += 1
            value = yield from _long_field(decoder, tagged, True)
            tagged.set(made, value)
        walked += 1
        if decoder.is_over(walked):
            walked = 0
            yield
    check_known(known)
    return made


def _long_field(decoder: Decoder, field: Field, flexible: bool) -> Slices[object]:
    if decoder.is_over(0):
        yield
    start, elements = decoder.at, decoder.elements
    decoder.begin()
    try:
        return decoder.field(field, flexible)
    except TooMany:
        decoder.again(start, elements)
    if field.struct is not None:
        decoder.is_there(field)  # since it has many elements
        return (yield from _long_struct(decoder, field.struct))
    count = decoder.array(field, flexible)
    element = field.element
    assert element is not None
    decoder.turn_elements = decoder.elements
    items: list[object] = []
    walked = 0
    while len(items) < count:
        if element.kind == INT32:
            some = min(RUN, count - len(items))
            items += unpack_from(f">{some}i", decoder.frame, decoder.at)
            decoder.at += 4 * some
            walked += some
        else:
            start, elements = decoder.at, decoder.elements
            decoder.begin()
            try:
                items.append(decoder.element(element, flexible))
            except TooMany:
                decoder.again(start, elements)
                assert element.struct is not None
                item: object = yield from _long_struct(decoder, element.struct)
                items.append(item)
            walked += 1
        if decoder.is_over(walked):
            walked = 0
            yield
    return tuple(items)
