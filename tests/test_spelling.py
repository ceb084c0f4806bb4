"""Suggestions for misspelt names."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakebroker.spelling import closest, did_you_mean, known_name

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("word", "near"),
    [("brokes", ["brokers"]), ("BROKERS", ["brokers"]), ("produce", ["Produce"]), ("zzz", []), ("", []), (7, [])],
)
def test_the_closest_name(word: object, near: list[str]) -> None:
    assert closest(word, ["brokers", "Produce", "clock"]) == near


def test_several_names_come_with_the_best_first() -> None:
    assert closest("num.partition", ["num.partitions", "num.partitions.x", "seed"], 3) == [
        "num.partitions",
        "num.partitions.x",
    ]


def test_a_known_name_is_found_in_any_case() -> None:
    known = ["Produce", "Fetch"]
    assert [known_name(word, known, "API") for word in ("Fetch", "produce")] == ["Fetch", "Produce"]
    with pytest.raises(ValueError, match=r"^there is no API 'Prodce': did you mean 'Produce'\?$"):
        known_name("Prodce", known, "API")
    with pytest.raises(ValueError, match=r"^there is no API '': there are Produce, Fetch$"):
        known_name("", known, "API")


def test_a_very_long_word_is_compared_by_its_beginning() -> None:
    assert closest("x" * 10_000_000, ["brokers", "x" * 100]) == ["x" * 100]


def test_the_sentence_names_the_closest_or_all() -> None:
    assert did_you_mean("clok", ["clock", "seed"]) == "did you mean 'clock'?"
    assert did_you_mean("zzz", ["clock", "seed"]) == "there are clock, seed"


def test_no_other_file_looks_for_close_matches() -> None:
    sources = [path for folder in ("fakebroker", "load", "conformance") for path in (ROOT / folder).rglob("*.py")]
    assert [path.name for path in sources if "get_close_matches" in path.read_text()] == ["spelling.py"]
