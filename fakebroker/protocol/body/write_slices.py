"""A writer of large messages in slices.

Theory   Small structs are written by kio at once. In place of a large array kio gets a `_Gap`, which has a length and
         notes the position where kio asks for its elements. Then the elements are written there, one after another. An
         array may be an `Each` (build.py), which makes its elements on demand. Long arrays of strings are written in
         the same way.
Units    a slice is some 30 structs, as many times four strings, or some bytes. Arrays of numbers, and those in tagged
         fields, are written at once: they are small in every response that may be large.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from io import BytesIO
from types import NoneType, UnionType
from typing import Any, NamedTuple, cast, final, get_args, get_origin

from kio.serial import entity_writer
from kio.serial.writers import write_compact_string, write_legacy_string
from kio.static.protocol import Entity

from fakebroker.protocol.build import Each
from fakebroker.protocol.slices import Slices

__all__ = ["write_in_slices"]

WriteString = Callable[[BytesIO, str], None]

_RUN = 32  # structs, nested ones included
_STRINGS = 4  # strings that take as long as a struct
_LONG = 2 * _RUN
_RUN_BYTES = 262_144


def write_in_slices(buffer: BytesIO, struct: Entity) -> Slices[None]:
    """Write the same bytes as kio."""
    if _weight(struct) > _LONG:
        yield from _long(buffer, struct)
    else:
        entity_writer(type(struct))(buffer, struct)


@final
class _Gap:
    """A placeholder for an array, while kio writes the fields around it."""

    __slots__ = ("_buffer", "at", "items", "write_string")

    def __init__(self, items: Collection[Any], buffer: BytesIO, write_string: WriteString | None) -> None:
        self.items = items
        self.write_string = write_string
        self.at = -1
        self._buffer = buffer

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        self.at = self._buffer.tell()
        return iter(())


def _long(buffer: BytesIO, struct: Entity) -> Slices[None]:
    with BytesIO() as around:
        gaps = {
            array.name: _Gap(items, around, array.write_string)
            for array in _arrays(type(struct))
            if (items := getattr(struct, array.name))
        }
        entity_writer(type(struct))(around, replace(cast(Any, struct), **gaps))
        written = around.getvalue()
    start = 0
    for gap in gaps.values():
        buffer.write(written[start : gap.at])
        if gap.write_string is None:
            yield from _elements(buffer, gap.items)
        else:
            yield from _strings(buffer, gap.items, gap.write_string)
        start = gap.at
    buffer.write(written[start:])


def _elements(buffer: BytesIO, structs: Collection[Entity]) -> Slices[None]:
    count, end = 0, buffer.tell() + _RUN_BYTES
    for struct in structs:
        weight = _weight(struct)
        if weight > _LONG:
            yield from _long(buffer, struct)
        else:
            entity_writer(type(struct))(buffer, struct)
        count += 1 + weight
        if count >= _RUN or buffer.tell() >= end:
            yield
            count, end = 0, buffer.tell() + _RUN_BYTES


def _strings(buffer: BytesIO, strings: Collection[str], write: WriteString) -> Slices[None]:
    end = buffer.tell() + _RUN_BYTES
    for number, string in enumerate(strings, 1):
        write(buffer, string)
        if number % (_RUN * _STRINGS) == 0 or buffer.tell() >= end:
            yield
            end = buffer.tell() + _RUN_BYTES


def _weight(struct: Entity) -> int:
    """Return the number of structs in arrays of this struct; many, if they are not made yet."""
    weight = 0
    for array in _arrays(type(struct)):
        items = getattr(struct, array.name)
        if isinstance(items, Each):
            return _LONG + 1
        if items:
            weight += len(items) if array.write_string is None else len(items) // _STRINGS
            if array.has_arrays and weight <= _LONG:
                weight += sum(map(_weight, items))
    return weight


class _Array(NamedTuple):
    """A field with an array of strings, or of structs, which may have such arrays."""

    name: str
    has_arrays: bool
    write_string: WriteString | None


@cache
def _arrays(kind: type[Entity]) -> tuple[_Array, ...]:
    found = []
    for field in fields(kind):
        array = field.type
        if get_origin(array) is UnionType:
            (array,) = (choice for choice in get_args(array) if choice is not NoneType)
        if "tag" in field.metadata or get_origin(array) is not tuple:
            continue
        element: Any = get_args(array)[0]
        if is_dataclass(element):
            found.append(_Array(field.name, bool(_arrays(cast(Any, element))), None))
        elif field.metadata["kafka_type"] == "string":
            found.append(_Array(field.name, False, write_compact_string if kind.__flexible__ else write_legacy_string))
    return tuple(found)
