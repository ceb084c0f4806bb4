"""Events of the journal as lines of JSON, and back.

{"event": "append", "mono_ms": ..., ...}: the fields of the class in their order. `from_json(to_json(event)) == event`.
"""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring_ascii
from typing import Any

from fakebroker.core.journal.events import Answer, Event, PartitionAnswer

KINDS: dict[str, type[Event]] = {
    re.sub("(?<=.)([A-Z])", r"_\1", kind.__name__).lower(): kind for kind in Event.__args__
}
NAMES: dict[type[Any], str] = {kind: name for name, kind in KINDS.items()}


def kind_of(event: Event) -> str:
    """Return the kind of an event, as in its line."""
    return NAMES[type(event)]


_as_json = json.JSONEncoder(separators=(",", ":")).encode


def _template(kind: type[Event | PartitionAnswer], *before: str) -> str:
    """Return a template of the JSON of the fields, with a place for each value. No name has a "%"."""
    return "{" + ",".join([*before, *(f'"{name}":%s' for name in kind._fields)]) + "}"


_TEMPLATES: dict[type[Any], str] = {
    **{kind: _template(kind, f'"event":"{name}"') for kind, name in NAMES.items()},
    PartitionAnswer: _template(PartitionAnswer),
}


def to_json(event: Event) -> str:
    """Return one line, without its end. It equals the `json.dumps` of a dictionary of all fields. It takes less than
    half the time (18 us instead of 44 for the seven of a Produce that times out)."""
    return _TEMPLATES[type(event)] % tuple(map(_value, event))


def _value(value: Any) -> Any:
    """Return the JSON of a value. A number is returned unchanged."""
    kind = type(value)
    if kind is int:
        return value
    if kind is str:
        return encode_basestring_ascii(value)
    if kind is tuple:
        return f"[{','.join([str(_value(element)) for element in value])}]"
    if kind is PartitionAnswer:
        return _TEMPLATES[kind] % tuple(map(_value, value))
    return _as_json(value)


def from_json(line: str) -> Event:
    """Return the event of a line. Raise ValueError for an invalid line."""
    try:
        values = json.loads(line)
        kind = KINDS[values.pop("event")]
        if kind is Answer:
            values["partitions"] = [PartitionAnswer(**partition) for partition in values["partitions"]]
        return kind(**{name: _frozen(value) for name, value in values.items()})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"this is not an event of a journal: {line.strip()!r}") from error


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if type(value) is list else value
