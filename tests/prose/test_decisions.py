"""docs/decisions.md: the decisions are in order, each has a status, and each number that the source names exists."""

from __future__ import annotations

import re

from prose.lint import ROOT

PAGE = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
NUMBERS = [int(number) for number in re.findall(r"^## (\d+)\. ", PAGE, re.MULTILINE)]
NOT_USED = {134, 135, 139}
FOLDERS = ("benchmarks", "conformance", "examples", "fakebroker", "load", "tests", "timingwheel")


def test_the_numbers_are_in_order_and_complete() -> None:
    assert sorted({*range(1, NUMBERS[-1] + 1)} - NOT_USED) == NUMBERS


def test_each_decision_has_a_decision_and_ends_with_its_status() -> None:
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    assert [text.splitlines()[0] for text in sections if text.count("\nDecision: ") != 1] == []
    assert [
        text.splitlines()[0] for text in sections if not re.search(r"\n\nStatus: [^\n]+(\n[^\n]+)*\s*$", text)
    ] == []
    statuses = {re.split(r"[\s.;]", text.split("\nStatus: ")[1])[0] for text in sections}
    assert statuses == {"accepted", "superseded"}


def test_a_decision_is_separated_from_the_next_one() -> None:
    assert re.findall(r"[^\n]\n## .*", PAGE) == []


def test_the_numbers_that_the_source_names_exist() -> None:
    named = {
        int(number)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        for number in re.findall(r"docs/decisions\.md, (\d+)", path.read_text(encoding="utf-8"))
    }
    assert named - set(NUMBERS) == set()
