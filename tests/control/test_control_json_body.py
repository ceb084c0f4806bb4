"""What is no JSON for the control, however valid (control/json_body.py)."""

from __future__ import annotations

import json

import pytest
from support.slices import calls_of

from fakebroker.control.bodies import NewTopic
from fakebroker.control.json_body import MAX_VALUES, read_json


def test_very_many_values_are_refused_before_they_are_read() -> None:
    assert len(read_json(b"[" + b"0," * (MAX_VALUES - 1) + b"0]")) == MAX_VALUES
    with pytest.raises(json.JSONDecodeError, match="it has more than 100,000 values"):
        read_json(b"[" + b"0," * MAX_VALUES)  # which does not even end


@pytest.mark.interpreted
def test_the_name_of_an_unknown_member_is_compared_as_far_as_slips_go() -> None:
    def calls(size: int) -> int:
        def check() -> None:
            with pytest.raises(ValueError, match="there is no member"):
                NewTopic.model_validate({"x" * size: 1})

        return calls_of(check)

    calls(100)  # what is imported
    assert calls(100_000) < 1.5 * calls(100)
