"""The tables of kio's message classes, which are made of Kafka's own definitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from dataclasses import Field as KioField
from datetime import UTC, datetime, timedelta
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, cast, get_args, get_origin
from uuid import UUID

from kio.static.protocol import Entity

from fakebroker.protocol.codec import tables
from fakebroker.protocol.codec.tables import ARRAY, BYTES, STRUCT, UNTAGGED, UUID_, Field, Struct
from fakebroker.protocol.error_code import ErrorCode

_KINDS: Final = {
    "bool": (tables.BOOL, False),
    "int8": (tables.INT8, 0),
    "int16": (tables.INT16, 0),
    "int32": (tables.INT32, 0),
    "int64": (tables.INT64, 0),
    "uint16": (tables.UINT16, 0),
    "uint32": (tables.UINT32, 0),
    "uint64": (tables.UINT64, 0),
    "float64": (tables.FLOAT64, 0.0),
    "error_code": (tables.ERROR_CODE, ErrorCode.none),
    "timedelta_i32": (tables.TIMEDELTA_I32, timedelta(0)),
    "timedelta_i64": (tables.TIMEDELTA_I64, timedelta(0)),
    "datetime_i64": (tables.DATETIME_I64, datetime(1970, 1, 1, tzinfo=UTC)),
    "uuid": (tables.UUID_, UUID(int=0)),
    "string": (tables.STRING, ""),
    "bytes": (tables.BYTES, b""),
    "records": (tables.BYTES, None),
}
"""By kio's name of a type: the kind of field, and Kafka's default where a definition has none."""


@cache
def table_of(kind: type[Entity]) -> Struct:
    """Return the table of a message class, or of a nested one."""
    flexible = bool(kind.__flexible__)
    made = [_field(field, kind, flexible) for field in fields(cast(Any, kind))]
    tagged = sorted((field for field in made if field.tag != UNTAGGED), key=lambda field: field.tag)
    return Struct(kind, flexible, [field for field in made if field.tag == UNTAGGED], tagged)


def names_of(struct: Struct) -> Iterator[str]:
    """Yield the names of all fields, those of nested structs included."""
    for field in (*struct.fields, *struct.tagged):
        yield field.name
        nested = field.struct or (field.element and field.element.struct)
        if nested is not None:
            yield from names_of(nested)


def _field(field: KioField[Any], owner: type[Entity], flexible: bool) -> Field:
    tag = int(field.metadata.get("tag", UNTAGGED))
    kind, nullable = without_none(field.type)
    # A tagged field that is null is not written. So kio takes every tagged field as not nullable.
    nullable = nullable and tag == UNTAGGED
    if get_origin(kind) is tuple:
        element = _value(without_none(get_args(kind)[0])[0], field, flexible, False, UNTAGGED)
        made = Field(field.name, ARRAY, flexible, nullable, tag, None, element)
        made.default = ()
    else:
        made = _value(kind, field, flexible, nullable, tag)
    if field.default is not MISSING:
        made.default = field.default
    made.set = getattr(owner, field.name).__set__
    return made


def _value(kind: object, field: KioField[Any], flexible: bool, nullable: bool, tag: int) -> Field:
    if isinstance(kind, type) and is_dataclass(kind):
        made = Field(field.name, STRUCT, flexible, nullable, tag, table_of(cast("type[Entity]", kind)))
        made.default = None if nullable else _default_of(kind)
        return made
    number, default = _KINDS[field.metadata["kafka_type"]]
    made = Field(field.name, number, flexible, nullable or number == UUID_, tag)
    made.default = b"" if number == BYTES and default is None and not nullable else default
    return made


def _default_of(kind: Any) -> Any:
    """Return a struct in which all fields have their defaults."""
    struct = table_of(kind)
    return kind(**{field.name: field.default for field in (*struct.fields, *struct.tagged)})


def without_none(kind: object) -> tuple[object, bool]:
    """Return the type without None, and whether None was one of its choices."""
    if get_origin(kind) is not UnionType:
        return kind, False
    (kept,) = (choice for choice in get_args(kind) if choice is not NoneType)
    return kept, True
