"""A check of scenarios against the schema, which reports the first mistake in one sentence.

Theory   The schema uses a few keywords, and each has its check and its sentence here. One test finds keywords of the
         schema without a check. Another one compares the checks with those of the package jsonschema, which would bring
         five more packages.
Source   JSON Schema 2020-12.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from fakebroker.spelling import closest, did_you_mean
from fakebroker.yaml_places import Path

_TYPES = {
    "object": "a mapping (name: value)",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}
_SAYS_NOTHING = {"$schema", "$defs", "title", "description"}  # keywords without a check of values
_Schema = dict[str, Any]


class Mistake(NamedTuple):
    """A keyword of the schema that a value violates.

    path     the path of the value in the document
    schema   the part of the schema that has the keyword
    """

    path: Path
    keyword: str
    schema: _Schema
    value: Any


@cache
def schema() -> dict[str, Any]:
    """Return the published schema."""
    text = files("fakebroker.server.scenario").joinpath("schema.json").read_text(encoding="utf-8")
    read: dict[str, Any] = json.loads(text)
    return read


def problem(value: object) -> tuple[Path, str] | None:
    """Return the path and the message of the first mistake, or None."""
    mistakes = mistakes_in(value, schema())
    first = min(mistakes, key=lambda mistake: (list(map(str, mistake.path)), mistake.keyword), default=None)
    return None if first is None else _told(first)


def mistakes_in(value: object, schema: _Schema, path: Path = ()) -> Iterator[Mistake]:
    """Yield each keyword that the value, or a part of it, violates."""
    for keyword, rule in schema.items():
        if keyword in _SAYS_NOTHING:
            continue
        parts = _parts(value, keyword, rule, schema)
        if parts is None:
            if not _complies(value, keyword, rule, schema):
                yield Mistake(path, keyword, schema, value)
            continue
        for key, part, its_schema in parts:
            yield from mistakes_in(part, its_schema, (*path, *key))


def _parts(value: Any, keyword: str, rule: Any, whole: _Schema) -> list[tuple[Path, Any, _Schema]] | None:
    """Return what the keyword checks by schemas of their own; None if it checks the value itself. Each part comes with
    the keys that lead to it from the value."""
    match keyword:
        case "$ref":
            return [((), value, schema()["$defs"][rule.removeprefix("#/$defs/")])]
        case "properties":
            known = rule if isinstance(value, dict) else {}
            return [((key,), value[key], its_schema) for key, its_schema in known.items() if key in value]
        case "additionalProperties" if isinstance(rule, dict):
            keys = value if isinstance(value, dict) else {}
            return [((key,), value[key], rule) for key in keys if key not in whole.get("properties", {})]
        case "propertyNames":
            return [((), key, rule) for key in value] if isinstance(value, dict) else []
        case "items":
            return [((index,), element, rule) for index, element in enumerate(value)] if isinstance(value, list) else []
    return None


def _complies(value: Any, keyword: str, rule: Any, whole: _Schema) -> bool:
    match keyword:
        case "type":
            return any(_is_a(value, type_name) for type_name in ([rule] if isinstance(rule, str) else rule))
        case "additionalProperties":  # the schema false; other schemas were checked as parts
            return not isinstance(value, dict) or value.keys() <= whole.get("properties", {}).keys()
        case "required":
            return not isinstance(value, dict) or all(key in value for key in rule)
        case "enum":
            return value in rule
        case "minimum":
            return not _is_a(value, "number") or value >= rule
        case "exclusiveMinimum":
            return not _is_a(value, "number") or value > rule
        case "maximum":
            return not _is_a(value, "number") or value <= rule
        case "pattern":
            return not isinstance(value, str) or re.search(rule, value) is not None
        case "minItems":
            return not isinstance(value, list) or len(value) >= rule
    raise AssertionError(f"no check for {keyword}")


def _is_a(value: object, kind: str) -> bool:
    match kind:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
    if isinstance(value, float):
        return kind == "number" or value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _told(mistake: Mistake) -> tuple[Path, str]:
    path, keyword, value = mistake.path, mistake.keyword, mistake.value
    rule: Any = mistake.schema[keyword]
    name = f"{path[-1]!r}" if path and isinstance(path[-1], str) else "this"
    match keyword:
        case "additionalProperties":
            known = list(mistake.schema.get("properties", {}))
            unknown = next(key for key in value if key not in known)
            return (*path, unknown), f"there is no {str(unknown)!r} here; {did_you_mean(unknown, known)}"
        case "required":
            missing = next(key for key in rule if key not in value)
            return path, f"{missing!r} is missing here"
        case "type":
            wanted = [rule] if isinstance(rule, str) else rule
            return path, f"{name} is {' or '.join(_TYPES[type_name] for type_name in wanted)}, not {_shown(value)}"
        case "enum":
            meant = f"; {did_you_mean(value, rule)}" if closest(value, rule) else ""
            return path, f"{name} is {' or '.join(map(str, rule))}, not {_shown(value)}{meant}"
        case "minimum":
            return path, f"{name} is {rule} or more, not {value}"
        case "exclusiveMinimum":
            return path, f"{name} is more than {rule}, not {value}"
        case "maximum":
            return path, f"{name} is {rule} at most, not {value}"
        case "pattern":
            return (*path, value), f"{value!r} is not {mistake.schema['description']}"
        case "minItems":
            return path, f"{name} has no items, and needs {rule} at least"
    raise AssertionError(f"no sentence for {keyword}")


def _shown(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
