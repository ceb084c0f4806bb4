"""The fields of a message of one version, in the order of the wire. schemas.py makes these tables of kio's classes."""

from __future__ import annotations

from typing import Final, final

BOOL: Final = 0
INT8: Final = 1
INT16: Final = 2
INT32: Final = 3
INT64: Final = 4
UINT16: Final = 5
UINT32: Final = 6
UINT64: Final = 7
FLOAT64: Final = 8
ERROR_CODE: Final = 9
TIMEDELTA_I32: Final = 10
TIMEDELTA_I64: Final = 11
DATETIME_I64: Final = 12
UUID_: Final = 13
STRING: Final = 14
BYTES: Final = 15
STRUCT: Final = 16
ARRAY: Final = 17

UNTAGGED: Final = -1


@final
class Field:
    """A field. `kind` is one of the above. `struct` is the table of a struct; `element` is that of an array, a field
    without a name. `default` is what a client sends that does not give the value."""

    __slots__ = ("default", "element", "kind", "name", "nullable", "struct", "tag")

    def __init__(
        self, name: str, kind: int, nullable: bool, tag: int, struct: Struct | None, element: Field | None
    ) -> None:
        self.name = name
        self.kind = kind
        self.nullable = nullable
        self.tag = tag
        self.struct = struct
        self.element = element
        self.default: object = None


@final
class Struct:
    """A message or a nested struct. `long` has the arrays of structs and of strings, which may take long to write."""

    __slots__ = ("fields", "flexible", "long", "name", "tagged")

    def __init__(self, name: str, flexible: bool, fields: list[Field], tagged: list[Field]) -> None:
        self.name = name
        self.flexible = flexible
        self.fields = fields
        self.tagged = tagged
        self.long = [field for field in fields if field.element is not None and field.element.kind in (STRUCT, STRING)]
