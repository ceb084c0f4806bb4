"""A builder of kio messages from plain values of the newest version.

A handler gives all values once; fields that the present version lacks are left out, as Kafka's generated classes do
with "ignorable" fields. A name that no version has is a mistake, and tests/apis/test_registry.py finds it.

Long arrays are built lazily, so that their elements never exist all at once. `Each` has the function for an element,
`build_lazily` keeps it, and `encode_response_in_slices` (messages.py) asks for the elements one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from functools import cache, partial
from typing import Any, Generic, TypeVar, cast, final, get_args, get_type_hints

T = TypeVar("T")
Item = TypeVar("Item")
Made = TypeVar("Made", covariant=True)

_FEW = 32  # structs of an array that are built at once


@final
class Each(Generic[Made]):
    """A lazy sequence: each iteration makes the elements from the items again."""

    __slots__ = ("_items", "_make")

    def __init__(self, make: Callable[[Item], Made], items: Collection[Item]) -> None:
        self._make = make
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Made]:
        return map(self._make, self._items)

    def __getitem__(self, index: int) -> Made:
        return self._make(cast(Sequence[Any], self._items)[index])

    def __contains__(self, item: object) -> bool:
        return any(element == item for element in self)


def build(entity_type: type[T], values: dict[str, Any]) -> T:
    """Build an `entity_type` from `values`: nested structs are dicts, arrays of structs are sequences of dicts."""
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


def build_lazily(entity_type: type[T], values: dict[str, Any]) -> T:
    """Build an `entity_type`, with an `Each` in place of an array of many structs, at any depth."""
    arguments = {}
    for name, nested in _fields(cast(Any, entity_type)).items():
        if name not in values:
            continue
        value = values[name]
        if nested is not None and isinstance(value, dict):
            value = build_lazily(nested, value)
        elif nested is not None and value is not None:
            value = Each(_builder(nested), value) if len(value) > _FEW else tuple(map(_builder(nested), value))
        arguments[name] = value
    return entity_type(**arguments)


@cache
def _builder(entity_type: type[T]) -> Callable[[dict[str, Any]], T]:
    return partial(build_lazily, entity_type)


def with_throttle_time(response: Any, throttle_time_ms: int, **changes: Any) -> Any:
    """Return the response with its throttle time set, if its version has one, and with other fields changed."""
    if hasattr(response, "throttle_time"):
        changes["throttle_time"] = timedelta(milliseconds=throttle_time_ms)
    return replace(response, **changes) if changes else response


@cache
def _fields(entity_type: Any) -> dict[str, type | None]:
    """Return name -> the struct that the field holds one or many of, None for plain values."""
    assert is_dataclass(entity_type)
    hints = get_type_hints(entity_type)
    return {field.name: _struct_in(hints[field.name]) for field in fields(entity_type)}


def _struct_in(hint: Any) -> type | None:
    if isinstance(hint, type) and is_dataclass(hint):
        return hint
    for argument in get_args(hint):
        struct_type = _struct_in(argument)
        if struct_type is not None:
            return struct_type
    return None
