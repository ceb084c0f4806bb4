"""Layouts of a coordinator's records: fields in their order, each with its versions.

Theory   A key begins with the number of its kind, a value with its version, both int16. From `flexible_since` on,
         strings, bytes and arrays begin with a varint of their length plus one. The tagged fields with other values
         than their defaults are behind the fields of each struct.
Source   generator/.../MessageDataGenerator.java; clients/.../common/protocol/MessageUtil.java
         toCoordinatorTypePrefixedBytes, toVersionPrefixedBytes @ 4.0.
Differs  Written by hand and not in construct: these are read and written with each commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from operator import attrgetter
from struct import Struct, error, unpack_from
from typing import Any, Final, Generic, NamedTuple, TypeVar
from uuid import UUID

from fakebroker.protocol.errors import InvalidRecordError, ProtocolError
from fakebroker.protocol.group_records.many_names import ManyNames
from fakebroker.protocol.varint import decode_unsigned_varint, encode_unsigned_varint

T = TypeVar("T")

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_LATEST: Final = 32_767


class Type(NamedTuple):
    """The encoding of a value. `write(out, value, version, flexible)`; `read(data, at, version, flexible)` returns the
    value and the offset of the next one."""

    write: Callable[[bytearray, Any, int, bool], None]
    read: Callable[[bytes, int, int, bool], tuple[Any, int]]


def _number(layout: str) -> Type:
    struct = Struct(layout)

    def write(out: bytearray, value: int, version: int, flexible: bool) -> None:
        out += struct.pack(value)

    def read(data: bytes, at: int, version: int, flexible: bool) -> tuple[int, int]:
        return struct.unpack_from(data, at)[0], at + struct.size

    return Type(write, read)


INT8: Final = _number(">b")
INT16: Final = _number(">h")
INT32: Final = _number(">i")
INT64: Final = _number(">q")
BOOLEAN: Final = _number(">?")


def _write_size(out: bytearray, size: int, struct: Struct, flexible: bool) -> None:
    """Write a size; -1 is null."""
    out += encode_unsigned_varint(size + 1) if flexible else struct.pack(size)


def _read_size(data: bytes, at: int, struct: Struct, flexible: bool) -> tuple[int, int]:
    if flexible:
        size, at = decode_unsigned_varint(data, at)
        return size - 1, at
    return struct.unpack_from(data, at)[0], at + struct.size


def _taken(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise ProtocolError(f"it has a field of {size} bytes.")
    return data[at : at + size]


def _write_string(out: bytearray, value: str | None, version: int, flexible: bool) -> None:
    if value is None:
        _write_size(out, -1, _INT16, flexible)
    else:
        encoded = value.encode()
        _write_size(out, len(encoded), _INT16, flexible)
        out += encoded


def _read_string(data: bytes, at: int, version: int, flexible: bool) -> tuple[str | None, int]:
    size, at = _read_size(data, at, _INT16, flexible)
    return (None, at) if size < 0 else (_taken(data, at, size).decode(), at + size)


def _write_bytes(out: bytearray, value: bytes | None, version: int, flexible: bool) -> None:
    if value is None:
        _write_size(out, -1, _INT32, flexible)
    else:
        _write_size(out, len(value), _INT32, flexible)
        out += value


def _read_bytes(data: bytes, at: int, version: int, flexible: bool) -> tuple[bytes | None, int]:
    size, at = _read_size(data, at, _INT32, flexible)
    return (None, at) if size < 0 else (_taken(data, at, size), at + size)


def _write_uuid(out: bytearray, value: UUID, version: int, flexible: bool) -> None:
    out += value.bytes


def _read_uuid(data: bytes, at: int, version: int, flexible: bool) -> tuple[UUID, int]:
    return UUID(bytes=_taken(data, at, 16)), at + 16


STRING: Final = Type(_write_string, _read_string)  # or None
BYTES: Final = Type(_write_bytes, _read_bytes)  # or None
UUID_: Final = Type(_write_uuid, _read_uuid)


def array(element: Type) -> Type:
    """Return the type of a tuple of elements, or None."""

    def write(out: bytearray, values: Collection[Any] | None, version: int, flexible: bool) -> None:
        if isinstance(values, ManyNames) and flexible:
            out += values.encoded
            return
        _write_size(out, -1 if values is None else len(values), _INT32, flexible)
        for value in values or ():
            element.write(out, value, version, flexible)

    def read(data: bytes, at: int, version: int, flexible: bool) -> tuple[tuple[Any, ...] | None, int]:
        count, at = _read_size(data, at, _INT32, flexible)
        if count < 0:
            return None, at
        if element is INT32:
            return unpack_from(f">{count}i", data, at), at + count * _INT32.size
        values = []
        for _ in range(count):
            value, at = element.read(data, at, version, flexible)
            values.append(value)
        return tuple(values), at

    return Type(write, read)


def nullable(struct: Type) -> Type:
    """Return the type of such a struct, or None."""

    def write(out: bytearray, value: Any, version: int, flexible: bool) -> None:
        out += b"\xff" if value is None else b"\x01"
        if value is not None:
            struct.write(out, value, version, flexible)

    def read(data: bytes, at: int, version: int, flexible: bool) -> tuple[Any, int]:
        is_there = INT8.read(data, at, version, flexible)[0] >= 0
        return struct.read(data, at + 1, version, flexible) if is_there else (None, at + 1)

    return Type(write, read)


@dataclass(frozen=True, slots=True)
class Field:
    """A field, with the name of the attribute. Outside of `since` to `until` it is not written, and `default` is read.
    A tagged field is not written either if it has that value."""

    name: str
    type: Type
    since: int = 0
    until: int = _LATEST
    default: Any = None
    tag: int | None = None


class Layout(Generic[T]):
    """The layout of a struct. `make` is called with a value for each field, in order."""

    __slots__ = ("_fields", "_flexible_since", "_highest_version", "_make", "_plans")

    def __init__(
        self,
        make: Callable[..., T],
        fields: Sequence[Field],
        highest_version: int = _LATEST,
        flexible_since: int = _LATEST,
    ) -> None:
        self._make = make
        self._fields = fields
        self._highest_version = highest_version
        self._flexible_since = flexible_since
        self._plans: dict[int, tuple[list[tuple[Any, Any]], list[Field]]] = {}

    @property
    def type(self) -> Type:
        """Return the layout as the type of a field of another struct, which says whether it is flexible."""
        return Type(self._write, self._read)

    def encode(self, value: T, prefix: int, version: int = 0) -> bytes:
        """Encode a value behind two bytes: the kind of a key, or the version of a value."""
        out = bytearray(_INT16.pack(prefix))
        self._write(out, value, version, version >= self._flexible_since)
        return bytes(out)

    def encode_value(self, value: T, version: int) -> bytes:
        return self.encode(value, version, version)

    def decode_key(self, data: bytes) -> T:
        """Decode a key behind its kind. Raises InvalidRecordError."""
        return self._decode(data, 0)

    def decode_value(self, data: bytes) -> T:
        """Decode a value behind its version. Raises InvalidRecordError."""
        if len(data) < _INT16.size:
            raise InvalidRecordError("Could not read version from value's buffer.")
        version = _INT16.unpack_from(data)[0]
        if not 0 <= version <= self._highest_version:
            raise InvalidRecordError(f"Version {version} of {self._name} is unknown.")
        return self._decode(data, version)

    @property
    def _name(self) -> str:
        return getattr(self._make, "__name__", "a record")

    def _decode(self, data: bytes, version: int) -> T:
        try:
            return self._read(data, _INT16.size, version, version >= self._flexible_since)[0]
        except (error, ProtocolError, UnicodeDecodeError) as problem:
            raise InvalidRecordError(f"{self._name} of version {version} is malformed: {problem}") from None

    def _plan(self, version: int) -> tuple[list[tuple[Any, Any]], list[Field]]:
        """Return getters and writers of the untagged fields of a version, and its tagged fields."""
        plan = self._plans.get(version)
        if plan is None:
            there = [field for field in self._fields if field.since <= version <= field.until]
            untagged = [(attrgetter(field.name), field.type.write) for field in there if field.tag is None]
            tagged = sorted((field for field in there if field.tag is not None), key=lambda field: field.tag or 0)
            plan = self._plans[version] = untagged, tagged
        return plan

    def _write(self, out: bytearray, value: T, version: int, flexible: bool) -> None:
        untagged, tagged = self._plan(version)
        for get, write in untagged:
            write(out, get(value), version, flexible)
        if not flexible:
            return
        told = [field for field in tagged if getattr(value, field.name) != field.default]
        out += encode_unsigned_varint(len(told))
        for field in told:
            body = bytearray()
            field.type.write(body, getattr(value, field.name), version, flexible)
            assert field.tag is not None
            out += encode_unsigned_varint(field.tag) + encode_unsigned_varint(len(body)) + body

    def _read(self, data: bytes, at: int, version: int, flexible: bool) -> tuple[T, int]:
        values: list[Any] = []
        by_tag: dict[int, int] = {}
        for field in self._fields:
            value = field.default
            if field.since <= version <= field.until:
                if field.tag is not None:
                    by_tag[field.tag] = len(values)
                else:
                    value, at = field.type.read(data, at, version, flexible)
            values.append(value)
        if flexible:
            count, at = decode_unsigned_varint(data, at)
            for _ in range(count):
                tag, at = decode_unsigned_varint(data, at)
                size, at = decode_unsigned_varint(data, at)
                index = by_tag.get(tag)
                if index is not None:
                    values[index] = self._fields[index].type.read(data, at, version, flexible)[0]
                at += size
        return self._make(*values), at
