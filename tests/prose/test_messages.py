"""The lint of messages: what it finds, and that the package has none."""

from __future__ import annotations

import pytest

from prose.messages import problems, problems_of


@pytest.mark.parametrize(
    "source",
    [
        "raise ValueError('nobody leads it')",
        "raise KafkaError(1, f'{name}: who asked is gone')",
        "log.warning('%s stands still', broker)",
        "parser.add_argument('--x', help='Somebody who reads.')",
        "Setting(1, doc='whoever was silent is out')",
        "assert ready, 'somebody waits'",
    ],
)
def test_a_problem_is_found(source: str) -> None:
    assert {problem.rule for problem in problems_of(source, "x.py")} & {"person", "phrase"}


def test_other_strings_are_left_alone() -> None:
    assert list(problems_of("said = 'nobody'\nraise ValueError('the leader is paused')", "x.py")) == []


def test_no_message_makes_software_a_person() -> None:
    assert [str(problem) for problem in problems()] == []
