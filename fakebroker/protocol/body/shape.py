"""The parts of a message that may take long to read: structs, arrays and tagged sections, for reading piece by piece.

A step (check.py) walks over its whole field at once. These classes describe the inside of a field, so that a long walk
can be divided, and name kio's reader for each part.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

from kio.serial import entity_reader, readers
from kio.serial.readers import Reader
from kio.static.protocol import Entity

from fakebroker.protocol.body.fields import Part

_PLAIN_READERS: dict[str, Reader[Any]] = {
    "bool": readers.read_boolean,
    "int8": readers.read_int8,
    "int16": readers.read_int16,
    "int32": readers.read_int32,
    "int64": readers.read_int64,
    "uint16": readers.read_uint16,
    "uint32": readers.read_uint32,
    "uint64": readers.read_uint64,
    "float64": readers.read_float64,
    "uuid": readers.read_uuid,
    "error_code": readers.read_error_code,
    "timedelta_i32": readers.read_timedelta_i32,
    "timedelta_i64": readers.read_timedelta_i64,
    "datetime_i64": readers.read_datetime_i64,
}


@final
class Struct:
    """A message or a nested struct: its fields in order, each with its name, and its tagged section."""

    def __init__(self, kind: type[Entity], parts: list[tuple[str, Part]]) -> None:
        self.kind = kind
        self.parts = parts

    @cached_property
    def read(self) -> Reader[Any]:
        return entity_reader(self.kind)


@final
class NullableStruct:
    """A struct behind its null marker."""

    def __init__(self, struct: Part) -> None:
        self.struct = struct


@final
class Array:
    """An array of structs, or of values of one of Kafka's types."""

    def __init__(
        self, element: Part, kind: type[Entity] | None, kafka_type: str, flexible: bool, nullable: bool
    ) -> None:
        self.element = element
        self.flexible = flexible
        self.nullable = nullable
        self._kind = kind
        self._kafka_type = kafka_type

    @property
    def empty(self) -> bytes:
        """Return the count of an empty array."""
        return b"\x01" if self.flexible else b"\0\0\0\0"

    @cached_property
    def read(self) -> Reader[Any]:
        """Return the reader of one element."""
        if self._kind is not None:
            return entity_reader(self._kind)
        if self._kafka_type == "string":
            return readers.read_compact_string if self.flexible else readers.read_legacy_string
        if self._kafka_type in ("bytes", "records"):
            return readers.read_compact_string_as_bytes if self.flexible else readers.read_legacy_bytes
        return _PLAIN_READERS[self._kafka_type]


@final
class Section:
    """The tagged section of a struct: names and parts of its possible fields."""

    def __init__(self, known: dict[int, tuple[str, Part]]) -> None:
        self.known = known
