"""The fields of a message by its definition, kio's dataclasses: their names as in the table of facts, and their places.

Shape    A name is "responses.partition_responses.error_code". A place is one such field in one message: the steps to
         it, names and indices. Messages are frozen, so `with_value` returns another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

Place = tuple[str | int, ...]
MORE_OR_LESS = ("one more", "one less")
TIMES = (*MORE_OR_LESS, "far more", "far less", "swapped")
NUMBERS = (*MORE_OR_LESS, "another value", "swapped")
CODES = ("another value", "swapped")
TEXTS = ("another value", "empty", "null", "swapped")
LISTS = ("one more", "one less", "empty", "swapped")
FLAGS = ("the other value",)
MOMENTS = (*MORE_OR_LESS, "null", "another value")


def leaves(kind: Any, before: str = "") -> Iterator[str]:
    """Yield the fields of a message, and of its parts."""
    hints = get_type_hints(kind)
    for part in fields(kind):
        inner = [one for one in types_of(hints[part.name]) if is_dataclass(one)]
        if inner:
            yield from leaves(inner[0], f"{before}{part.name}.")
        else:
            yield before + part.name


def types_of(hint: Any) -> Iterator[Any]:
    """Yield the types that a hint names."""
    if get_origin(hint) in (tuple, UnionType) or get_args(hint):
        for one in get_args(hint):
            yield from types_of(one)
    else:
        yield hint


def changes_of(kind: Any, name: str) -> tuple[str, ...]:
    """Return every change that a field of a message can have."""
    first, _, rest = name.partition(".")
    hint = get_type_hints(kind)[first]
    if rest:
        (inner,) = (one for one in types_of(hint) if is_dataclass(one))
        return changes_of(inner, rest)
    if tuple in (get_origin(one) for one in (hint, *get_args(hint))):
        return LISTS
    own = next(one for one in types_of(hint) if one is not type(None))
    while (base := getattr(own, "__supertype__", None)) is not None:
        own = base
    for base, changes in (
        (bool, FLAGS),
        (Enum, CODES),
        (datetime, MOMENTS),
        (timedelta, TIMES),
        ((str, bytes), TEXTS),
    ):
        if issubclass(own, base):
            return changes
    return NUMBERS


def places_of(message: Any, name: str, before: Place = ()) -> Iterator[Place]:
    """Yield the places of the field in a message, one for each element of its array."""
    first, _, rest = name.partition(".")
    value = getattr(message, first)
    if not rest:
        yield (*before, first)
    elif isinstance(value, tuple):
        for at, one in enumerate(value):
            yield from places_of(one, rest, (*before, first, at))
    elif value is not None:
        yield from places_of(value, rest, (*before, first))


def arrays_of(message: Any, before: Place = ()) -> Iterator[Place]:
    """Yield the places of arrays of structures in a message."""
    for part in fields(message):
        value = getattr(message, part.name)
        if isinstance(value, tuple) and value and is_dataclass(value[0]):
            yield (*before, part.name)
            for at, one in enumerate(value):
                yield from arrays_of(one, (*before, part.name, at))
        elif is_dataclass(value):
            yield from arrays_of(value, (*before, part.name))


def value_at(message: Any, place: Place) -> Any:
    for step in place:
        message = message[step] if isinstance(step, int) else getattr(message, step)
    return message


def with_value(message: Any, place: Place, value: Any) -> Any:
    if not place:
        return value
    step, rest = place[0], place[1:]
    if isinstance(step, int):
        return (*message[:step], with_value(message[step], rest, value), *message[step + 1 :])
    return replace(message, **{step: with_value(getattr(message, step), rest, value)})


def partitions_of(message: Any, topic: str | None = None) -> Iterator[tuple[str, int | None]]:
    """Yield the partitions that a message is about; None for all of a topic."""
    names = {part.name: getattr(message, part.name) for part in fields(message)}
    topic = next((names[name] for name in ("topic", "name") if isinstance(names.get(name), str)), topic)
    inner = [one for value in names.values() if isinstance(value, tuple) for one in value]
    if topic is not None:
        own = [names[name] for name in ("index", "partition", "partition_index") if name in names]
        own += names.get("partition_indexes", ())
        if own or not any(map(is_dataclass, inner)):
            yield from ((topic, at) for at in own or (None,))
    for one in inner:
        if is_dataclass(one):
            yield from partitions_of(one, topic)
