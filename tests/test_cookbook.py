"""Every recipe of docs/cookbook.md runs as it stands, and stands in the list at its beginning."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from support import doses
from support.forked import Forks

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cookbook.md"
RECIPES = {
    title: re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for title, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.DOTALL | re.MULTILINE)
}
STRICT = "import warnings; warnings.filterwarnings('error', '', DeprecationWarning, '__main__')"


@pytest.mark.slow
@pytest.mark.clients
# Every day: each fourth; tests/clients has what the others show.
@pytest.mark.parametrize("title", doses.nightly_but(list(RECIPES)[::4], RECIPES))
def test_recipe(title: str, tmp_path: Path, forks: Forks) -> None:
    for program in RECIPES[title]:
        script = tmp_path / "recipe.py"
        script.write_text(program)
        done = forks.run(script, cwd=tmp_path, env={"PYTHONPATH": ":".join(sys.path)}, prelude=STRICT)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_has_a_program_that_asserts_something(title: str) -> None:
    assert RECIPES[title]
    assert all("assert " in program or ".expect(" in program for program in RECIPES[title])


def test_the_list_has_each_recipe_once() -> None:
    head = PAGE.read_text().split("\n## ", 1)[0]
    linked = re.findall(r"\]\(#(.*?)\)", head)
    anchors = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in RECIPES]

    assert sorted(linked) == sorted(anchors)
