"""docs/serve.md: the options of `fakebroker serve`, made from the options themselves."""

from __future__ import annotations

import re

from release.serve_page import LINKS, PAGE, page


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "make it again: python -m release.serve_page"


def test_each_link_belongs_to_an_option() -> None:
    assert set(LINKS) <= set(re.findall(r"^\| `(--[\w-]+)", page(), re.MULTILINE))
