"""The page says what the results say."""

from __future__ import annotations

from collections import Counter

from conformance.cases import all_cases
from conformance.report import PAGE, page, results
from conformance.scenario import Case
from conformance.suite import Outcome
from conformance.transcripts.compare import Finding


def test_groups_are_counted_and_each_reason_stands_once() -> None:
    many = [Outcome(Case(f"h/{n}", "", ()), [], [], [Finding("p", 1, 2, "ports | differ")]) for n in range(4)]
    outcomes = [
        Outcome(Case("g/same", "this", ()), [], [], []),
        Outcome(Case("g/odd", "that", ()), [], [], [Finding("p", 1, 2, "clocks differ")]),
        Outcome(Case("g/bad", "more", ()), [], [], [Finding("p", 1, 2, "clocks differ"), Finding("q", 1, 2, None)]),
        *many,
    ]
    found = results("4.4.0", outcomes)
    assert found["unexplained"] == 1

    text = page(found)
    assert "| cases | 7 |" in text
    assert "| the same in every field | 1 |" in text
    assert "| different for a reason given below | 5 |" in text
    assert "| differences without a reason | 1 |" in text
    assert "nobody knows why:** `g/bad`\n" in text
    assert "Different once" not in text
    assert "asked again**, without all other cases beside them" in page(found | {"again": ["g/late"]})
    assert ": `g/late`\n" in page(found | {"again": ["g/late"]})
    assert "| g | 3 | 1 | 1 |\n| h | 4 | 0 | 4 |\n" in text
    assert "| ports \\| differ | 4 | `h/*` |\n| clocks differ | 2 | `g/odd`, `g/bad` |\n" in text


def test_the_page_is_about_the_cases_of_today() -> None:
    text = PAGE.read_text()
    counts = Counter(case.group for case in all_cases())
    assert f"| cases | {counts.total()} |" in text
    for group, count in counts.items():
        assert f"| {group} | {count} |" in text


def test_nothing_is_left_unexplained() -> None:
    text = PAGE.read_text()
    assert "| differences without a reason | 0 |" in text
    assert "nobody knows why" not in text


def test_clients_stand_with_what_they_did() -> None:
    def row(client: str, job: str, outcome: str, why: str = "") -> dict[str, str]:
        return {"client": client, "version": "1.0", "job": job, "outcome": outcome, "why": why}

    found = results("4.4.0", []) | {
        "clients": [
            row("one", "acks-1", "same"),
            row("one", "acks-all", "explained", "because"),
            row("two", "", "not run", "`go` is not installed"),
        ]
    }
    text = page(found)
    assert "| one 1.0 | 1 same, 1 explained |" in text
    assert "| one | acks-all | explained | because |" in text
    assert "| two 1.0 | `go` is not installed |" in text
