"""CHANGELOG.md: versions and types, and that the package's version is the newest section or its development version."""

from __future__ import annotations

import re
import tomllib

import fakebroker
from prose.lint import ROOT

PAGE = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
TYPES = ("Added", "Changed", "Fixed", "Removed")


def test_the_version_is_the_same_in_all_places() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == fakebroker.__version__


def test_the_version_is_that_of_the_newest_section_or_a_later_development_version() -> None:
    newest = SECTIONS[1].split(" - ")[0]
    released, _, development = fakebroker.__version__.partition(".dev")
    assert released not in [title.split(" - ")[0] for title in SECTIONS] if development else released == newest


def test_sections_are_unreleased_and_versions_with_dates_the_newest_first() -> None:
    assert SECTIONS[0] == "Unreleased"
    assert [title for title in SECTIONS[1:] if not re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}", title)] == []
    dates = [title.split(" - ")[1] for title in SECTIONS[1:]]
    assert dates == sorted(dates, reverse=True)


def test_entries_have_a_type() -> None:
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        types = re.findall(r"^### (.+)$", section, re.MULTILINE)
        assert types == [name for name in TYPES if name in types]
