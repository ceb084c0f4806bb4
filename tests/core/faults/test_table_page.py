"""docs/faults.md has the present table, and its rules can be used."""

from __future__ import annotations

import re
from pathlib import Path

from fakebroker.core.faults.actions import VERBS
from fakebroker.core.faults.table import TABLE, Rules
from fakebroker.core.faults.when import NAMES

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PAGE = (ROOT / "docs" / "faults.md").read_text()


def row(name: str, rules: Rules) -> str:
    """Return the row as the page has it."""
    after = "the same: it only reads" if rules.only_reads else ", ".join(sorted(rules.after))
    return f"| {name} | {', '.join(rules.selectors) or '–'} | {', '.join(sorted(rules.before))} | {after} |"


def test_each_api_has_its_row() -> None:
    for name, rules in TABLE.items():
        assert row(name, rules) in PAGE, f"this row is not in docs/faults.md: {row(name, rules)}"


def test_each_verb_and_each_selector_is_told() -> None:
    told = set(re.findall(r"[a-z_]+", PAGE))
    assert set(VERBS) <= told
    assert set(NAMES) <= told
