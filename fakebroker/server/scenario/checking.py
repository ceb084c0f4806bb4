"""What is wrong with a scenario by its schema, in one sentence.

Theory   jsonschema finds what is wrong and where; its messages repeat whole values and name no remedy, so each keyword
         that the schema uses has a sentence of ours. A test walks the schema for keywords that have none.
Source   JSON Schema 2020-12.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, relevance

from fakebroker.yaml_places import Path

_TYPES = {
    "object": "a mapping (name: value)",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


@cache
def schema() -> dict[str, Any]:
    """The published schema."""
    text = files("fakebroker.server.scenario").joinpath("schema.json").read_text(encoding="utf-8")
    read: dict[str, Any] = json.loads(text)
    return read


def problem(value: object) -> tuple[Path, str] | None:
    """Where the first mistake is, and what it is; None if there is none."""
    errors = sorted(
        _validator().iter_errors(value), key=lambda error: (list(map(str, error.absolute_path)), error.validator)
    )
    if not errors:
        return None
    error = max(errors, key=relevance) if not errors[0].absolute_path else errors[0]
    return _told(error)


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(schema())


def _told(error: ValidationError) -> tuple[Path, str]:
    path: Path = tuple(error.absolute_path)
    asked: Any = error.validator_value
    name = f"{path[-1]!r}" if path and isinstance(path[-1], str) else "this"
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        unknown = next(key for key in error.instance if key not in known)
        return (*path, unknown), _no_such_key(str(unknown), known)
    match error.validator:
        case "required":
            missing = next(key for key in asked if key not in error.instance)
            return path, f"{missing!r} is missing here"
        case "type":
            wanted = [asked] if isinstance(asked, str) else asked
            return path, f"{name} is {' or '.join(_TYPES[each] for each in wanted)}, not {_shown(error.instance)}"
        case "enum":
            meant = _meant(error.instance, asked)
            return path, f"{name} is {' or '.join(map(str, asked))}, not {_shown(error.instance)}{meant}"
        case "minimum":
            return path, f"{name} is {asked} or more, not {error.instance}"
        case "exclusiveMinimum":
            return path, f"{name} is more than {asked}, not {error.instance}"
        case "maximum":
            return path, f"{name} is {asked} at most, not {error.instance}"
        case "pattern":
            return (*path, error.instance), f"{error.instance!r} is not {error.schema['description']}"
        case "minItems":
            return path, f"{name} has no items, and needs {asked} at least"
    raise AssertionError(f"no sentence for {error.validator}")


def _no_such_key(key: str, known: list[str]) -> str:
    return f"there is no {key!r} here{_meant(key, known) or '; there are ' + ', '.join(known)}"


def _meant(word: object, known: list[str]) -> str:
    meant = get_close_matches(str(word), known, 1)
    return f"; did you mean {meant[0]!r}?" if meant else ""


def _shown(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
