"""Bodies that the control refuses, however valid (control/json_body.py)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from support.slices import calls_of

from fakebroker.control.bodies import Followers, NewReplicas, NewTopic
from fakebroker.control.errors import _sentence
from fakebroker.control.json_body import MAX_ELEMENTS, MAX_LISTS, MAX_MEMBERS, MAX_VALUES, read_json


def test_very_many_values_are_refused_before_they_are_read() -> None:
    lists = b"[" + b"0," * 31 + b"0]"
    assert len(read_json(b"[" + b",".join([lists] * (MAX_VALUES // 32)) + b"]")) == MAX_VALUES // 32
    with pytest.raises(HTTPException, match="a body has at most 32,000 values"):
        read_json(b"[" + b"0," * MAX_VALUES)  # which does not even end


@pytest.mark.parametrize(
    ("most", "make", "message"),
    [
        (
            MAX_MEMBERS,
            lambda size: {f"m{number}": 1 for number in range(size)},
            "a mapping in a body has at most 1,000 members, not 1,001",
        ),
        (MAX_ELEMENTS, lambda size: [0] * size, "a list in a body has at most 1,000 elements, not"),
        (
            MAX_ELEMENTS,
            lambda size: [[1]] * (size - 1) + [{}],
            "a list in a body has at most 1,000 elements, not",
        ),
        (MAX_LISTS, lambda size: [[1]] * size, "a list in a body has at most 10,000 elements, not 10,001"),
    ],
)
def test_very_long_lists_and_mappings_are_refused_wherever_they_are(
    most: int, make: Callable[[int], Any], message: str
) -> None:
    for inside in (lambda value: value, lambda value: {"configs": value}, lambda value: [{"do": [value]}]):
        assert read_json(json.dumps(inside(make(most))).encode()) == inside(make(most))
        with pytest.raises(HTTPException, match=message):
            read_json(json.dumps(inside(make(most + 1))).encode())


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        (NewTopic, {"name": "t", "assignments": [["x"] * 100] * 300}),
        (NewTopic, {"name": "t", "assignments": ["x"] * 1_000}),
        (NewReplicas, {"brokers": ["x"] * 100}),
        (Followers, {"script": [[0, 5]] * 1_000}),
    ],
)
def test_a_list_is_not_checked_further_than_its_first_mistake(body: type[BaseModel], wrong: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        body.model_validate(wrong)
    assert refused.value.error_count() == 1


@pytest.mark.interpreted
def test_no_more_of_a_wrong_value_is_encoded_than_its_message_shows() -> None:
    def calls(size: int) -> int:
        value = [[number] for number in range(size)]
        return calls_of(lambda: _sentence({"type": "list_type", "msg": "x", "input": value}, "name"))

    calls(100)  # what is imported
    assert calls(10_000) == calls(100)


@pytest.mark.interpreted
def test_the_name_of_an_unknown_member_is_compared_as_far_as_slips_go() -> None:
    def calls(size: int) -> int:
        def check() -> None:
            with pytest.raises(ValueError, match="there is no member"):
                NewTopic.model_validate({"x" * size: 1})

        return calls_of(check)

    calls(100)  # what is imported
    assert calls(100_000) < 1.5 * calls(100)
