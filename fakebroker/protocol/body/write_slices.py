"""Write a large message in slices.

Theory   What is not much kio writes at once. Of a struct with much in it kio writes everything but the elements of its
         arrays: instead of those it is given a `_Gap`, which has a length and notes where it is asked for its elements.
         Then these are written there, one after another. An array may be an `Each` (build.py), whose elements are made
         as they are asked for.
Units    a slice is some 30 structs, or some bytes. Arrays of plain values, and those in tagged fields, are written at
         once: no response that may be large has much in them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from io import BytesIO
from types import NoneType, UnionType
from typing import Any, cast, final, get_args, get_origin

from kio.serial import entity_writer
from kio.static.protocol import Entity

from fakebroker.protocol.build import Each
from fakebroker.protocol.slices import Slices

__all__ = ["write_in_slices"]

_RUN = 32  # structs, and those in them
_LONG = 2 * _RUN
_RUN_BYTES = 262_144


def write_in_slices(buffer: BytesIO, struct: Entity) -> Slices[None]:
    """The same bytes as kio writes."""
    if _weight(struct) > _LONG:
        yield from _long(buffer, struct)
    else:
        entity_writer(type(struct))(buffer, struct)


@final
class _Gap:
    """Takes the place of an array while kio writes what is around it."""

    __slots__ = ("_buffer", "at", "items")

    def __init__(self, items: Collection[Any], buffer: BytesIO) -> None:
        self.items = items
        self.at = -1
        self._buffer = buffer

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        self.at = self._buffer.tell()
        return iter(())


def _long(buffer: BytesIO, struct: Entity) -> Slices[None]:
    with BytesIO() as around:
        gaps = {name: _Gap(items, around) for name, _ in _arrays(type(struct)) if (items := getattr(struct, name))}
        entity_writer(type(struct))(around, replace(cast(Any, struct), **gaps))
        written = around.getvalue()
    start = 0
    for gap in gaps.values():
        buffer.write(written[start : gap.at])
        yield from _elements(buffer, gap.items)
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


def _weight(struct: Entity) -> int:
    """How many structs there are in arrays in it; many, if they are not made yet."""
    weight = 0
    for name, has_arrays in _arrays(type(struct)):
        items = getattr(struct, name)
        if isinstance(items, Each):
            return _LONG + 1
        if items:
            weight += len(items)
            if has_arrays and weight <= _LONG:
                weight += sum(map(_weight, items))
    return weight


@cache
def _arrays(kind: type[Entity]) -> tuple[tuple[str, bool], ...]:
    """The fields that are arrays of structs, and whether these have any."""
    found = []
    for field in fields(kind):
        array = field.type
        if get_origin(array) is UnionType:
            (array,) = (choice for choice in get_args(array) if choice is not NoneType)
        if "tag" not in field.metadata and get_origin(array) is tuple and is_dataclass(get_args(array)[0]):
            found.append((field.name, bool(_arrays(get_args(array)[0]))))
    return tuple(found)
