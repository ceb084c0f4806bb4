"""The fields of kio's message classes, as source text for the stubs of a new API (new.py)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import timedelta
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

# Values of unset fields in Kafka's generated classes, by kio's name of the type.
_UNSET = {
    "bool": "False",
    "bytes": 'b""',
    "datetime_i64": "datetime.fromtimestamp(0, UTC)",
    "error_code": "ErrorCode.none",
    "float64": "0.0",
    "int8": "0",
    "int16": "0",
    "int32": "0",
    "int64": "0",
    "records": "None",
    "string": '""',
    "timedelta_i32": "timedelta(0)",
    "timedelta_i64": "timedelta(0)",
    "uint16": "0",
}


def dict_of(kinds: Sequence[Any], indent: str = "") -> str:
    """Return a dict with every field of these versions of a message, the newest first, for `build`; each has the value
    of an unset field."""
    lines = [
        f'{indent}    "{name}": {_value(versions, f"{indent}    ")},\n' for name, versions in _fields(kinds).items()
    ]
    return "{\n" + "".join(lines) + f"{indent}}}" if lines else "{}"


def has(kind: Any, name: str) -> bool:
    """Return True if a message has a field of that name."""
    return name in kind.__dataclass_fields__


def news(before: Any, now: Any) -> Iterator[str]:
    """Yield the fields that a message has in one version and not in the other, with those of its structs."""
    old, new = list(_names(before)), list(_names(now))
    yield from _outermost(name for name in new if name not in old)
    yield from (f"without {name}" for name in _outermost(name for name in old if name not in new))


def _outermost(names: Iterator[str]) -> list[str]:
    """Return the names without those inside other ones."""
    outermost: list[str] = []
    for name in names:
        if not any(name.startswith(f"{outer}.") for outer in outermost):
            outermost.append(name)
    return outermost


def _names(kind: Any, prefix: str = "") -> Iterator[str]:
    hints = get_type_hints(kind)
    for field in fields(kind):
        yield f"{prefix}{field.name}"
        if struct := _struct_in(hints[field.name]):
            yield from _names(struct, f"{prefix}{field.name}.")


def _fields(kinds: Sequence[Any]) -> dict[str, list[tuple[Field[Any], Any]]]:
    """Return name -> the field and its type in each version that has it, the newest first."""
    by_name: dict[str, list[tuple[Field[Any], Any]]] = {}
    for kind in kinds:
        hints = get_type_hints(kind)
        for field in fields(kind):
            by_name.setdefault(field.name, []).append((field, hints[field.name]))
    return by_name


def _value(versions: list[tuple[Field[Any], Any]], indent: str) -> str:
    """Return the value of an unset field, if it fits every version."""
    newest, hint = versions[0]
    nullable = all(NoneType in get_args(type_hint) for _, type_hint in versions)
    if newest.default is not MISSING and (newest.default is not None or nullable):
        return _literal(newest.default, newest.metadata.get("kafka_type", ""), indent)
    if any(get_origin(kind) is tuple for kind in (hint, *get_args(hint))):
        return "()"
    if struct := _struct_in(hint):
        return "None" if nullable else dict_of([struct], indent)
    if nullable:  # a text, bytes, or kio's value for the zero id
        return "None"
    return _UNSET[newest.metadata["kafka_type"]]


def _literal(value: Any, kafka_type: str, indent: str) -> str:
    if isinstance(value, timedelta):
        return f"timedelta(milliseconds={value // timedelta(milliseconds=1)})" if value else "timedelta(0)"
    if is_dataclass(value):
        return dict_of([type(value)], indent)
    if isinstance(value, bool) or value is None or value == ():
        return repr(value)
    if isinstance(value, int):
        return "ErrorCode.none" if kafka_type == "error_code" else repr(int(value))
    return repr(value).replace("'", '"') if isinstance(value, str | bytes) else repr(value)


def _struct_in(hint: Any) -> Any:
    if isinstance(hint, type) and is_dataclass(hint):
        return hint
    return next((struct for argument in get_args(hint) if (struct := _struct_in(argument)) is not None), None)
