"""The fields of a message of one version, in the order of the wire. schemas.py makes these tables of kio's classes."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct as Layout
from typing import Any, Final, final

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

NUMBERS: Final = 18  # several numbers in a row, which are read at once

UNTAGGED: Final = -1

LAYOUTS: Final = {
    BOOL: "?",
    INT8: "b",
    INT16: "h",
    INT32: "i",
    INT64: "q",
    UINT16: "H",
    UINT32: "I",
    UINT64: "Q",
    FLOAT64: "d",
}
"""The letters for numbers in Python's `struct`."""

_SMALLEST: Final = {
    **{kind: Layout(f">{letter}").size for kind, letter in LAYOUTS.items()},
    ERROR_CODE: 2,
    TIMEDELTA_I32: 4,
    TIMEDELTA_I64: 8,
    DATETIME_I64: 8,
    UUID_: 16,
}


@final
class Field:
    """A field.

    kind      one of the above
    struct    the table of a struct
    element   that of an array: a field without a name. `struct` is the element's, not the array's
    default   what is sent, or read, where there is no value
    smallest  the fewest bytes it takes
    set       the setter of the attribute, by the object and the value
    numbers   the fields of which NUMBERS consists; `unpack` reads them, or a single number
    """

    __slots__ = (
        "default",
        "element",
        "kind",
        "name",
        "nullable",
        "numbers",
        "set",
        "smallest",
        "struct",
        "tag",
        "unpack",
    )

    def __init__(
        self,
        name: str,
        kind: int,
        flexible: bool,
        nullable: bool,
        tag: int = UNTAGGED,
        struct: Struct | None = None,
        element: Field | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self.nullable = nullable
        self.tag = tag
        self.struct = struct
        self.element = element
        self.default: object = None
        self.set: Callable[[Any, Any], None] = _set_nothing
        self.numbers: list[Field] = []
        self.unpack: Callable[[bytes, int], tuple[Any, ...]] = Layout(f">{LAYOUTS.get(kind, '')}").unpack_from
        if kind in _SMALLEST:
            self.smallest: int = _SMALLEST[kind]
        elif struct is not None and not nullable:
            self.smallest = struct.smallest
        elif flexible or kind == STRUCT:
            self.smallest = 1
        else:
            self.smallest = 2 if kind == STRING else 4


@final
class Struct:
    """A message or a nested struct of the class `kind`.

    new      makes an object without values; `finish` makes the result of it, if that is another one
    reading  the fields as they are read: numbers in a row are one
    long     the arrays of structs and of strings, which may take long to write
    """

    __slots__ = ("fields", "finish", "flexible", "kind", "long", "new", "reading", "smallest", "tagged")

    def __init__(self, kind: Any, flexible: bool, fields: list[Field], tagged: list[Field]) -> None:
        self.kind = kind
        self.new: Callable[[Any], Any] = kind.__new__
        self.finish: Callable[[Any], Any] | None = None
        self.flexible = flexible
        self.fields = fields
        self.tagged = tagged
        self.reading = _in_runs(fields)
        self.smallest = sum([field.smallest for field in fields]) + (1 if flexible else 0)
        self.long = [field for field in fields if field.element is not None and field.element.kind in (STRUCT, STRING)]


def _in_runs(fields: list[Field]) -> list[Field]:
    """Return the fields with numbers in a row as one."""
    reading: list[Field] = []
    for field in fields:
        if field.kind not in LAYOUTS:
            reading.append(field)
            continue
        if not reading or reading[-1].kind != NUMBERS:
            reading.append(Field("", NUMBERS, False, False))
        reading[-1].numbers.append(field)
    for run in reading:
        if run.kind == NUMBERS:
            layout = Layout(">" + "".join([LAYOUTS[field.kind] for field in run.numbers]))
            run.unpack = layout.unpack_from
            run.smallest = layout.size
    return [run.numbers[0] if len(run.numbers) == 1 else run for run in reading]


def _set_nothing(made: object, value: object) -> None:
    raise AssertionError("an element has no attribute")
