"""Build a kio message from plain values written for the newest version.

A handler states everything once; what the version at hand has no field for is left out, as Kafka's generated classes
do with "ignorable" fields. A name that no version has is a slip, and tests/apis/test_registry.py finds it.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_type_hints

T = TypeVar("T")


def build(entity_type: type[T], values: dict[str, Any]) -> T:
    """An `entity_type` from `values`: nested structs are dicts, arrays of structs are sequences of dicts."""
    arguments = {}
    for name, nested in _fields(cast(Any, entity_type)).items():
        if name not in values:
            continue
        value = values[name]
        if nested is not None and isinstance(value, dict):
            value = build(nested, value)
        elif nested is not None and value is not None:
            value = tuple(build(nested, item) for item in value)
        arguments[name] = value
    return entity_type(**arguments)


def with_throttle_time(response: Any, throttle_time_ms: int, **changes: Any) -> Any:
    """The response with its throttle time set, if its version has one, and with other fields changed."""
    if hasattr(response, "throttle_time"):
        changes["throttle_time"] = timedelta(milliseconds=throttle_time_ms)
    return replace(response, **changes) if changes else response


@cache
def _fields(entity_type: Any) -> dict[str, type | None]:
    """Name -> the struct that the field holds one or many of, None for plain values."""
    assert is_dataclass(entity_type)
    hints = get_type_hints(entity_type)
    return {field.name: _struct_in(hints[field.name]) for field in fields(entity_type)}


def _struct_in(hint: Any) -> type | None:
    if isinstance(hint, type) and is_dataclass(hint):
        return hint
    for argument in get_args(hint):
        found = _struct_in(argument)
        if found is not None:
            return found
    return None
