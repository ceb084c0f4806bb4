"""The checks of a scenario's schema are those of the package jsonschema, keyword by keyword."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fakebroker.server.scenario.checking import mistakes_in, problem, schema
from fakebroker.yaml_places import Path

VALIDATOR = Draft202012Validator(schema())
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 200),
    st.floats(),
    st.sampled_from([1.0, 1e9, "x", "7", "7\n", "real", "manuel", "kafka", "instant", "resume"]),
    st.dates(),
)
WORDS = st.sampled_from(["7", "z", "name", "at_ms", "min.insync.replicas"])
ANYTHING = st.recursive(SCALARS, lambda parts: st.lists(parts, max_size=2) | st.dictionaries(WORDS, parts, max_size=2))


def values(said: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that comply with this part of the schema, almost comply, or are anything else."""
    said = schema()["$defs"][said["$ref"].rpartition("/")[2]] if "$ref" in said else said
    if "properties" in said:
        keys = {key: values(part) for key, part in said["properties"].items()}
        near = st.fixed_dictionaries({}, optional=keys)
        return st.one_of(near, st.builds(lambda one, other: {**other, **one}, near, ANYTHING.filter(is_mapping)))
    kinds = said.get("type", "string")
    if kinds == "array":
        return st.one_of(st.lists(values(said.get("items", {})), max_size=3), ANYTHING)
    if kinds == "object":
        return st.one_of(st.dictionaries(WORDS, SCALARS, max_size=3), ANYTHING)
    return st.one_of(SCALARS, ANYTHING)


def is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def judged_by_jsonschema(value: object) -> set[tuple[Path, str]]:
    return {(tuple(error.absolute_path), str(error.validator)) for error in VALIDATOR.iter_errors(value)}


@given(values(schema()))
def test_mistakes_are_those_of_jsonschema(value: Any) -> None:
    theirs = judged_by_jsonschema(value)

    assert {(mistake.path, mistake.keyword) for mistake in mistakes_in(value, schema())} == theirs
    assert (problem(value) is None) == (not theirs)


@pytest.mark.parametrize(
    ("value", "mistakes"),
    [
        ({"brokers": 3.0}, set()),
        ({"brokers": True}, {(("brokers",), "type")}),
        ({"brokers": 0.5}, {(("brokers",), "type"), (("brokers",), "minimum")}),
        ({"seed": float("nan")}, {(("seed",), "type")}),
        ({"racks": {"a": 1}}, {(("racks",), "pattern"), (("racks", "a"), "type")}),
        (
            {"topics": [{}, {"name": "a", "b": 1}]},
            {(("topics", 0), "required"), (("topics", 1), "additionalProperties")},
        ),
        ({"config": {"a": []}}, {(("config", "a"), "type")}),
        ([], {((), "type")}),
    ],
    # The order of a set is another one in each process, and all processes must name a test alike.
    ids=lambda value: str(sorted(value, key=str) if isinstance(value, set) else value),
)
def test_mistakes_of_examples(value: object, mistakes: set[tuple[Path, str]]) -> None:
    assert {(mistake.path, mistake.keyword) for mistake in mistakes_in(value, schema())} == mistakes
    assert judged_by_jsonschema(value) == mistakes


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema())
