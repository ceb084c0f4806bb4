"""The texts of cases, of allowed differences and of suites are in plain English, by the words of tests/prose."""

from __future__ import annotations

import re
from typing import Final

import pytest
from prose.lint import Prose, judge
from support import kept

from conformance.suites.reasons import known_reasons
from conformance.suites.table import NOT_THERE
from conformance.transcripts.differences import RULES

# Words of the old texts, and the glossary's word.
_OLD: Final = {
    r"told|tells|hears|heard": "returned, reported, the response has",
    r"asks?|asked": "requests, sends",
    r"answers?|answered": "response, gets its response",
    r"marks?": "transaction marker, tombstone",
    r"beside|behind": "next to, after",
    r"dies?|dead broker": "crashes, is stopped",
    r"goes on|go on": "continues, resumes",
    r"in a box": "the cluster, the process",
    r"clocks are two": "wall times differ",
}
_CODE: Final = re.compile(r": \d{1,3}(?: \(.*\))?$")  # an error code without its name
_FOUND: Final = "generated traffic once differed in "  # its path has the fields of a transcript


def problems(text: str) -> list[str]:
    problems_ = [f"{rule}: {why}" for _, rule, why in judge(Prose(1, text, False)) if rule in ("person", "phrase")]
    problems_ += [
        f"{match[0]!r}: {advice}" for old, advice in _OLD.items() if (match := re.search(rf"\b(?:{old})\b", text))
    ]
    return [*problems_, "an error code without its name"] if _CODE.search(text) else problems_


def test_an_old_word_is_found() -> None:
    assert problems("who waits is told so: 45") == [
        "person: 'who': name the client, broker or request",
        "'told': returned, reported, the response has",
        "an error code without its name",
    ]


def test_cases_are_described_in_plain_english() -> None:
    whys = {case.why for case in kept.cases() if not case.why.startswith(_FOUND)}
    assert len(whys) > 500
    assert {why: problems_ for why in whys if (problems_ := problems(why))} == {}


@pytest.mark.parametrize(
    "texts",
    [[rule.reason for rule in RULES], known_reasons(), [*NOT_THERE.values()]],
    ids=["rules", "suites", "not run"],
)
def test_reasons_are_in_plain_english(texts: list[str]) -> None:
    assert {text: problems_ for text in texts if (problems_ := problems(text))} == {}
