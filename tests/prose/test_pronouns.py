"""The lint of local variables: what it finds, and that no local has such a name."""

from __future__ import annotations

import pytest

from prose import pronouns
from prose.lint import ROOT


@pytest.mark.parametrize(
    "source",
    [
        "found = {}",
        "for each in range(3): ...",
        "x = [each for each in range(3)]",
        "if (told := read()): ...",
        "with opened() as (asked, _): ...",
        "try: ...\nexcept ValueError as told: ...",
        "match x:\n case {'a': str() as found}: ...",
        "match x:\n case [*found]: ...",
    ],
)
def test_a_local_that_is_a_pronoun_is_found(source: str) -> None:
    [problem] = pronouns.problems_of(source, "x.py")
    assert problem.rule == "pronoun"


@pytest.mark.parametrize(
    "source",
    ["def f(found): ...", "class C:\n found: int = 0", "x.told = 1", "call(each=1)", "events = {}", "print(found)"],
)
def test_another_name_is_not(source: str) -> None:
    assert list(pronouns.problems_of(source, "x.py")) == []


def test_every_folder_is_there() -> None:
    assert [folder for folder in pronouns.FOLDERS if not any((ROOT / folder).rglob("*.py"))] == []


def test_no_local_is_a_pronoun() -> None:
    assert list(pronouns.problems()) == []
