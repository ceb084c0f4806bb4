"""Every recipe of docs/cookbook.md runs as it stands, and stands in the list at its beginning."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
from support.recipes import run_recipe

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cookbook.md"
RECIPES = {
    title: re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for title, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.DOTALL | re.MULTILINE)
}


@pytest.mark.slow
@pytest.mark.clients
@pytest.mark.parametrize("title", RECIPES)
def test_recipe(title: str, tmp_path: Path) -> None:
    for program in RECIPES[title]:
        script = tmp_path / "recipe.py"
        script.write_text(program)
        status, said = run_recipe(script)
        assert status == 0, said


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_has_a_program_that_asserts_something(title: str) -> None:
    assert RECIPES[title]
    assert all("assert " in program or ".expect(" in program for program in RECIPES[title])


def test_the_list_has_each_recipe_once() -> None:
    head = PAGE.read_text().split("\n## ", 1)[0]
    linked = re.findall(r"\]\(#(.*?)\)", head)
    anchors = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in RECIPES]

    assert sorted(linked) == sorted(anchors)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("print('told'); assert __name__ != '__main__'", "told\n*AssertionError"),
        ("import warnings; warnings.warn('old', DeprecationWarning, stacklevel=1)", "*DeprecationWarning: old"),
    ],
)
def test_a_program_that_fails_is_found(program: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "recipe.py").write_text(program)
    status, said = run_recipe(tmp_path / "recipe.py")
    assert status == 1
    assert fnmatch(said.strip(), f"{expected}*"), said
