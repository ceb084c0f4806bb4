"""A writer of messages by their tables: of any API and version, at once or in slices.

Theory   A struct is an object with the fields as attributes (kio's dataclasses), or a dict. In a dict a missing field
         has Kafka's default. A dict may have fields of other versions: these are left out, and `unused` counts them.
         Arrays are any collection with a length; one that is no tuple and no list may be made on demand (build.py).
Units    a slice is some 30 structs, as many times four strings, or some bytes. Arrays of numbers, and those in tagged
         fields, are written at once: they are small in every response that may be large.
Speed    kio's writer takes three times as long, and ten times as long as this one compiled (decision 189). Tests tie
         the two.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from struct import pack
from typing import TYPE_CHECKING, Final, cast, final
from uuid import UUID

from librt.strings import BytesWriter, write_i16_be, write_i32_be, write_i64_be

from fakebroker.protocol.codec.tables import (
    ARRAY,
    BOOL,
    BYTES,
    ERROR_CODE,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    STRUCT,
    TIMEDELTA_I32,
    TIMEDELTA_I64,
    UINT16,
    UINT32,
    UINT64,
    UUID_,
    Field,
    Struct,
)
from fakebroker.protocol.group_records.many_names import ManyNames
from fakebroker.protocol.varint import encode_unsigned_varint

if TYPE_CHECKING:
    from fakebroker.protocol.slices import Slices

_MILLISECOND: Final = timedelta(milliseconds=1)
_NO_ID: Final = bytes(16)
_LENGTH: Final = b"\0\0\0\0"

RUN = 32  # structs of a slice, nested ones included
_STRINGS: Final = 4  # strings that take as long as a struct
_RUN_BYTES: Final = 262_144


@final
class Encoder:
    """A frame in progress."""

    __slots__ = ("_left", "_out", "_until", "unused")

    def __init__(self, header: bytes) -> None:
        """`header` is the header of a request or a response."""
        self._out = BytesWriter()
        self._out.write(_LENGTH)
        self._out.write(header)
        self._left = RUN * _STRINGS  # of the slice
        self._until = _RUN_BYTES
        self.unused = 0

    def frame(self) -> bytes:
        """Return the whole frame with its length."""
        size = len(self._out) - len(_LENGTH)
        out = self._out
        out[0] = size >> 24 & 0xFF
        out[1] = size >> 16 & 0xFF
        out[2] = size >> 8 & 0xFF
        out[3] = size & 0xFF
        return out.getvalue()

    def body(self) -> bytes:
        """Return the header and what is behind it."""
        return self._out.getvalue()[len(_LENGTH) :]

    def struct(self, struct: Struct, value: object) -> None:
        """Write a message or a nested struct."""
        flexible = struct.flexible
        if isinstance(value, dict):
            given = 0
            for field in struct.fields:
                if field.name in value:
                    given += 1
                    self._field(field, flexible, value[field.name])
                else:
                    self._field(field, flexible, field.default)
            self.unused += len(value) - given
        else:
            for field in struct.fields:
                self._field(field, flexible, getattr(value, field.name))
        if struct.tagged:
            self._tagged(struct, value)
        elif flexible:
            self._out.append(0)

    def in_slices(self, struct: Struct, value: object) -> Slices[None]:
        """Write a message or a nested struct in slices."""
        for field in struct.fields:
            items = getattr(value, field.name)
            if field not in struct.long or items is None:
                self._field(field, struct.flexible, items)
                continue
            element = field.element
            assert element is not None
            self._count(len(items), struct.flexible)
            for item in items:
                if element.struct is None:
                    self._field(element, struct.flexible, item)
                    self._left -= 1
                else:
                    weight = _weight(element.struct, item) if element.struct.long else 0
                    if weight > 2 * RUN:
                        yield from self.in_slices(element.struct, item)
                    else:
                        self.struct(element.struct, item)
                    self._left -= _STRINGS * (1 + weight)
                if self._left <= 0 or len(self._out) >= self._until:
                    yield
                    self._left = RUN * _STRINGS
                    self._until = len(self._out) + _RUN_BYTES
        if struct.tagged:
            self._tagged(struct, value)
        elif struct.flexible:
            self._out.append(0)

    def _tagged(self, struct: Struct, value: object) -> None:
        """Write the fields with another value than their default."""
        tagged_fields: list[tuple[int, bytes]] = []
        for field in struct.tagged:
            given: object
            if not isinstance(value, dict):
                given = getattr(value, field.name)
            elif field.name in value:
                self.unused -= 1
                given = value[field.name]
            else:
                continue
            if given != field.default:
                inner = Encoder(b"")
                inner._field(field, True, given)
                tagged_fields.append((field.tag, inner.body()))
        self._compact(len(tagged_fields))
        for tag, data in tagged_fields:
            self._compact(tag)
            self._compact(len(data))
            self._out.write(data)

    def _field(self, field: Field, flexible: bool, value: object) -> None:
        kind = field.kind
        if kind == INT32:
            write_i32_be(self._out, cast(int, value))
        elif kind == STRING:
            if value is None:
                self._null(field, flexible)
            else:
                encoded = cast(str, value).encode()
                if flexible:
                    self._compact(len(encoded) + 1)
                else:
                    write_i16_be(self._out, len(encoded))
                self._out.write(encoded)
        elif kind == ARRAY:
            if value is None:
                self._count(-1, flexible)
                return
            if isinstance(value, ManyNames) and flexible:
                self._out.write(value.encoded)
                return
            items = cast(Collection[object], value)
            self._count(len(items), flexible)
            element = field.element
            assert element is not None
            if element.struct is None:
                for item in items:
                    self._field(element, flexible, item)
            else:
                for item in items:
                    self.struct(element.struct, item)
        elif kind == INT16:
            write_i16_be(self._out, cast(int, value))
        elif kind == ERROR_CODE:
            write_i16_be(self._out, int(cast(int, value)))
        elif kind == INT64:
            write_i64_be(self._out, cast(int, value))
        elif kind == BOOL:
            self._out.append(1 if value else 0)
        elif kind == BYTES:
            if value is None:
                self._null(field, flexible)
            else:
                data = cast(bytes, value)
                self._count(len(data), flexible)
                self._out.write(data)
        elif kind == STRUCT:
            if field.nullable:
                self._out.append(255 if value is None else 1)
                if value is None:
                    return
            assert field.struct is not None
            self.struct(field.struct, value)
        elif kind == TIMEDELTA_I32:
            write_i32_be(self._out, cast(timedelta, value) // _MILLISECOND)
        elif kind == UUID_:
            self._out.write(_NO_ID if value is None else cast(UUID, value).bytes)
        else:
            self._rare(kind, value)

    def _rare(self, kind: int, value: object) -> None:
        if kind == INT8:
            self._out.write(pack(">b", value))
        elif kind == TIMEDELTA_I64:
            write_i64_be(self._out, cast(timedelta, value) // _MILLISECOND)
        elif kind == UINT16:
            self._out.write(pack(">H", value))
        elif kind == UINT32:
            self._out.write(pack(">I", value))
        elif kind == UINT64:
            self._out.write(pack(">Q", value))
        elif kind == FLOAT64:
            self._out.write(pack(">d", value))
        else:  # a time; None is none
            write_i64_be(self._out, -1 if value is None else round(cast(datetime, value).timestamp() * 1000))

    def _null(self, field: Field, flexible: bool) -> None:
        if not field.nullable:
            raise TypeError(f"{field.name} must not be null in this version.")
        if flexible:
            self._out.append(0)
        elif field.kind == STRING:
            write_i16_be(self._out, -1)
        else:
            write_i32_be(self._out, -1)

    def _count(self, count: int, flexible: bool) -> None:
        """Write the number of elements or bytes; -1 is null."""
        if flexible:
            self._compact(count + 1)
        else:
            write_i32_be(self._out, count)

    def _compact(self, value: int) -> None:
        if value < 128:
            self._out.append(value)
        else:
            self._out.write(encode_unsigned_varint(value))


def _weight(struct: Struct, value: object) -> int:
    """Return the number of structs in arrays of this struct; many, if they are made on demand."""
    weight = 0
    for field in struct.long:
        items = getattr(value, field.name)
        if items is None:
            continue
        if not isinstance(items, (tuple, list)):
            return 2 * RUN + 1
        element = field.element
        assert element is not None
        if element.struct is None:
            weight += len(items) // _STRINGS
            continue
        weight += len(items)
        if element.struct.long and weight <= 2 * RUN:
            for item in items:
                weight += _weight(element.struct, item)
    return weight
