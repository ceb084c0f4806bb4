"""The page says what the results say."""

from __future__ import annotations

import json

from conformance.report import PAGE, RESULTS, page, results
from conformance.scenario import Case
from conformance.suite import Outcome
from conformance.transcripts.compare import Finding


def test_each_case_stands_with_its_reason() -> None:
    outcomes = [
        Outcome(Case("g/same", "this", ()), [], [], []),
        Outcome(Case("g/odd", "that", ()), [], [], [Finding("p", 1, 2, "ports differ")]),
        Outcome(Case("g/bad", "a | b", ()), [], [], [Finding("p", 1, 2, "ports differ"), Finding("q", 1, 2, None)]),
    ]
    found = results("4.4.0", outcomes)
    assert found["unexplained"] == 1

    text = page(found)
    assert "| `same` | this | same |" in text
    assert "| `odd` | that | ports differ |" in text
    assert "| `bad` | a \\| b | **different, not explained**; ports differ |" in text


def test_the_page_is_that_of_the_results() -> None:
    assert PAGE.read_text() == page(json.loads(RESULTS.read_text()))


def test_nothing_is_left_unexplained() -> None:
    assert json.loads(RESULTS.read_text())["unexplained"] == 0


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
