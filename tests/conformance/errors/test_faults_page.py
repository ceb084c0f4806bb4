"""docs/faults.md has the table of errors as it is, and what it says can be said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.errors import page
from conformance.errors.page import FAULTS_PAGE, faults_page
from fakebroker.core.faults.actions import VERBS
from fakebroker.core.faults.table import table
from fakebroker.core.faults.when import NAMES


def test_the_table_is_as_it_would_be_written() -> None:
    assert faults_page() == FAULTS_PAGE.read_text(), "`python -m conformance.errors --write` writes it"


def test_each_api_has_its_row() -> None:
    rows = re.findall(r"^\| (\w+) \| [a-z_, –]+ \| \w*[A-Z]{3}", faults_page(), re.MULTILINE)
    assert rows == sorted(table())


def test_a_row_that_is_wrong_or_missing_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = faults_page()
    stale = tmp_path / "faults.md"
    stale.write_text(right.replace("| Heartbeat | group, member |", "| Heartbeat | group |"))
    monkeypatch.setattr(page, "FAULTS_PAGE", stale)
    assert stale.read_text() != right
    assert faults_page() == right

    stale.write_text("no table")
    with pytest.raises(ValueError, match=r"faults\.md has 0 tables of errors, not one"):
        faults_page()


def test_each_verb_and_each_selector_is_told() -> None:
    words = set(re.findall(r"[a-z_]+", FAULTS_PAGE.read_text()))
    assert set(VERBS) <= words
    assert set(NAMES) <= words
