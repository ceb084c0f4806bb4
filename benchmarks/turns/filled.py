"""Requests of every API that are filled up to their bounds: one array, the strings, or the bytes of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import timedelta
from types import NoneType, UnionType
from typing import Any, get_args, get_origin
from uuid import UUID

from fakebroker.apis import registry
from fakebroker.protocol.messages import request_type

Path = tuple[str, ...]  # names of fields, from the request to an array

VALUES: dict[str, Any] = {
    "bool": False,
    "bytes": b"",
    "float64": 0.0,
    "records": b"",
    "string": "t",
    "timedelta_i32": timedelta(0),
    "timedelta_i64": timedelta(0),
    "uuid": UUID(int=7),
}
BY_NAME = {
    "acks": -1,
    "operation": 3,
    "pattern_type_filter": 3,
    "permission_type": 3,
    "replica_id": -1,
    "resource_pattern_type": 3,
    "resource_type": 2,
    "resource_type_filter": 2,
}


def filled(kind: Any, path: Path, count: int, number: int | None = None) -> Any:
    """Return a message or a struct. The array at the end of `path` has `count` different elements, other arrays on the
    path have one element, all others none. `number` tells an element from its neighbours."""
    values = {}
    for field in fields(kind):
        type_, is_nullable = without_none(field.type)
        if get_origin(type_) is not tuple:
            if not (is_dataclass(type_) and is_nullable) and "tag" not in field.metadata:
                values[field.name] = value(field, number)
            elif is_nullable:
                values[field.name] = None
            continue
        element, _ = without_none(get_args(type_)[0])
        numbers: list[int | None] = []
        if path[:1] == (field.name,):
            numbers = list(range(count)) if len(path) == 1 else [None]
        values[field.name] = tuple(
            filled(element, path[1:], count, index) if is_dataclass(element) else value(field, index)
            for index in numbers
        )
    return kind(**values)


def value(field: Any, number: int | None) -> Any:
    if field.name in BY_NAME:
        return BY_NAME[field.name]
    kind = field.metadata["kafka_type"]
    if number is None:
        return VALUES.get(kind, 0)
    if kind == "uuid":
        return UUID(int=1_000 + number)
    if kind == "string":
        return f"u{number}"
    return number if "partition" in field.name or field.name == "index" else VALUES.get(kind, 0)


def arrays(kind: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each array of a message."""
    for field in fields(kind):
        type_, _ = without_none(field.type)
        if get_origin(type_) is tuple:
            here = (*path, field.name)
            yield here
            element, _ = without_none(get_args(type_)[0])
            if is_dataclass(element):
                yield from arrays(element, here)


def without_none(kind: Any) -> tuple[Any, bool]:
    """Return the type without None, and whether it may be None."""
    if get_origin(kind) is not UnionType:
        return kind, False
    (kept,) = (choice for choice in get_args(kind) if choice is not NoneType)
    return kept, True


CASES = {
    ".".join((api.name, *path)): (api, path)
    for api in registry.load().values()
    for path in arrays(request_type(api.key, api.max_version))
}
