"""The stories of docs/stories that producers tell: their programs print what the pages say and draw what they show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "examples" / "producing"
PAGES = ROOT / "docs" / "stories"
STORIES = sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem not in ("pages", "story"))


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_as_its_program_tells_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROGRAMS))
    import pages

    printed, svg = pages.told_by(name)
    page = pages.page_of(name)
    text = page.read_text()
    assert f"```console\n$ python examples/producing/{name}.py\n{printed}```" in text
    assert svg == page.with_suffix(".svg").read_text()
    assert f"({page.stem}.svg)" in text


def test_all_are_listed() -> None:
    listed = re.findall(r"\]\(([\w-]+)\.md\)", (PAGES / "README.md").read_text())
    assert sorted(listed) == sorted(path.stem for path in PAGES.glob("*.md") if path.stem != "README")
    assert {name.replace("_", "-") for name in STORIES} <= set(listed)
